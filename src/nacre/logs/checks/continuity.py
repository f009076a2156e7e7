"""Episodes as they lie in the rows: grouping, steps, ends, and successors that fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show
from nacre.logs.storage.stores import blocks

RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Grouping:
    """Rows put together by episode.

    Attributes:
        rows: (N,) the row of the file that comes at each place.
        offsets: (E+1,) episode e has the places offsets[e]:offsets[e+1].
        moved: Whether any row changes its place.
    """

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    moved: bool


def group_rows(episode: NDArray[np.int64], step: NDArray[np.int64] | None) -> Grouping:
    """Put the rows of each episode together, in their order in the file or, if known, of steps.

    Episodes keep the order in which they first appear.
    """
    n_rows = len(episode)
    starts = _run_starts(episode)
    # Runs are few where rows are many: whole columns are sorted only if they have to be.
    labels, first, places = np.unique(episode[starts], return_index=True, return_inverse=True)
    is_start = np.zeros(n_rows, dtype=np.bool_)
    is_start[starts] = True
    in_order = len(labels) == len(starts) and (
        step is None or bool(((np.diff(step) >= 0) | is_start[1:]).all())
    )
    if in_order:
        return Grouping(np.arange(n_rows), np.append(starts, n_rows), moved=False)
    rank = np.empty(len(labels), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(labels))
    codes = np.repeat(rank[places], np.diff(np.append(starts, n_rows)))
    rows = np.argsort(codes, kind="stable") if step is None else np.lexsort((step, codes))
    return Grouping(rows, np.append(_run_starts(codes[rows]), n_rows), moved=True)


def _run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)


def episode_from_flags(ended: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number episodes that end wherever a row says so."""
    return np.cumsum(ended) - ended


def inner_pairs(offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (N-1,) whether the places i and i+1 belong to the same episode."""
    inner = np.ones(int(offsets[-1]) - 1, dtype=np.bool_)
    inner[offsets[1:-1] - 1] = False
    return inner


def check_steps(
    step: NDArray[np.int64],
    grouping: Grouping,
    pairs: NDArray[np.bool_],
    problems: Problems,
) -> NDArray[np.bool_]:
    """Check that steps count up by one within an episode; return the pairs of rows that do.

    Two rows of one episode with the same step are duplicates. Without a step column, equal rows
    are no duplicates by themselves: a world may well stand still. There a repeated row shows only
    when its `next_observation` contradicts it, see `check_successors`.
    """
    increase: NDArray[np.int64] = np.diff(step)
    rows = grouping.rows
    for bad, what, remedy in (
        (
            increase == 0,
            "repeats step {1} of the same episode, already in row {0}",
            "remove the duplicate row, or give each episode its own number",
        ),
        (
            increase > 1,
            "follows step {1} of row {0} of the same episode: rows are missing in between",
            "add the missing rows, or number what follows as a new episode",
        ),
    ):
        places = np.flatnonzero(bad & pairs)

        def describe(
            i: int, places: NDArray[np.int64] = places, what: str = what
        ) -> tuple[str, str]:
            place = places[i]
            return what.format(rows[place], step[place]), show(step[place + 1])

        problems.add_rows("step", rows[places + 1], describe, remedy)
    return np.asarray(pairs & (increase == 1))


def check_ends(
    name: str,
    ended: NDArray[np.bool_],
    grouping: Grouping,
    pairs: NDArray[np.bool_],
    problems: Problems,
) -> None:
    """Check that no episode goes on after a row that ends it."""
    places = np.flatnonzero(ended[:-1] & pairs)
    rows = grouping.rows
    word = problems.label(name)
    problems.add_rows(
        name,
        rows[places],
        lambda i: (f"is true but its episode goes on in row {rows[places[i] + 1]}", "True"),
        f"set {word} on the last row of an episode only, and give each episode its own number",
    )


def check_successors(
    fields: Mapping[str, NDArray[Any]],
    grouping: Grouping,
    pairs: NDArray[np.bool_],
    problems: Problems,
) -> None:
    """Check that each row starts where the row before it said it would.

    Observations count as equal when |a - b| ≤ 1e-6 + 1e-5 |b|. A row that contradicts the one
    before and equals it in observation, action and reward is called a duplicate.

    Args:
        fields: observation and next_observation, action and reward if they are in order.
        grouping: Which row is where.
        pairs: (N-1,) the places to compare with the following one.
        problems: Receives what is wrong.
    """
    observation, successor = fields["observation"], fields["next_observation"]
    wrong = _differences(successor, observation) & pairs
    places = np.flatnonzero(wrong)
    if len(places) == 0:
        return
    repeats = np.ones(len(places), dtype=np.bool_)
    for name in ("observation", "action", "reward"):
        if name in fields:
            column = fields[name].reshape(len(observation), -1)
            repeats &= (column[places] == column[places + 1]).all(axis=1)
    rows = grouping.rows

    def describe(i: int) -> tuple[str, str]:
        before, here = successor[places[i]], observation[places[i] + 1]
        if before.ndim:
            j = int(np.argmax(_unequal(before, here)))
            value, expected = show(here[j]), f"{show(before[j])} at coordinate {j}"
        else:
            value, expected = show(here), show(before)
        if repeats[i]:
            return f"repeats row {rows[places[i]]}, which led to {expected}", value
        label = problems.label("next_observation")
        return f"does not continue from row {rows[places[i]]}, {label} {expected}", value

    problems.add_rows(
        "observation",
        rows[places + 1],
        describe,
        "remove duplicate rows, restore missing ones, or number what follows as a new episode",
    )


def _unequal(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
    if a.dtype.kind == "i":
        return np.asarray(a != b)
    with np.errstate(over="ignore"):
        tolerance = ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * np.abs(b)
        return np.asarray(np.abs(a - b) > tolerance)


def _differences(successor: NDArray[Any], observation: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare place i with place i+1, block by block so that no large temporary is needed."""
    differ = np.zeros(len(observation) - 1, dtype=np.bool_)
    for rows in blocks(successor[:-1], observation):
        following = observation[rows.start + 1 : rows.stop + 1]
        if np.array_equal(successor[rows], following):
            continue
        unequal = _unequal(successor[rows], following)
        differ[rows] = unequal if unequal.ndim == 1 else unequal.any(axis=1)
    return differ
