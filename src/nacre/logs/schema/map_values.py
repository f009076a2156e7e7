"""The entries of a column map: how each is written, and what may stand there."""

from __future__ import annotations

import codecs
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from nacre.errors import InputError
from nacre.files import documents
from nacre.logs.checks.problems import Problems, show, show_path
from nacre.logs.schema.parts import MASK, VECTORS

Label: TypeAlias = str | int | float | bool
Missing: TypeAlias = str | float
Bins: TypeAlias = int | tuple[float, ...]

SINGLE = (
    *("episode", "reward", "terminated", "truncated", "done", "step"),
    *("order", "propensity"),
)
BY_COLUMN = ("labels", "encode", "missing", "rare", "unit", "time_format", "bins")
"""Keys that hold an entry for each column."""
STYLE = ("separator", "decimal", "thousands")
LISTS = ("ignore", "missing_values")
KINDS = ("number", "one_hot", "ordinal", "time", "date", "from_one_hot")
PERIODS = ("hour", "day", "week", "month")
FILLS = ("mean", "median")
MISSING = ("refuse", "drop", *FILLS, "category")
_CONSTANTS: Mapping[str, tuple[bool, ...]] = {"episode": (False,), "terminated": (False, True)}
FLAG = "lower_is_better"
_SIGNS: Mapping[str, tuple[str, ...]] = {"decimal": (".", ","), "thousands": (",", ".", "'", " ")}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the document in a file of the user's.

    Raises:
        InputError: If there is none.
    """
    try:
        return documents.read_toml(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{show_path(path)}: cannot be read as a column map ({reason}); "
            'give a TOML file with lines such as reward = "name of the column"'
        ) from error


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the document that entries on a command line stand for, such as `action=phase`."""
    document: dict[str, Any] = {}
    for text in assignments:
        key, separator, value = text.partition("=")
        if not separator:
            raise InputError(f"columns: cannot use {show(text)}; write it as action=phase")
        stem, dot, column = key.partition(".")
        if dot and stem in BY_COLUMN:
            document.setdefault(stem, {})[column] = _parse_entry(stem, value)
        elif value.strip() in ("false", "true") and stem in (*_CONSTANTS, FLAG):
            document[key] = value.strip() == "true"
        elif key in STYLE:
            document[key] = {"tab": "\t", r"\t": "\t"}.get(value, value)
        else:
            document[key] = _split(value) if "," in value or key in LISTS else value.strip()
    return document


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _parse_entry(stem: str, value: str) -> Any:
    if stem == "labels":
        return _split(value)
    if stem == "bins" and "," in value:
        return [_parse_entry(stem, part) for part in _split(value)]
    if stem in ("missing", "rare", "bins"):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
    return value.strip()


def read_value(key: str, value: object, problems: Problems) -> Any:
    """Return what an entry says, or None after reporting what is wrong with it."""
    if key in BY_COLUMN:
        return _read_table(key, value, problems)
    if key in STYLE:
        return _read_sign(key, value, problems)
    if key == "text_encoding":
        return _read_encoding(value, problems)
    if key == FLAG:
        if isinstance(value, bool):
            return value
        problems.add(f"has for {key} the value {show(value)}", "write true or false")
        return None
    if key == "period":
        if value in PERIODS:
            return value
        problems.add(f"has for period the value {show(value)}", f"use one of {', '.join(PERIODS)}")
        return None
    return _read_names(key, value, problems)


def _read_names(key: str, value: object, problems: Problems) -> Any:
    several = key in (*VECTORS, *LISTS, MASK)
    if isinstance(value, str) and value:
        return (value,) if key in LISTS else value
    if isinstance(value, bool) and value in _CONSTANTS.get(key, ()):
        return value
    if isinstance(value, list | tuple) and several and (value or key in LISTS):
        named = all(isinstance(name, str) and name for name in value)
        if named and len(set(value)) == len(value):
            return tuple(value)
    expected = "a text" if key == "missing_values" else "the name of a column"
    if several:
        expected += " or a list of different " + ("texts" if key == "missing_values" else "names")
    for constant in _CONSTANTS.get(key, ()):
        expected += f" or {str(constant).lower()}"
    problems.add(f"has for {key} the value {show(value)}", f"write {expected}")
    return None


def _read_sign(key: str, value: object, problems: Problems) -> str | None:
    allowed = _SIGNS.get(key)
    if isinstance(value, str) and (len(value) == 1 if allowed is None else value in allowed):
        return value
    expected = "one character" if allowed is None else " or ".join(map(repr, allowed))
    problems.add(f"has for {key} the value {show(value)}", f"write {expected}")
    return None


def _read_encoding(value: object, problems: Problems) -> str | None:
    try:
        return codecs.lookup(str(value)).name
    except LookupError:
        problems.add(
            f"has for text_encoding the value {show(value)}", 'write one such as "latin-1"'
        )
        return None


def _read_table(key: str, value: object, problems: Problems) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        problems.add(
            f"has for {key} the value {show(value)}", f"write {key}.COLUMN = …, for each column"
        )
        return {}
    entries: dict[str, Any] = {}
    for name, entry in value.items():
        expected = _check_entry(key, entry)
        if expected:
            what = "labels" if key == "labels" else f"{key} entry"
            problems.add(f"has for {name} the {what} {show(entry)}", f"write {expected}")
        else:
            entries[name] = tuple(entry) if isinstance(entry, list) else entry
    return entries


def _check_entry(key: str, entry: object) -> str:
    """Return what was expected in the place of an entry; nothing if it is right."""
    number = isinstance(entry, int | float) and not isinstance(entry, bool)
    if key == "labels":
        return "" if _is_list_of_labels(entry) else "a list of different texts or different numbers"
    if key == "encode":
        return "" if entry in KINDS else f"one of {', '.join(KINDS)}"
    if key == "rare":
        whole = isinstance(entry, int) and number and entry >= 1
        return "" if whole else "the least number of rows of a category, a whole number from 1"
    if key == "bins":
        return "" if _is_bins(entry) else "a list of rising numbers, or a whole number from 2"
    if key == "missing":
        finite = isinstance(entry, int | float) and number and math.isfinite(entry)
        return "" if finite or entry in MISSING else f"one of {', '.join(MISSING)}, or a number"
    return "" if isinstance(entry, str) and entry else "a text"


def _is_bins(entry: object) -> bool:
    if isinstance(entry, list | tuple):
        numbers = [one for one in entry if isinstance(one, int | float) and math.isfinite(one)]
        return 0 < len(entry) == len(numbers) and sorted(set(numbers)) == list(entry)
    return isinstance(entry, int) and not isinstance(entry, bool) and entry >= 2


def _is_list_of_labels(listed: object) -> bool:
    if not isinstance(listed, list | tuple) or not listed:
        return False
    kinds = {str if isinstance(label, str) else float for label in listed}
    allowed = all(isinstance(label, str | bool | int | float) for label in listed)
    return allowed and len(kinds) == 1 and len(set(listed)) == len(listed)
