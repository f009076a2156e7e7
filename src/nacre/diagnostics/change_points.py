"""Did the mean of a series of exchangeable scores change at some time? A permutation test.

Units are whole episodes, or runs of them, in the order of the log. If nothing changed, every order
of the units is as likely as the one seen. So the share of random orders whose statistic is at
least as large is a p-value that holds exactly, whatever the scores are and however wrong the
models that made them, as long as these do not look at the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

PERMUTATIONS = 999
"""Random orders; the smallest possible p-value is one over their number plus one."""
SPLITS = np.arange(1, 10) / 10.0
"""Shares of the log after which the test looks for a change."""
LEAST_EFFECTIVE_UNITS = 12.0
"""A column that a few units decide has no normal sum and is left out of the largest one."""


@dataclass(frozen=True)
class Change:
    """What the test says.

    Args:
        p_value: Probability of at least such a difference if nothing changed.
        size: Difference of the means before and after, in standard deviations of a unit, of the
            column in which it is largest.
        unit: The first unit after the likeliest change.
    """

    p_value: float
    size: float
    unit: int


NO_CHANGE = Change(1.0, 0.0, 0)


def find_change(scores: Floats, n_pooled: int, seed: int) -> Change:
    """Test whether the means of scores (units, columns) differ before and after some unit.

    With S_τ the sum of the first τ standardised rows of G, c_τ = S_τ / √(τ (G - τ) / G) is about
    standard normal in every column. Three statistics look for changes of different kinds: the
    largest |c| of the pooled columns (everything moved), the largest of all columns (one thing
    moved), and Σ c² (many things moved a little). Each is turned into an approximate p-value; the
    smallest is the statistic whose place among the random orders counts.

    Args:
        scores: (G, k), a symmetric function of the units.
        n_pooled: The first so many columns are sums over everything.
        seed: Of the random orders.
    """
    n_units = len(scores)
    spread = scores.std(axis=0)
    moving = spread > 1e-7 * np.maximum(np.abs(scores).max(axis=0, initial=0.0), 1e-30)
    if n_units < 4 or not moving.any():
        return NO_CHANGE
    pooled = moving[:n_pooled].sum()
    columns = (scores[:, moving] - scores[:, moving].mean(axis=0)) / spread[moving]
    splits = np.unique(np.clip(np.round(SPLITS * n_units).astype(int), 1, n_units - 1))
    sums = _permuted_sums(columns, splits, np.random.default_rng(seed))
    logs = _log_p_values(sums, int(pooled), _is_spread(columns))
    combined = logs.min(axis=0)
    # A rounding of the matrix product must not turn a tie into a difference.
    p_value = float(np.mean(combined <= combined[0] + 1e-4))
    return _locate(columns, int(pooled), int(logs[:, 0].argmin()), p_value)


def _permuted_sums(columns: Floats, splits: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """(orders, splits, k) standardised sums; the first order is the one seen."""
    n_units = len(columns)
    orders = np.tile(np.arange(n_units), (PERMUTATIONS + 1, 1))
    orders[1:] = rng.permuted(orders[1:], axis=1)
    before = (orders[:, None, :] < splits[None, :, None]).astype(np.float32)
    before /= np.sqrt(splits * (n_units - splits) / n_units)[None, :, None].astype(np.float32)
    sums = before.reshape(-1, n_units) @ columns.astype(np.float32)
    return sums.reshape(PERMUTATIONS + 1, len(splits), -1).astype(np.float64)


def _is_spread(columns: Floats) -> NDArray[np.bool_]:
    """Whether many units take part in a standardised column: (Σ x²)² / Σ x⁴."""
    n_units = len(columns)
    effective = n_units**2 / (columns**4).sum(axis=0)
    return np.asarray(effective >= min(LEAST_EFFECTIVE_UNITS, n_units / 3.0))


def _log_p_values(sums: Floats, n_pooled: int, spread: NDArray[np.bool_]) -> Floats:
    """(3, orders) logs of approximate p-values of the pooled, the largest and the squared sums."""
    _, n_splits, _ = sums.shape

    def largest(part: Floats) -> Floats:
        if part.shape[-1] == 0:
            return np.full(len(part), np.inf)
        peak = np.abs(part).max(axis=(1, 2))
        return np.asarray(stats.norm.logsf(peak) + np.log(2.0 * part.shape[1] * part.shape[2]))

    squares = (sums**2).sum(axis=-1)
    mean, variance = squares.mean(axis=0), np.maximum(squares.var(axis=0), 1e-12)
    tails = stats.gamma.logsf(squares, mean**2 / variance, scale=variance / mean)
    together = tails.min(axis=1) + np.log(n_splits)
    return np.stack([largest(sums[..., :n_pooled]), largest(sums[..., spread]), together])


def _locate(columns: Floats, n_pooled: int, kind: int, p_value: float) -> Change:
    """The unit at which the winning statistic is largest."""
    n_units = len(columns)
    edge = max(1, n_units // 20)
    after = np.arange(edge, n_units - edge + 1)
    scale = np.sqrt(after * (n_units - after) / n_units)
    sums = np.cumsum(columns, axis=0)[after - 1] / scale[:, None]
    if kind == 0:
        profile = np.abs(sums[:, :n_pooled]).max(axis=1)
    elif kind == 1:
        profile = np.abs(sums[:, _is_spread(columns)]).max(axis=1, initial=0.0)
    else:
        profile = (sums**2).sum(axis=1)
    place = int(profile.argmax())
    # c² = size² τ (G - τ) / G for the difference of two means.
    size = float(np.abs(sums[place]).max() / scale[place])
    return Change(p_value, size, int(after[place]))
