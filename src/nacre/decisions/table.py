"""decisions.toml: the decisions that are to be made, each with its log, policy and cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError, suggest_name
from nacre.logs.checks.problems import show, show_path
from nacre.logs.documents import read_document
from nacre.logs.reference import name_address

WHAT = "a table of decisions in TOML"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "log": (str,),
    "sha256": (str,),
    "columns": (str,),
    "policy": (str,),
    "candidates": (list,),
    "cost": (str,),
    "advice_config": (str,),
    "start": (str,),
    "discount": (int, float),
    "confidence": (int, float),
    "seed": (int,),
}
WORDS = {str: "text", int: "a whole number", float: "a number", list: "a list of files"}


@dataclass(frozen=True)
class Entry:
    """One decision, as the table says it.

    Args:
        name: Names its folder.
        log: An absolute path or an address, which workers open.
        cost: The file of the switching cost.
        policy: A file, or columns or clone.
        candidates: Files of policies to compare as well.
        sha256: The log's fingerprint, if the table has it; another log is refused.
        columns: The file of the log's columns.
        advice_config: A file.
        start: As `nacre advise --start` takes it.
        discount: γ, if the table says it.
        confidence: If the table says it.
        seed: Everything random follows from it.
    """

    name: str
    log: str
    cost: Path
    policy: str = "clone"
    candidates: tuple[Path, ...] = ()
    sha256: str = ""
    columns: Path | None = None
    advice_config: Path | None = None
    start: str | None = None
    discount: float | None = None
    confidence: float | None = None
    seed: int = 0


def read_entries(path: Path, seed: int = 0) -> list[Entry]:
    """The decisions of a table. Files are looked for beside it.

    Args:
        path: The TOML file: a [[decision]] for each, and [defaults] for what they do not say.
        seed: For those that name none.

    Raises:
        InputError: One line for each problem.
    """
    document, source = read_document(path, WHAT), show_path(path)
    problems: list[str] = []
    unknown = [name for name in document if name not in ("defaults", "decision")]
    problems += [
        f"{source}: {name}: {suggest_name(name, ['defaults', 'decision'])}" for name in unknown
    ]
    defaults = document.get("defaults", {})
    tables = document.get("decision", [])
    if not isinstance(tables, list) or not tables or not isinstance(defaults, Mapping):
        raise InputError(
            f"{source}: has no decisions; write [[decision]] above each, with its name, log and "
            "cost"
        )
    _check_keys(defaults, f"{source}: defaults", problems)
    entries: list[Entry] = []
    for place, table in enumerate(tables):
        here = f"{source}: decision[{place}]"
        if not isinstance(table, Mapping):
            problems.append(f"{here} = {show(table)}: must be a table")
            continue
        _check_keys(table, here, problems)
        given = {"seed": seed, **defaults, **table}
        missing = [name for name in ("name", "log", "cost") if name not in given]
        problems += [f"{here}: has no {name}; add {name} = …" for name in missing]
        if not missing and not problems:
            entries.append(_build(given, path.parent))
    problems += _check_names(entries, source)
    if problems:
        raise InputError(problems)
    return entries


def _check_keys(table: Mapping[str, Any], place: str, problems: list[str]) -> None:
    value: Any
    for key, value in table.items():
        kinds = KINDS.get(key)
        if kinds is None:
            problems.append(f"{place}.{key}: {suggest_name(key, KINDS)}")
        elif isinstance(value, bool) or not _is_of(value, kinds):
            problems.append(f"{place}.{key} = {show(value)}: must be {WORDS[kinds[-1]]}")
        elif key == "candidates" and not all(isinstance(one, str) for one in value):
            problems.append(f"{place}.{key} = {show(value)}: must be {WORDS[list]}")
        elif key == "name" and NAME.fullmatch(value) is None:
            problems.append(
                f"{place}.name = {show(value)}: names a folder; use letters, digits, dots and "
                "dashes, at most 100"
            )


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds)


def _check_names(entries: list[Entry], source: str) -> list[str]:
    seen: set[str] = set()
    problems = []
    for entry in entries:
        if entry.name.lower() in seen:
            problems.append(f"{source}: {entry.name!r} names two decisions; rename one")
        seen.add(entry.name.lower())
    return problems


def _build(given: Mapping[str, Any], folder: Path) -> Entry:
    def find(name: str) -> Path | None:
        return folder / given[name] if name in given else None

    log, policy = given["log"], given.get("policy", "clone")
    local = folder / policy
    return Entry(
        given["name"],
        log if ":" in log else name_address(folder / log),
        folder / given["cost"],
        str(local) if local.is_file() else policy,
        tuple(folder / one for one in given.get("candidates", ())),
        given.get("sha256", ""),
        find("columns"),
        find("advice_config"),
        given.get("start"),
        given.get("discount"),
        given.get("confidence"),
        given["seed"],
    )
