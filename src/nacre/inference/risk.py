"""The lower end of a distribution of returns: quantiles and conditional value at risk, with bounds.

Episodes of the old policy, weighted by w_i = Π π_new / π_old, stand for those of a candidate;
weights of one stand for the old policy itself:

    F(x)   = Σ w_i [x_i ≤ x] / Σ w_i
    CVaR_α = b - Σ w_i (b - x_i)⁺ / (α Σ w_i),   b the α-quantile (Rockafellar and Uryasev, 2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nacre.errors import InputError
from nacre.inference.intervals import find_quantile

Floats = NDArray[np.float64]

LEAST = 1e-9
LEAST_TAIL = 5.0
"""Effective episodes below the quantile that a bound needs."""


@dataclass(frozen=True)
class RiskFigure:
    """A figure with bounds, each at a one-sided level; NaN and infinite where nothing is known."""

    mean: float
    low: float
    high: float


UNKNOWN = RiskFigure(math.nan, -math.inf, math.inf)


def count_effective(weights: Floats) -> float:
    """Effective episodes: (Σ w)² / Σ w²; never more than Σ w, whose mean is one."""
    total, squares = float(weights.sum()), float(np.sum(weights**2))
    return min(total, total**2 / squares) if squares > 0 else 0.0


def find_weighted_quantile(
    returns: Floats, weights: Floats, share: float, level: float
) -> RiskFigure:
    """The return that a share of the episodes stays below.

    Bounds are the returns at which the bounds of F reach the share: those of Clopper and Pearson
    (1934), with the effective number of episodes.

    Args:
        returns: (n,) of the episodes.
        weights: (n,) not negative.
        share: α, between 0 and 1.
        level: One-sided, of each bound.
    """
    _check(returns, weights, share)
    if count_effective(weights) * min(share, 1.0 - share) < LEAST_TAIL:
        return UNKNOWN
    order = np.argsort(returns, kind="stable")
    x, effective = returns[order], count_effective(weights)
    below = np.cumsum(weights[order]) / float(weights.sum())
    inside, outside = effective * below, np.maximum(effective * (1.0 - below), LEAST)
    most = special.betaincinv(inside + 1.0, outside, level)
    least = special.betaincinv(np.maximum(inside, LEAST), outside + 1.0, 1.0 - level)
    return RiskFigure(*(_first(x, curve >= share) for curve in (below, most, least)))


def find_tail_mean(returns: Floats, weights: Floats, share: float, level: float) -> RiskFigure:
    """CVaR: the mean return of the worst share of the episodes.

    Args:
        returns: (n,) of the episodes.
        weights: (n,) not negative.
        share: α, between 0 and 1.
        level: One-sided, of each bound.
    """
    _check(returns, weights, share)
    tail = count_effective(weights) * share
    if tail < LEAST_TAIL:
        return UNKNOWN
    # Few episodes lie in the tail, and the error itself is found from them.
    reach = find_quantile(level, tail - 1.0)
    edge = _find_edge(returns, weights, share)
    mean, error, skewness = _summarise(_cut(returns, edge, share), weights)
    high = mean + error * max(reach, -_straighten(-reach, skewness))
    # CVaR is the largest of these means over all b, so one for a b of other episodes is too low.
    even = np.arange(len(returns)) % 2 == 0
    parts = np.empty(len(returns))
    for half in (even, ~even):
        parts[half] = _cut(returns[half], _find_edge(returns[~half], weights[~half], share), share)
    centre, error, skewness = _summarise(parts, weights)
    return RiskFigure(mean, min(mean, centre - error * _straighten(reach, skewness)), high)


def _find_edge(returns: Floats, weights: Floats, share: float) -> float:
    """The plain quantile."""
    order = np.argsort(returns, kind="stable")
    below = np.cumsum(weights[order])
    return _first(returns[order], below >= share * below[-1])


def _cut(returns: Floats, edge: float, share: float) -> Floats:
    """B - (b - x)⁺ / α, whose mean is CVaR where b is the quantile."""
    return np.asarray(edge - np.maximum(edge - returns, 0.0) / share)


def _summarise(parts: Floats, weights: Floats) -> tuple[float, float, float]:
    """Weighted mean, its standard error, and the skewness of what it is made of, over √n."""
    mean = float(weights @ parts / weights.sum())
    influences = weights * (parts - mean) / weights.mean()
    spread, n = float(influences.std()), len(parts)
    if not spread > 0:
        return mean, 0.0, 0.0
    skewness = float(np.mean(influences**3)) / spread**3
    return mean, spread / math.sqrt(n), skewness / math.sqrt(n)


def _straighten(quantile: float, skewness: float) -> float:
    """A quantile of Student's ratio for skewed numbers (Hall, 1992); `skewness` is over √n."""
    if abs(skewness) < LEAST:
        return quantile
    return 3.0 / skewness * (float(np.cbrt(1.0 + skewness * (quantile - skewness / 6.0))) - 1.0)


def _first(values: Floats, reached: NDArray[np.bool_]) -> float:
    """The first value at which something is reached; the last one if rounding left it out."""
    return float(values[int(np.argmax(reached))]) if reached.any() else float(values[-1])


def _check(returns: Floats, weights: Floats, share: float) -> None:
    if returns.shape != weights.shape or returns.ndim != 1 or not len(returns):
        raise InputError(
            f"returns {returns.shape} and weights {weights.shape}: give two of the same length (n,)"
        )
    if not (np.all(np.isfinite(returns)) and np.all(weights >= 0) and np.any(weights > 0)):
        raise InputError(
            "returns have to be finite, weights not negative and one at least positive"
        )
    if not 0.0 < share < 1.0:
        raise InputError(f"share = {share}: must lie between 0 and 1")
