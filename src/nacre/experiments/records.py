"""Records of experiments: a file for each table and configuration, a line for each record.

`results/sumo/paper.jsonl` holds one JSON object a line, sorted by row and seed; `manifest.json`
beside it says what the files hold. Earlier versions wrote a file for each record
(`results/sumo/paper/ROW/seed-004.json`); such records are still read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.manifest import NAME, build_manifest
from nacre.experiments.tables import Row
from nacre.files.commit import append_whole, commit_files, settle, write_whole

FORMAT = 1
CACHE = ".cache"
"""Folder below the results for what can be made again."""
SETTINGS = ("table", "row", "config", "seed", "steps", "learner", "cost", "old_policy", "truth")
"""What a record follows from; two records that agree in it have the same figures."""
RENAMED = {"behaviour_weight": "kl_weight"}
"""Options of configurations that had another name when records were made."""

Record = dict[str, Any]
Key = tuple[str, int]
"""Row and seed: what tells the records of one table and configuration apart."""


@dataclass(frozen=True)
class Place:
    """Where a record belongs.

    Args:
        out: Folder of results.
        table: Name of the table.
        config: Name of the configuration.
        row: Name of the row.
        seed: Seed.
    """

    out: Path
    table: str
    config: str
    row: str
    seed: int

    @classmethod
    def of(cls, out: Path, row: Row, config: str, seed: int) -> Place:
        """The place of a row's record."""
        return cls(out, row.table, config, row.name, seed)

    @property
    def file(self) -> Path:
        """The file that has or will have its line."""
        return self.out / self.table / f"{self.config}.jsonl"

    @property
    def key(self) -> Key:
        """Which line of the file it is."""
        return self.row, self.seed

    def __str__(self) -> str:
        return f"{self.file}: {self.row}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"file": str(self.file), "row": self.row, "seed": self.seed}


def read_records(out: Path, table: str, config: str) -> dict[Key, Record]:
    """All records of a table and configuration, sorted by row and seed; none if there are none.

    Where a record has both a line and a file of an earlier version, the line counts.
    """
    found = {}
    for earlier in (out / table / config).glob("*/seed-*.json"):
        found[earlier.parent.name, _read_seed(earlier)] = read_record(earlier)
    found |= _read_file(out / table / f"{config}.jsonl")
    return dict(sorted(found.items()))


def _read_file(path: Path) -> dict[Key, Record]:
    """The lines of a file of records, by row and seed."""
    found = {}
    settle(path.parent)
    for number, line in enumerate(read_lines(path), start=1):
        place = f"{path}, line {number}"
        record = _check(line, place, "delete the line")
        if not isinstance(record.get("row"), str) or not isinstance(record.get("seed"), int):
            raise InputError(f"{place}: a record needs a row and a seed; delete the line")
        found[record["row"], record["seed"]] = record
    return found


def _read_seed(path: Path) -> int:
    number = path.stem.removeprefix("seed-")
    if not number.isdecimal():
        raise InputError(f"{path}: a record's file ends in its seed, as seed-004.json; rename it")
    return int(number)


def add_record(place: Place, record: Record) -> None:
    """Put a record on its line and the manifest up to date.

    Both are written anew and take their places by one commit: whoever is killed leaves the old
    ones or the new ones. Only one process at a time does so, the others wait, so that no line
    is lost.
    """
    with hold_lock(place.out / CACHE / "records.lock"):
        records = _read_file(place.file)
        named = {"row": place.row, "seed": place.seed}
        records[place.key] = {"format": FORMAT, **record, **named}
        content = format_lines(records[key] for key in sorted(records))
        folder, written = place.file.parent, {place.file.name: content}
        commit_files(folder, written | {NAME: build_manifest(folder, written)})


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Be the only process here; the system frees the lock when its holder ends or is killed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); choose another place"
        ) from None
    with file:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_lines(path: Path) -> list[Record]:
    """One JSON object a line; none where there is no file yet.

    A last line that was not written to its end, as a kill or a full disk leaves it, is left out
    with a warning. Anything else that cannot be read is an error.
    """
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    unfinished = lines.pop()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_parse(line))
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: not a readable record ({error}); delete the line"
            ) from None
    if unfinished:
        try:
            records.append(_parse(unfinished))
        except ValueError:
            warnings.warn(
                f"{path}, line {len(lines) + 1}: cut off in the middle, left out; what it was to "
                "say is made again",
                stacklevel=2,
            )
    return records


def _parse(line: bytes) -> Record:
    """One object of JSON; `ValueError` for anything else."""
    try:
        return dict(**json.loads(line.decode()))
    except (RecursionError, TypeError):
        raise ValueError("no object of JSON, or nested too deeply") from None


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as lines, all or none."""
    write_whole(path, format_lines(records))


def format_lines(records: Iterable[Record]) -> bytes:
    """Records as the content of a file of lines."""
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode()


def append_line(path: Path, record: Record) -> None:
    """Add a record of a study as the last line; a line that was cut off goes."""
    append_whole(path, format_lines([record]))


def record_path(out: Path, row: Row, config: str, seed: int) -> Path:
    """Where earlier versions kept a record."""
    return out / row.table / config / row.name / f"seed-{seed:03d}.json"


def write_record(path: Path, record: Record) -> None:
    """Write a single record whole or not at all."""
    text = json.dumps({"format": FORMAT, **record}, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def read_record(path: Path) -> Record:
    """Read a single record back."""
    try:
        record = _parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable record ({error}); delete it") from None
    return _check(record, str(path), "delete it")


def _check(record: Any, place: str, remedy: str) -> Record:
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{place}: not a record of this version; {remedy}")
    return record


def is_done(place: Place, settings: Record, learner: Any = None) -> bool:
    """Whether the record is there; one of other settings is refused, never overwritten.

    Args:
        place: Where it belongs.
        settings: What it should follow from.
        learner: The configuration behind `settings["learner"]`: what a record does not know of, it
            was made without, and so it has the default.
    """
    record = read_records(place.out, place.table, place.config).get(place.key)
    if record is None:
        return False
    record["learner"] = _complete(record.get("learner"), learner)
    for name in SETTINGS:
        # Through JSON, as the record went: tuples are lists there.
        wanted = json.loads(json.dumps(settings[name]))
        if record.get(name) != wanted:
            raise InputError(
                f"{place}: made with another {name}; delete the line, or choose another --out"
            )
    return True


def _complete(recorded: Any, config: Any) -> Any:
    """A recorded configuration by today's names, newer options at their defaults."""
    if not (dataclasses.is_dataclass(config) and isinstance(recorded, dict)):
        return recorded
    names = {option.name for option in dataclasses.fields(config)}
    recorded = {
        name if name in names else RENAMED.get(name, name): value
        for name, value in recorded.items()
    }
    options = {
        option.name: _complete(recorded[option.name], getattr(config, option.name))
        if option.name in recorded
        else json.loads(json.dumps(option.default, default=dataclasses.asdict))
        for option in dataclasses.fields(config)
        if option.name in recorded or option.default is not dataclasses.MISSING
    }
    return recorded | options
