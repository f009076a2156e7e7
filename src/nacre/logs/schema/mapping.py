"""Column maps: which columns of somebody else's table hold the parts of a transition."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nacre.errors import check_arguments
from nacre.logs.checks.problems import Problems, show, show_path
from nacre.logs.schema.map_values import (
    BY_COLUMN,
    PERIODS,
    SINGLE,
    STYLE,
    Bins,
    Label,
    Missing,
    parse_assignments,
    read_toml,
    read_value,
)
from nacre.logs.schema.parts import MASK, VECTORS
from nacre.logs.schema.spaces import JSON

__all__ = ["KEYS", "PERIODS", "ColumnMap", "Columns", "Label", "read_columns"]


@check_arguments
@dataclass(frozen=True)
class ColumnMap:
    """Which columns hold what. What is None is recognised by its name.

    Attributes:
        episode: The column that tells episodes apart; False if there is none: rows lie in order
            and an episode ends where a flag says so.
        observation: One column, or several whose numbers side by side are a Box.
        action: Likewise. Several columns with labels are one Discrete space of their combinations.
        reward: The column of rewards.
        lower_is_better: Whether that column holds costs, pain or losses: the reward is minus it.
        next_observation: Like `observation`.
        terminated: True where the world ended the episode; False if it never does; True if it ends
            every episode at its last row.
        truncated: True where something outside the world cut the episode.
        done: True at every end, whatever the reason: rows that are done and not truncated are
            terminated.
        step: Whole numbers that count up by one within an episode.
        order: Numbers or times by which the rows of an episode are put in order.
        period: If `episode` is a column of times, how long an episode is: hour, day, week, month.
        propensity: The probability, or density, that the old policy gave to the action taken.
        allowed: Columns that say which actions were allowed, one for each action in its order.
        labels: For a part or a column, its values in the order that numbers them from 0.
        encode: By column of the observation, how it becomes numbers: number, one_hot, ordinal,
            time or date; for "action", from_one_hot.
        missing: By column, what is done where a value is missing: refuse, drop (the episode), mean,
            median, a number, or category; what is filled in gets a further column that says so.
        rare: By column, categories with fewer rows than this become one, `other`.
        bins: By column of the action, the numbers at which intervals begin, or how many there are.
        unit: By column, a text such as "$" that is removed from its numbers.
        time_format: By column, how its times are written, such as "%d.%m.%Y".
        ignore: Columns to leave out.
        missing_values: Texts that stand for what is missing, beside the usual ones.
        separator: Between the columns of a text file.
        decimal: Sign before the decimals, "." or ",".
        thousands: Sign between groups of digits, which is removed.
        text_encoding: Of a text file, such as "latin-1".
    """

    episode: str | Literal[False] | None = None
    observation: str | tuple[str, ...] | None = None
    action: str | tuple[str, ...] | None = None
    reward: str | None = None
    lower_is_better: bool | None = None
    next_observation: str | tuple[str, ...] | None = None
    terminated: str | bool | None = None
    truncated: str | None = None
    done: str | None = None
    step: str | None = None
    order: str | None = None
    period: str | None = None
    propensity: str | None = None
    allowed: str | tuple[str, ...] | None = None
    labels: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    encode: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    bins: Mapping[str, Bins] = field(default_factory=dict)
    unit: Mapping[str, str] = field(default_factory=dict)
    time_format: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    text_encoding: str | None = None

    @property
    def named(self) -> dict[str, str | tuple[str, ...]]:
        """The columns by what they hold, as far as the map names them."""
        values = {name: getattr(self, name) for name in (*SINGLE, *VECTORS, MASK)}
        return {name: v for name, v in values.items() if v is not None and v not in (False, True)}

    def find_labels(self, part: str, column: str | None = None) -> tuple[Label, ...] | None:
        """Return the labels of a part, or of a column by its own name."""
        found = self.labels.get(part.removeprefix("next_"))
        return self.labels.get(column) if found is None and column is not None else found

    def as_json(self) -> dict[str, JSON]:
        """The map as a document, what is not given left out."""
        document: dict[str, JSON] = {}
        for name in KEYS:
            value = getattr(self, name)
            if isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Mapping):
                value = {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}
            if value is not None and value not in ([], {}):
                document[name] = value
        return document


KEYS = tuple(entry.name for entry in fields(ColumnMap))
Columns: TypeAlias = ColumnMap | Mapping[str, Any] | str | os.PathLike[str]


def read_columns(columns: Columns | None = None, assignments: Sequence[str] = ()) -> ColumnMap:
    """Return a column map from wherever it was written.

    Args:
        columns: A map, a dictionary with its keys, or the path of a TOML file with them.
        assignments: Further entries as on a command line, which count more: `action=phase`,
            `observation=north,south` (`observation=north,` for a Box of one number),
            `labels.action=red,green`, `encode.region=one_hot`, `episode=false`.

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
        column_map = _build(read_toml(Path(columns)), show_path(columns))
    if not assignments:
        return column_map
    further = _build(parse_assignments(assignments), "columns")
    given: dict[str, Any] = {}
    for name in KEYS:
        value = getattr(further, name)
        if name in BY_COLUMN:
            given[name] = {**getattr(column_map, name), **value}
        elif value is not None and value != ():
            given[name] = value
    if given.get("done") and "terminated" not in given:
        given["terminated"] = None
    return replace(column_map, **given)


def _build(document: Mapping[str, Any], place: str) -> ColumnMap:
    problems = Problems(file=place)
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, 1)
            remedy = f"write {near[0]}" if near else f"use one of {', '.join(KEYS)}"
            problems.add(f"has the key {show(key)}, which is not known", remedy)
        else:
            values[key] = read_value(key, value, problems)
    if values.get("done") and values.get("terminated") is not None:
        problems.add("names both done and terminated", "keep the one that the column means")
    signs = [values[key] for key in STYLE if values.get(key) is not None]
    if len(set(signs)) < len(signs):
        problems.add(
            f"has the same sign for two of {', '.join(STYLE)}", "give each a sign of its own"
        )
    if problems:
        raise problems.as_error()
    return ColumnMap(**values)
