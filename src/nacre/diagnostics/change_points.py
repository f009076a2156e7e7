"""Did the mean of a series of exchangeable scores change, or go up and down? A permutation test.

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
EDGES = np.array([2, 3, 5, 8, 13])
"""Units from either end at which it looks, too; a single one is at an end too often by chance."""
LARGEST_HEIGHT = 1e3
LEAST_CLEAR = 0.01
"""p-value up to which a change by itself explains that neighbours are alike."""
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
        alternates: Whether means go up and down instead, so that neighbours are alike (or opposed);
            then the size is the correlation of neighbours, and the unit means nothing.
    """

    p_value: float
    size: float
    unit: int
    alternates: bool = False


NO_CHANGE = Change(1.0, 0.0, 0)


def find_change(scores: Floats, n_pooled: int, seed: int, *, neighbours: bool = False) -> Change:
    """Test whether the means of scores (units, columns) differ before and after some unit.

    With S_τ the sum of the first τ standardised rows of G, c_τ = S_τ / √(τ (G - τ) / G) is about
    standard normal in every column. Three statistics look for changes of different kinds: the
    largest |c| of the pooled columns (everything moved), the largest of all columns (one thing
    moved), and Σ c² (many things moved a little). They look inside of the log, and once more near
    its ends. Products of neighbouring rows say whether good and poor times take turns. Each is
    turned into an approximate p-value, its logarithm is put on a common scale by its quantiles
    among the random orders, and the most extreme is the statistic whose place among them counts.

    Args:
        scores: (G, k), a symmetric function of the units.
        n_pooled: The first so many columns are sums over everything.
        seed: Of the random orders.
        neighbours: Whether neighbouring units are as independent as others if nothing changes.
    """
    n_units = len(scores)
    spread = scores.std(axis=0)
    moving = spread > 1e-7 * np.maximum(np.abs(scores).max(axis=0, initial=0.0), 1e-30)
    if n_units < 4 or not moving.any():
        return NO_CHANGE
    pooled = int(moving[:n_pooled].sum())
    columns = (scores[:, moving] - scores[:, moving].mean(axis=0)) / spread[moving]
    orders = _draw_orders(n_units, np.random.default_rng(seed))
    inside = np.unique(np.clip(np.round(SPLITS * n_units).astype(int), 1, n_units - 1))
    edges = EDGES[inside[0] > EDGES]
    logs = []
    for splits in (inside, np.concatenate([edges, n_units - edges])):
        if len(splits):
            sums = _permuted_sums(columns, splits, orders)
            logs.append(_log_p_values(sums, pooled, _is_spread(columns)))
    heights = _bring_to_scale(-np.concatenate(logs))
    changed = heights.max(axis=0)
    combined = changed
    if neighbours:
        turns = _bring_to_scale(_compare_neighbours(columns, pooled, orders))
        combined = np.maximum(changed, turns.max(axis=0))
    p_value = _find_share(combined)
    if combined[0] > changed[0] and _find_share(changed) > LEAST_CLEAR:
        return Change(p_value, _correlate(columns[:, : pooled or None]), 0, alternates=True)
    winner = int(heights[:, 0].argmax())
    return _locate(columns, pooled, winner % 3, p_value, near_ends=winner >= 3)


def _draw_orders(n_units: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(orders, units) the place of each unit; the first order is the one seen."""
    orders = np.tile(np.arange(n_units), (PERMUTATIONS + 1, 1))
    orders[1:] = rng.permuted(orders[1:], axis=1)
    return orders


def _find_share(heights: Floats) -> float:
    """The share of orders that are at least as extreme as the one seen."""
    # A rounding of the matrix product must not turn a tie into a difference.
    return float(np.mean(heights >= heights[0] - 1e-4))


def _bring_to_scale(heights: Floats) -> Floats:
    """Statistics (s, orders) in units of their upper tails, so that none outweighs the others.

    Quantiles over all orders do not depend on which of them was seen: the test stays exact.
    """
    heights = np.clip(heights, -LARGEST_HEIGHT, LARGEST_HEIGHT)
    middle, top = np.quantile(heights, [0.9, 0.99], axis=1)[..., None]
    scaled = (heights - middle) / np.where(top - middle > 1e-3, top - middle, 1.0)
    # What is the same in all orders says nothing.
    return np.where(np.ptp(heights, axis=1)[:, None] > 0, scaled, -LARGEST_HEIGHT)


def _permuted_sums(columns: Floats, splits: NDArray[np.int64], orders: NDArray[np.int64]) -> Floats:
    """(orders, splits, k) standardised sums."""
    n_units = len(columns)
    before = (orders[:, None, :] < splits[None, :, None]).astype(np.float32)
    before /= np.sqrt(splits * (n_units - splits) / n_units)[None, :, None].astype(np.float32)
    sums = before.reshape(-1, n_units) @ columns.astype(np.float32)
    return sums.reshape(len(orders), len(splits), -1).astype(np.float64)


def _compare_neighbours(columns: Floats, n_pooled: int, orders: NDArray[np.int64]) -> Floats:
    """(orders,) how far the products of neighbouring rows are from zero: pooled, and of all."""
    rows = np.argsort(orders, axis=1)
    parts = [columns[:, [i]] for i in range(n_pooled)] + [columns]
    sizes = []
    for part in parts:
        products = part @ part.T
        total = products[rows[:, :-1], rows[:, 1:]].sum(axis=1)
        sizes.append(np.abs(total - total.mean()) / max(float(total.std()), 1e-12))
    return np.asarray(-stats.norm.logsf(np.max(sizes, axis=0)))[None]


def _correlate(columns: Floats) -> float:
    """The correlation of neighbours in the column in which it is largest."""
    products = (columns[1:] * columns[:-1]).mean(axis=0)
    return float(products[np.abs(products).argmax()])


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


def _locate(
    columns: Floats, n_pooled: int, kind: int, p_value: float, *, near_ends: bool
) -> Change:
    """The unit at which the winning statistic is largest."""
    n_units = len(columns)
    edge = 2 if near_ends else max(1, n_units // 20)
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
