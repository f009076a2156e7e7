"""Scores of units for logs of discrete states and actions: counts less their expectation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_COLUMNS = 240
"""Pairs or triples that are looked at one by one; the others count in the pooled columns."""


def score_numbers(unit: Integers, n_units: int, context: Integers, numbers: Floats) -> Floats:
    """(G, 2 + k) sums over a unit's rows of numbers less their mean in the same context.

    Args:
        unit: (N,) the unit of each row.
        n_units: G.
        context: (N,) what the mean depends on, such as the number of a (state, action) pair.
        numbers: (N,) such as rewards.

    Returns:
        Two pooled columns (all residuals; all divided by their context's spread), then one for
        each of the k contexts with the largest variance.
    """
    names, context = np.unique(context, return_inverse=True)
    size = len(names)
    counts = np.bincount(context, minlength=size)
    mean = np.bincount(context, numbers, size) / counts
    residuals = numbers - mean[context]
    # Equal numbers differ from their computed mean by its rounding only.
    residuals[np.abs(residuals) <= 1e-6 * np.maximum(np.abs(mean[context]), 1e-12)] = 0.0
    squares = np.bincount(context, residuals**2, size)
    spread = np.sqrt(squares / counts)
    scaled = residuals / np.where(spread > 0, spread, 1.0)[context]
    largest = np.argsort(-squares, kind="stable")[:MOST_COLUMNS]
    largest = largest[squares[largest] > 0]
    column = np.full(size, -1)
    column[largest] = np.arange(len(largest))
    return np.column_stack(
        [
            np.bincount(unit, residuals, n_units),
            np.bincount(unit, scaled, n_units),
            _sum_by_column(unit, n_units, column[context], residuals, len(largest)),
        ]
    )


def score_outcomes(
    unit: Integers, n_units: int, context: Integers, outcome: Integers
) -> tuple[Floats, Floats]:
    """Surprise, and counts of outcomes less what is expected of their context.

    Args:
        unit: (N,) the unit of each row.
        n_units: G.
        context: (N,) such as the state, or the number of a (state, action) pair.
        outcome: (N,) what happened there, such as the action, or the next state.

    Returns:
        (G, 1) sums of -log p̂(outcome | context) less its expectation, and (G, k) counts less
        p̂ · visits of the k pairs of context and outcome with the largest variance.
    """
    _, context = np.unique(context, return_inverse=True)
    visits = np.bincount(context)
    pairs, pair = np.unique(context * (outcome.max() + 1) + outcome, return_inverse=True)
    owner = pairs // (outcome.max() + 1)
    counts = np.bincount(pair)
    share = counts / visits[owner]
    surprise = -np.log(share)
    expected = np.bincount(owner, share * surprise, len(visits))
    pooled = np.bincount(unit, surprise[pair] - expected[context], n_units)
    variance = counts * (1.0 - share)
    largest = np.argsort(-variance, kind="stable")[:MOST_COLUMNS]
    largest = largest[variance[largest] > 0]
    column = np.full(len(pairs), -1)
    column[largest] = np.arange(len(largest))
    seen = _sum_by_column(unit, n_units, column[pair], np.ones(len(unit)), len(largest))
    used = np.unique(owner[largest])
    place = np.full(len(visits), -1)
    place[used] = np.arange(len(used))
    visited = _sum_by_column(unit, n_units, place[context], np.ones(len(unit)), len(used))
    return np.asarray(pooled[:, None], np.float64), seen - share[largest] * visited[
        :, place[owner[largest]]
    ]


def _sum_by_column(
    unit: Integers, n_units: int, column: Integers, values: Floats, n_columns: int
) -> Floats:
    """(G, columns) sums of the values whose column is not -1."""
    kept = column >= 0
    flat = unit[kept] * n_columns + column[kept]
    sums = np.bincount(flat, values[kept], n_units * n_columns)
    return np.asarray(sums.reshape(n_units, n_columns), np.float64)
