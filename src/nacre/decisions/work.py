"""One decision as a task: small files travel with it, the log by its address."""

from __future__ import annotations

import dataclasses
import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.advice.config import suggest_config
from nacre.advice.config_file import read_changes
from nacre.advice.names import name_files
from nacre.advice.pipeline import advise
from nacre.advice.starts import read_start
from nacre.costs import SwitchingCost, describe_cost, read_cost
from nacre.decisions.table import Entry
from nacre.errors import InputError
from nacre.files.manifest import FILE_NAME as MANIFEST
from nacre.files.manifest import digest_json
from nacre.learners.base import Candidate
from nacre.logs import Log, read_log
from nacre.logs.addresses import describe_state, show_address
from nacre.logs.schema.mapping import ColumnMap, read_columns
from nacre.parallel.engine import Engine
from nacre.policies import PolicyOptions, find_uncertainty, read_policy_with_provenance
from nacre.versions import find_versions, hash_code


@dataclass(frozen=True)
class Work:
    """A decision with what it needs, for any machine that can open the log.

    Args:
        entry: As the table says it.
        cost: The switching cost.
        columns: Which column of the log holds what.
        changes: Fields of the configuration that are not as the log suggests.
        policies: Content of the policies' files by name; the old policy's first, if it is a file.
        state: Sizes and times of the log's files when the work began.
        identity: A digest of all that the answer follows from.
    """

    entry: Entry
    cost: SwitchingCost
    columns: ColumnMap
    changes: Mapping[str, Any]
    policies: tuple[tuple[str, bytes], ...]
    state: list[list[str]]
    identity: str


@dataclass(frozen=True)
class Outcome:
    """What a worker found: the files of the advice, and its line in the table of answers."""

    files: Mapping[str, bytes]
    line: Mapping[str, Any]


def prepare(entry: Entry) -> Work:
    """Read the small files of a decision; the log is only looked at for its size and time.

    Raises:
        InputError: If one of them cannot be read.
    """
    cost = read_cost(entry.cost)
    changes = {} if entry.advice_config is None else read_changes(entry.advice_config)
    for name in ("discount", "confidence"):
        if getattr(entry, name) is not None:
            changes[name] = float(getattr(entry, name))
    columns = read_columns(entry.columns)
    files = [Path(entry.policy)] if Path(entry.policy).is_file() else []
    policies = tuple((path.name, _read(path)) for path in (*files, *entry.candidates))
    state = describe_state(entry.log)
    identity = digest_json(
        {
            "entry": {key: str(value) for key, value in vars(entry).items()},
            "log": state,
            "cost": describe_cost(cost),
            "columns": columns.as_json(),
            "changes": repr(changes),
            "policies": [[name, hashlib.sha256(content).hexdigest()] for name, content in policies],
            "versions": find_versions(),
            "code": hash_code(),
        }
    )
    return Work(entry, cost, columns, changes, policies, state, identity)


def decide(work: Work) -> Outcome:
    """In a worker: open the log, advise, and pack what was found."""
    entry = work.entry
    log = _open_log(work)
    with tempfile.TemporaryDirectory(prefix="nacre-decision-") as name:
        folder = Path(name)
        options = PolicyOptions(log=log, seed=entry.seed)
        paths = [_place(folder / str(i), *given) for i, given in enumerate(work.policies)]
        own = [paths.pop(0)] if len(paths) > len(entry.candidates) else [entry.policy]
        old_policy, origin = read_policy_with_provenance(own[0], options)
        candidates = [
            Candidate(
                name,
                read_policy_with_provenance(path, options)[0],
                f"given as {path.name}",
            )
            for path, name in zip(paths, name_files(entry.candidates), strict=True)
        ]
        start = None if entry.start is None else read_start(entry.start, old_policy.signature, log)
        advice = advise(
            log,
            old_policy,
            work.cost,
            start,
            candidates=candidates,
            config=dataclasses.replace(suggest_config(log), **work.changes),
            uncertainty=find_uncertainty(origin),
            seed=entry.seed,
            progress=False,
            engine=Engine("threads", workers=1),
        )
        out = advice.save(folder / "advice")
        files = {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file() and path.name != MANIFEST
        }
    record = advice.as_json()
    line = {
        "name": entry.name,
        "identity": work.identity,
        **{key: record[key] for key in ("verdict", "probability", "reason", "remedy", "net_gain")},
        "cost": record["cost"]["total"],
        **{key: record[key] for key in ("chosen", "forbidden", "log", "wall_seconds")},
    }
    return Outcome(files, line)


def _open_log(work: Work) -> Log:
    """The log, which has to be the one that the table names, or that lay there at the beginning."""
    entry = work.entry
    log = read_log(entry.log, columns=work.columns)
    place, found = show_address(entry.log), log.fingerprint()
    if entry.sha256 and found != entry.sha256:
        raise InputError(
            f"{place}: has the SHA-256 {found}, the table says {entry.sha256}; correct the table, "
            "or restore the log"
        )
    if not entry.sha256 and work.state and describe_state(entry.log) != work.state:
        raise InputError(
            f"{place}: has another size or time than when the work began; begin anew, or name its "
            "sha256 in the table"
        )
    return log


def _place(folder: Path, name: str, content: bytes) -> Path:
    """A policy's file, under its own name."""
    folder.mkdir()
    (folder / name).write_bytes(content)
    return folder / name


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the name") from None
