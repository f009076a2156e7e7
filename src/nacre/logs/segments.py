"""Segments of a log: episodes by what a column says in their first row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs.checks.problems import show, show_names
from nacre.logs.episodes import Log
from nacre.logs.schema.naming import observation_labels, own_names

MOST_SEGMENTS = 20
FEWER = f"give one with at most {MOST_SEGMENTS} values"


@dataclass(frozen=True)
class Segment:
    """The episodes that begin with the same value.

    Args:
        column: Whose value; nothing for the start state.
        label: The value, as people call it.
        episodes: Their numbers.
        state: The start state, where it is one.
    """

    column: str
    label: str
    episodes: NDArray[np.int64]
    state: int | None = None


def segment_by_column(log: Log, column: str) -> list[Segment]:
    """Episodes by a further column, or by a column of the observation.

    Raises:
        InputError: If there is no such column, or it has one value or very many.
    """
    values = _read_first(log, column)
    found = np.unique(values)
    if not 2 <= len(found) <= MOST_SEGMENTS:
        raise InputError(
            f"segments: the column {show(column)} has {len(found):,} values in the first rows of "
            f"episodes; {FEWER} and at least 2"
        )
    return [
        Segment(column, _word(value), np.flatnonzero(values == value).astype(np.int64))
        for value in found
    ]


def segment_by_start(log: Log) -> list[Segment]:
    """Episodes by their numbered start state.

    Raises:
        InputError: If states are not numbered, or episodes start in very many.
    """
    starts = np.asarray(log.starts)
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise InputError(
            "segments: start_states is for numbered states, and those of the log are vectors; "
            "name a column instead"
        )
    found = np.unique(starts)
    if len(found) > MOST_SEGMENTS:
        raise InputError(
            f"segments: episodes start in {len(found):,} states; name a column instead, and {FEWER}"
        )
    labels = observation_labels(log)
    return [
        Segment(
            "",
            f"state {state}" if labels is None else str(labels[state]),
            np.flatnonzero(starts == state).astype(np.int64),
            int(state),
        )
        for state in found
    ]


def _read_first(log: Log, column: str) -> NDArray[np.generic]:
    """(E,) values of the column in the first row of each episode, or the labels of its places."""
    first = log.offsets[:-1]
    if column in log.columns:
        values = np.asarray(log.columns[column])
        if values.ndim == 1:
            return np.asarray(values[first])
    names = own_names(log, "observation")
    if column in names:
        return np.asarray(log.observations[first, names.index(column)])
    places = [place for place, name in enumerate(names) if name.startswith(f"{column}=")]
    if places:
        labels = np.array([names[place].removeprefix(f"{column}=") for place in places])
        return np.asarray(labels[np.asarray(log.observations[first][:, places]).argmax(axis=1)])
    known = [*log.columns, *dict.fromkeys(name.partition("=")[0] for name in names)]
    there = f"there are {show_names(known)}" if known else "it has none with a name"
    left_out = log.provenance.get("left_out")
    if isinstance(left_out, dict) and column in left_out:
        there = f"it was left out ({left_out[column]}); write numbers there"
    raise InputError(
        f"segments: the log has no single column {show(column)}: {there}; name one of them"
    )


def _word(value: np.generic) -> str:
    """As people write it: 3 rather than 3.0."""
    return f"{value:g}" if isinstance(value, np.number) else str(value)
