"""What makes boxes or sets a partition, in messages that name the place and the remedy."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from nacre.errors import InputError

LARGEST_NUMBER = 4096

Bounds = tuple[tuple[float, ...], ...]


def whole_numbers(values: Any, what: str) -> list[int]:
    """Values from outside as integers; `what` they are is for the message."""
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        raise InputError(
            f"groups: {values!r:.60} as {what}; give whole numbers, counted from 0"
        ) from None


def numbers(values: Any, what: str) -> list[float]:
    """Values from outside as floats; `what` they are is for the message."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"groups: {what} are {values!r:.60}; give a list of numbers") from None


def check_boxes(coordinates: tuple[int, ...], lower: Bounds, upper: Bounds) -> None:
    """Every action must lie in exactly one box (lower, upper]."""
    k = len(coordinates)
    if not k or len(lower) < 2:
        raise InputError(
            f"groups: {len(lower)} given on {k} coordinates; at least two groups on one coordinate "
            "are needed"
        )
    if min(coordinates) < 0 or len(set(coordinates)) < k:
        raise InputError(f"groups: action coordinates {list(coordinates)}; name each once, from 0")
    if len(lower) > LARGEST_NUMBER:
        raise InputError(f"groups: {len(lower)} given; use at most {LARGEST_NUMBER}")
    if len(upper) != len(lower) or {len(box) for box in (*lower, *upper)} != {k}:
        raise InputError(f"groups: every box needs a lower and an upper bound on {k} coordinates")
    for i, (lows, highs) in enumerate(zip(lower, upper, strict=True)):
        if not all(low < high for low, high in zip(lows, highs, strict=True)):
            raise InputError(
                f"groups: group {i} reaches from {list(lows)} to {list(highs)}; every lower bound "
                "must be below its upper bound"
            )
    bottom, top = np.array(lower, float), np.array(upper, float)
    edges = [np.unique(np.concatenate([bottom[:, i], top[:, i]])) for i in range(k)]
    for coordinate, values in zip(coordinates, edges, strict=True):
        if values[0] != -np.inf or values[-1] != np.inf:
            raise InputError(
                f"groups: coordinate {coordinate} is covered from {values[0]} to {values[-1]} "
                "only; let the outer groups go to -inf and inf"
            )
    _check_cells(coordinates, bottom, top, edges)


def _check_cells(
    coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray, edges: list[np.ndarray]
) -> None:
    """Count the boxes over each cell of the grid of all edges, known by its upper corner."""
    n_cells = math.prod(len(values) - 1 for values in edges)
    if n_cells * lower.size > 100_000_000:
        raise InputError(f"groups: the boxes' edges span {n_cells} cells; use fewer boxes")
    corners = np.stack(np.meshgrid(*[values[1:] for values in edges], indexing="ij"), axis=-1)
    corners = corners.reshape(n_cells, len(edges))
    covers = np.zeros(n_cells, int)
    for low, high in zip(lower, upper, strict=True):
        covers += np.all((corners > low) & (corners <= high), axis=-1)
    if np.any(covers != 1):
        first = int(np.argmax(covers != 1))
        place = ", ".join(
            f"action[{coordinate}] up to {value:g}"
            for coordinate, value in zip(coordinates, corners[first], strict=True)
        )
        raise InputError(
            f"groups: not a partition: the cell {place} lies in {covers[first]} boxes; every "
            "action must be in exactly one"
        )


def check_sets(sets: Sequence[Sequence[int]], n_actions: int) -> None:
    """Every action 0, …, n_actions - 1 must be in exactly one set."""
    problems = []
    if len(sets) < 2:
        problems.append(f"groups: {len(sets)} given; at least two are needed")
    seen: dict[int, int] = {}
    for i, group in enumerate(sets):
        if not group:
            problems.append(f"groups: group {i} is empty; drop it or give it actions")
        for action in group:
            if action in seen:
                problems.append(
                    f"groups: action {action} is in group {seen[action]} and in group {i}; keep it "
                    "in one"
                )
            seen.setdefault(action, i)
            if not 0 <= action < n_actions:
                problems.append(
                    f"groups: action {action} in group {i} does not exist; actions are 0 to "
                    f"{max(n_actions - 1, 0)}"
                )
    # Numbers may be absurdly large in a file: look for the first few that are missing only.
    absent = (action for action in range(n_actions) if action not in seen)
    missing = list(itertools.islice(absent, 11))
    if missing:
        more = " and others" if len(missing) > 10 else ""
        problems.append(f"groups: {name_set(missing[:10])}{more} in no group; add to one of them")
    if problems:
        raise InputError(problems)


def name_box(
    coordinates: tuple[int, ...],
    lower: tuple[float, ...],
    upper: tuple[float, ...],
    names: Sequence[str] = (),
) -> str:
    """Such as "0 < action[1] ≤ 0.5", with the coordinates' own names where they have some."""
    parts = []
    for coordinate, low, high in zip(coordinates, lower, upper, strict=True):
        if math.isinf(low) and math.isinf(high):
            continue
        name = names[coordinate] if coordinate < len(names) else f"action[{coordinate}]"
        if math.isinf(low):
            parts.append(f"{name} ≤ {high:g}")
        elif math.isinf(high):
            parts.append(f"{name} > {low:g}")
        else:
            parts.append(f"{low:g} < {name} ≤ {high:g}")
    return " and ".join(parts)


def name_set(actions: Sequence[int]) -> str:
    """Such as "actions 0-3, 7"."""
    runs: list[tuple[int, int]] = []
    for action in actions:
        if runs and action == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], action)
        else:
            runs.append((action, action))
    text = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    return f"action{'s' if len(actions) > 1 else ''} {text}"
