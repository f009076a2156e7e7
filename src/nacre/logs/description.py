"""How each column of a log was understood, for people: meaning, type, encoding, missing, range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.logs.checks.problems import show_names
from nacre.logs.episodes import Log
from nacre.logs.schema.encoding import ColumnEncoding
from nacre.logs.schema.naming import (
    action_labels,
    action_names,
    observation_labels,
    observation_names,
)
from nacre.logs.schema.spaces import is_masked
from nacre.logs.storage.stores import blocks

MOST_ROWS = 40
"""Columns of the table; a log with more of them gets a last row that says so."""
Row = dict[str, Any]


def describe_columns(log: Log) -> list[Row]:
    """Return a row for each column: column, meaning, type, encoding, missing, range."""
    rows = [*_mark_mask(log, _describe_observation(log)), *_describe_actions(log)]
    recorded = _entries(log, "columns")
    turned = "times -1: lower is better" if log.provenance.get("lower_is_better") else "as it is"
    span = _find_range(log.rewards)
    rows.append(_row(log, _name(recorded, "reward"), "reward", "number", turned, span))
    ends = int(log.terminated.sum())
    for part in ("episode", "terminated", "truncated"):
        if isinstance(recorded.get(part), str):
            span = f"{log.n_episodes:,} episodes" if part == "episode" else ""
            span = f"{ends:,} ends" if part == "terminated" else span
            rows.append(_row(log, str(recorded[part]), part, "", range_=span))
    for name, values in log.columns.items():
        kind = "numbers" if values.ndim > 1 else "number"
        meaning = name if name in ("propensity", "step") else "kept, not used"
        shown = _name(recorded, name) if name in ("propensity", "step") else name
        rows.append(_row(log, shown, meaning, kind, range_=_find_range(values)))
    for name, reason in _entries(log, "left_out").items():
        rows.append(_row(log, name, f"left out: {reason}", ""))
    return rows


def _row(
    log: Log, column: str, meaning: str, kind: str, encoding: str = "as it is", range_: str = ""
) -> Row:
    return {
        "column": column,
        "meaning": meaning,
        "type": kind,
        "encoding": "" if not kind else encoding,
        "missing": _entries(log, "missing").get(column, 0),
        "range": range_,
    }


def _entries(log: Log, key: str) -> Mapping[str, Any]:
    entries = log.provenance.get(key)
    return entries if isinstance(entries, dict) else {}


def _name(recorded: Mapping[str, Any], part: str) -> str:
    name = recorded.get(part, part)
    return name if isinstance(name, str) else part


def _describe_observation(log: Log) -> list[Row]:
    encodings = log.provenance.get("encoding")
    if isinstance(encodings, list) and encodings:
        return _describe_encodings(log, encodings)
    if isinstance(log.observation_space, Discrete):
        labels = observation_labels(log)
        name = _name(_entries(log, "columns"), "observation")
        return [_describe_discrete(log, name, "observation", labels, int(log.observation_space.n))]
    names, ranges = observation_names(log), _find_ranges(log.observations)
    rows = [
        _row(log, name, "observation", "number", range_=span)
        for name, span in zip(names, ranges, strict=True)
    ]
    return _cut(log, rows)


def _mark_mask(log: Log, rows: list[Row]) -> list[Row]:
    """The last coordinates of a masked observation mean something else than the others.

    Numbered states keep what each of them allows apart: a row for each action.
    """
    if is_masked(log.observation_space):
        names, allowed = _entries(log, "columns").get("allowed"), log.observation_space.allowed
        listed = names if isinstance(names, list) and len(names) == allowed.shape[1] else None
        places = range(allowed.shape[1])
        return rows + [
            _row(log, name, "allowed", "flag", "by state", f"in {n:,} of {len(allowed):,} states")
            for name, n in zip(
                listed or [f"allowed_{i}" for i in places], allowed.sum(axis=0), strict=True
            )
        ]
    n_masked = getattr(log.observation_space, "n_masked", 0)
    if not n_masked or len(rows) > MOST_ROWS:
        return rows
    marked = [{**row, "meaning": "allowed", "type": "flag"} for row in rows[-n_masked:]]
    return [*rows[:-n_masked], *marked]


def _describe_encodings(log: Log, encodings: list[Any]) -> list[Row]:
    ranges = _find_ranges(log.observations)
    rows, place = [], 0
    for entry in encodings:
        column, kind = str(entry["column"]), str(entry["kind"])
        width = len(ColumnEncoding.from_json(entry).features)
        labels = entry.get("labels", [])
        span = ranges[place] if kind == "number" else show_names(map(str, labels))
        encoding = "as it is" if kind == "number" else f"{kind.replace('_', '-')}, {width} numbers"
        if entry.get("fill") is not None:
            encoding += f", missing → {float(entry['fill']):.4g} and marked"
        typed = {"number": "number", "time": "time", "date": "date"}.get(kind, "category")
        rows.append(
            _row(
                log,
                column,
                "observation",
                typed,
                encoding,
                "" if typed in ("time", "date") else span,
            )
        )
        place += width
    return _cut(log, rows)


def _describe_actions(log: Log) -> list[Row]:
    if isinstance(log.action_space, Discrete):
        name = _entries(log, "columns").get("action", "action")
        shown = ", ".join(name) if isinstance(name, list) else str(name)
        return [
            _describe_discrete(log, shown, "action", action_labels(log), int(log.action_space.n))
        ]
    pairs = zip(action_names(log), _find_ranges(log.actions), strict=True)
    return _cut(log, [_row(log, name, "action", "number", range_=span) for name, span in pairs])


def _describe_discrete(
    log: Log, name: str, meaning: str, labels: tuple[Any, ...] | None, n: int
) -> Row:
    if labels is None:
        return _row(log, name, meaning, "whole number", f"Discrete({n})", f"0 to {n - 1}")
    return _row(log, name, meaning, "category", f"Discrete({n})", show_names(map(str, labels)))


def _cut(log: Log, rows: list[Row]) -> list[Row]:
    if len(rows) <= MOST_ROWS:
        return rows
    rest = len(rows) - MOST_ROWS
    return [*rows[:MOST_ROWS], _row(log, f"and {rest} more", rows[0]["meaning"], "number")]


def _find_ranges(values: NDArray[Any]) -> list[str]:
    low, high = np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)
    for block in blocks(values):
        low = np.minimum(low, values[block].min(axis=0))
        high = np.maximum(high, values[block].max(axis=0))
    return [f"{a:.4g} to {b:.4g}" for a, b in zip(low, high, strict=True)]


def _find_range(values: NDArray[Any]) -> str:
    with np.errstate(invalid="ignore"):
        flat = np.asarray(values, np.float64)
        known = flat[np.isfinite(flat)]
    return f"{known.min():.4g} to {known.max():.4g}" if len(known) else ""
