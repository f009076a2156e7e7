"""Trees of two questions that choose an action: the best of all on a table of scores."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.policies.policy import Signature
from nacre.policies.rules import RulePolicy

Floats = NDArray[np.float64]
THRESHOLDS = 15
"""Thresholds that are tried for each coordinate: even quantiles of the contexts."""
LEAST_SHARE = 0.05
"""Of the contexts that a leaf has to hold: fewer say little about an action."""


class Split(NamedTuple):
    """One question, x[coordinate] ≤ threshold, and the actions of yes and no."""

    total: float
    coordinate: int
    threshold: float
    actions: tuple[int, int]


def grow_tree(contexts: NDArray[np.generic], scores: Floats, signature: Signature) -> RulePolicy:
    """The tree of depth two with the largest sum of scores, as rules.

    All pairs of a first question and second ones are tried, over even quantiles (the exhaustive
    search of Zhou, Athey and Wager, 2023).

    Args:
        contexts: (n, d).
        scores: (n, A) what each action is worth in each context.
        signature: The spaces.
    """
    rows = np.asarray(contexts, np.float64)
    least = max(1, int(LEAST_SHARE * len(rows)))
    inside = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
    # Thresholds lie in the middle between values, so that single precision decides alike.
    grid = [_find_middles(column, inside) for column in rows.T]
    best: tuple[float, int, float, Split, Split] | None = None
    for coordinate, thresholds in enumerate(grid):
        for threshold in thresholds:
            yes = rows[:, coordinate] <= threshold
            if min(yes.sum(), (~yes).sum()) < least:
                continue
            below = _split_best(rows[yes], scores[yes], grid, least)
            above = _split_best(rows[~yes], scores[~yes], grid, least)
            total = below.total + above.total
            if best is None or total > best[0] + 1e-12 * abs(total):
                best = total, coordinate, float(threshold), below, above
    if best is None:
        return _write([[]], [int(scores.sum(axis=0).argmax())] * 2, signature)
    _, coordinate, threshold, below, above = best
    first = (coordinate, threshold)
    boxes = [[first, below[1:3]], [first], [above[1:3]]]
    return _write(boxes, [*below.actions, *above.actions], signature)


def _find_middles(column: Floats, inside: Floats) -> Floats:
    """Halfway from even quantiles to the next value."""
    values = np.unique(column)
    if len(values) < 2:
        return np.zeros(0)
    places = np.searchsorted(values, np.quantile(column, inside, method="lower"))
    places = np.unique(np.minimum(places, len(values) - 2))
    return np.asarray((values[places] + values[places + 1]) / 2.0)


def _split_best(rows: Floats, scores: Floats, grid: list[Floats], least: int) -> Split:
    """The best question in one part of the contexts; an empty one if none is allowed."""
    whole = scores.sum(axis=0)
    action = int(whole.argmax())
    best = Split(float(whole[action]), 0, np.inf, (action, action))
    for coordinate, thresholds in enumerate(grid):
        if not len(thresholds):
            continue
        # Which thresholds a row lies below: sums of scores between them, added up.
        place = np.searchsorted(thresholds, rows[:, coordinate])
        n = len(thresholds) + 1
        sums = np.stack([np.bincount(place, column, n) for column in scores.T], axis=1)
        below, counts = np.cumsum(sums, axis=0)[:-1], np.cumsum(np.bincount(place, minlength=n))
        above = whole - below
        totals = below.max(axis=1) + above.max(axis=1)
        allowed = (counts[:-1] >= least) & (len(rows) - counts[:-1] >= least)
        totals = np.where(allowed, totals, -np.inf)
        k = int(totals.argmax())
        if totals[k] > best.total:
            actions = int(below[k].argmax()), int(above[k].argmax())
            best = Split(float(totals[k]), coordinate, float(thresholds[k]), actions)
    return best


def _write(
    boxes: list[list[tuple[int, float]]], actions: list[int], signature: Signature
) -> RulePolicy:
    """Rules in their order: each holds where all of its coordinates are at most so much."""
    lower = np.full((len(boxes), signature.observation_size), -np.inf, np.float32)
    upper = np.full_like(lower, np.inf)
    for number, box in enumerate(boxes):
        for coordinate, threshold in box:
            upper[number, coordinate] = min(upper[number, coordinate], np.float32(threshold))
    outputs = np.eye(signature.action_size, dtype=np.float32)[actions]
    return RulePolicy(
        jnp.asarray(lower), jnp.asarray(upper), jnp.asarray(outputs), signature, "greedy"
    )
