"""Scores of units for logs of vectors: residuals of a flexible regression, by direction.

What the regression explains cannot drift in the residuals because states or actions moved. What
it leaves is summed over each unit, plain and times the inputs: a change of level, of a slope, or
of a gain shows in one of the sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_FEATURES = 100
ROWS_A_FEATURE = 20
RIDGE = 1e-4
MOST_COLUMNS = 160
LARGEST_RESIDUAL = 5.0
"""In standard deviations; one collision of a robot must not outweigh a hundred steps."""
MOST_CATEGORIES = 64


def standardise(values: Floats) -> Floats:
    """Columns with mean 0 and spread 1, cut off at ±5; constant ones are left out."""
    spread = values.std(axis=0)
    moving = spread > 1e-6 * np.abs(values).max(axis=0, initial=1e-12)
    scaled = (values[:, moving] - values[:, moving].mean(axis=0)) / spread[moving]
    return np.asarray(np.clip(scaled, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))


def one_hot(values: Integers) -> Floats:
    """(N, k) indicators of the k - 1 most frequent values, and of all others together."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-counts, kind="stable"))
    rank = np.minimum(rank, MOST_CATEGORIES - 1)
    return np.asarray(np.eye(int(rank.max()) + 1)[rank[index]])


def find_residuals(inputs: Floats, targets: Floats, seed: int) -> Floats:
    """(N, t) what ridge regression on the inputs and random ReLU features leaves of the targets.

    Residuals are divided by their spread and cut off. The fit sees all rows and not their order.
    """
    n_rows, size = inputs.shape
    rng = np.random.default_rng(seed)
    n_random = min(MOST_FEATURES, n_rows // ROWS_A_FEATURE)
    weights = rng.standard_normal((size, n_random)) / np.sqrt(max(size, 1))
    features = np.concatenate(
        [
            np.ones((n_rows, 1)),
            inputs,
            np.maximum(inputs @ weights + rng.standard_normal(n_random), 0.0),
        ],
        axis=1,
    ).astype(np.float32)
    gram = (features.T @ features).astype(np.float64)
    gram[np.diag_indices(len(gram))] += RIDGE * n_rows
    solution = np.linalg.solve(gram, (features.T @ targets.astype(np.float32)).astype(np.float64))
    residuals = targets - features @ solution
    spread = residuals.std(axis=0)
    # What is left of a target that the inputs determine is rounding.
    told = spread > 1e-6 * np.maximum(np.abs(targets).max(axis=0, initial=0.0), 1e-30)
    scaled = residuals[:, told] / spread[told]
    return np.asarray(np.clip(scaled, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))


def score_residuals(
    unit: Integers, n_units: int, residuals: Floats, inputs: Floats, seed: int
) -> Floats:
    """(G, t + k) sums of the residuals over a unit's rows, plain and then times directions.

    Directions are the inputs; where there are too many products, random mixtures of the inputs.
    """
    n_targets = residuals.shape[1]
    if n_targets == 0:
        return np.zeros((n_units, 0))
    most = max(1, MOST_COLUMNS // n_targets)
    if inputs.shape[1] > most:
        rng = np.random.default_rng(seed)
        mixture = rng.standard_normal((inputs.shape[1], most)) / np.sqrt(inputs.shape[1])
        inputs = inputs @ mixture
    products = [residuals * inputs[:, [i]] for i in range(inputs.shape[1])]
    return np.concatenate(
        [_sum_by_unit(unit, n_units, part) for part in (residuals, *products)], axis=1
    )


def _sum_by_unit(unit: Integers, n_units: int, values: Floats) -> Floats:
    """(G, t) sums over each unit's rows; rows are in the order of the units."""
    edges = np.searchsorted(unit, np.arange(n_units + 1))
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray(total[edges[1:]] - total[edges[:-1]])
