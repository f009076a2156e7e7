"""Column maps: which columns of somebody else's table hold the parts of a transition."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nacre.errors import InputError
from nacre.logs.checks.problems import Problems, show, show_path
from nacre.logs.schema.draft import VECTORS
from nacre.logs.schema.spaces import JSON

Label: TypeAlias = "str | int | float | bool"

_SINGLE = ("episode", "reward", "terminated", "truncated", "done", "step")
_OPTIONAL = ("episode", "terminated")
_LABELLED = ("observation", "action")


@dataclass(frozen=True)
class ColumnMap:
    """Which columns hold what. What is None is recognised by its name.

    Attributes:
        episode: The column that tells episodes apart; False if there is none: rows lie in order
            and an episode ends where a flag says so.
        observation: One column, or several whose numbers side by side are a Box.
        action: Likewise.
        reward: The column of rewards.
        next_observation: Like `observation`.
        terminated: True where the world ended the episode; False if it never does.
        truncated: True where something outside the world cut the episode.
        done: True at every end, whatever the reason: rows that are done and not truncated are
            terminated.
        step: Whole numbers that count up by one within an episode.
        labels: For "observation" or "action", the values of a column of categories or texts in
            the order that numbers them from 0.
        ignore: Columns to leave out.
    """

    episode: str | Literal[False] | None = None
    observation: str | tuple[str, ...] | None = None
    action: str | tuple[str, ...] | None = None
    reward: str | None = None
    next_observation: str | tuple[str, ...] | None = None
    terminated: str | Literal[False] | None = None
    truncated: str | None = None
    done: str | None = None
    step: str | None = None
    labels: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, str | tuple[str, ...]]:
        """The columns by what they hold, as far as the map names them."""
        values = {name: getattr(self, name) for name in (*_SINGLE, *VECTORS)}
        return {name: value for name, value in values.items() if value not in (None, False)}

    def as_json(self) -> dict[str, JSON]:
        """The map as a document, what is None left out."""
        document: dict[str, JSON] = {}
        for name in (*_SINGLE, *VECTORS):
            value = getattr(self, name)
            if value is not None:
                document[name] = list(value) if isinstance(value, tuple) else value
        if self.labels:
            document["labels"] = {name: list(labels) for name, labels in self.labels.items()}
        if self.ignore:
            document["ignore"] = list(self.ignore)
        return document


KEYS = tuple(entry.name for entry in fields(ColumnMap))
Columns: TypeAlias = "ColumnMap | Mapping[str, Any] | str | os.PathLike[str]"


def read_columns(columns: Columns | None = None, assignments: Sequence[str] = ()) -> ColumnMap:
    """Return a column map from wherever it was written.

    Args:
        columns: A map, a dictionary with its keys, or the path of a TOML file with them.
        assignments: Further entries as on a command line, which count more: `action=phase`,
            `observation=north,south` (`observation=north,` for a Box of one number),
            `labels.action=red,green`, `episode=false`.

    Raises:
        InputError: With everything that is wrong in it.
    """
    if columns is None:
        column_map = ColumnMap()
    elif isinstance(columns, ColumnMap):
        column_map = columns
    elif isinstance(columns, Mapping):
        column_map = _build(columns, "columns")
    else:
        column_map = _build(_read_toml(Path(columns)), show_path(columns))
    if not assignments:
        return column_map
    further = _build(_parse_assignments(assignments), "columns")
    given = {name: value for name in KEYS if (value := getattr(further, name)) not in (None, ())}
    return replace(column_map, **given | {"labels": {**column_map.labels, **further.labels}})


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{show_path(path)}: cannot be read as a column map ({reason}); "
            'give a TOML file with lines such as reward = "name of the column"'
        ) from error


def _parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    document: dict[str, Any] = {"labels": {}}
    for text in assignments:
        key, separator, value = text.partition("=")
        if not separator:
            raise InputError(f"columns: cannot use {show(text)}; write it as action=phase")
        names = [name.strip() for name in value.split(",") if name.strip()]
        if key.startswith("labels."):
            document["labels"][key.removeprefix("labels.")] = names
        elif value.strip() == "false":
            document[key] = False
        else:
            document[key] = names if "," in value or key == "ignore" else value.strip()
    return document


def _build(document: Mapping[str, Any], place: str) -> ColumnMap:
    problems = Problems(file=place)
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key not in KEYS:
            problems.add(
                f"has the key {show(key)}, which is not known", f"use one of {', '.join(KEYS)}"
            )
        elif key == "labels":
            values[key] = _read_labels(value, problems)
        else:
            values[key] = _read_names(key, value, problems)
    if values.get("done") and "terminated" in values:
        problems.add("names both done and terminated", "keep the one that the column means")
    if problems:
        raise problems.as_error()
    return ColumnMap(**values)


def _read_names(key: str, value: object, problems: Problems) -> Any:
    if isinstance(value, str) and value:
        return (value,) if key == "ignore" else value
    if value is False and key in _OPTIONAL:
        return False
    if isinstance(value, list | tuple) and value and (key in VECTORS or key == "ignore"):
        named = all(isinstance(name, str) and name for name in value)
        if named and len(set(value)) == len(value):
            return tuple(value)
    expected = "the name of a column"
    if key in VECTORS or key == "ignore":
        expected += " or a list of different names"
    elif key in _OPTIONAL:
        expected += " or false"
    problems.add(f"has for {key} the value {show(value)}", f"write {expected}")
    return None


def _read_labels(value: object, problems: Problems) -> dict[str, tuple[Label, ...]]:
    labels: dict[str, tuple[Label, ...]] = {}
    entries: Iterable[tuple[Any, Any]] = [("labels", value)]
    if isinstance(value, Mapping):
        entries = value.items()
    for name, listed in entries:
        if name not in _LABELLED:
            problems.add(
                f"has labels for {show(name)}", "write labels for observation or action, as lists"
            )
        elif not _is_list_of_labels(listed):
            problems.add(
                f"has for {name} the labels {show(listed)}",
                "write a list of different texts or of different numbers",
            )
        else:
            labels[name] = tuple(listed)
    return labels


def _is_list_of_labels(listed: object) -> bool:
    if not isinstance(listed, list | tuple) or not listed:
        return False
    kinds = {str if isinstance(label, str) else float for label in listed}
    allowed = all(isinstance(label, str | bool | int | float) for label in listed)
    return allowed and len(kinds) == 1 and len(set(listed)) == len(listed)
