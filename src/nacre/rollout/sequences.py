"""Confidence sequences: bounds of a mean that hold at every look together.

The asymptotic sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021). With t scores of
mean x̄ and variance s², the bounds

    x̄ ± s √( 2 (tρ² + 1) / (t²ρ²) · log(c) ),   c = √(tρ² + 1) / α           (two-sided)
                                                  c = 1 + √(tρ² + 1) / (2α)    (each side alone)

hold for all t at once with probability 1 - α, as t grows. So a look costs nothing. ρ sets where the
bounds are tightest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEAST_SCORES = 20
"""Fewer scores give no bounds: the sequence holds as their number grows, not from the first on."""


@dataclass(frozen=True)
class Bounds:
    """Mean and bounds (..., n) after each score; infinite where there are too few scores."""

    mean: Floats
    low: Floats
    high: Floats


def find_rho(alpha: float, best_at: float) -> float:
    """ρ for which the two-sided bounds are about tightest after `best_at` scores."""
    reach = -2.0 * math.log(alpha)
    return math.sqrt((reach + math.log(reach + 1.0)) / best_at)


def two_sided_width(variance: ArrayLike, n: ArrayLike, alpha: float, rho: float) -> Floats:
    """Half of the width after n scores of this variance; both bounds hold together."""
    grown = np.asarray(n, np.float64) * rho**2 + 1.0
    return _widen(variance, n, rho, np.log(np.sqrt(grown) / alpha))


def one_sided_width(variance: ArrayLike, n: ArrayLike, alpha: float, rho: float) -> Floats:
    """How far each bound lies from the mean; either of them alone holds with 1 - α."""
    grown = np.asarray(n, np.float64) * rho**2 + 1.0
    return _widen(variance, n, rho, np.log1p(np.sqrt(grown) / (2.0 * alpha)))


def _widen(variance: ArrayLike, n: ArrayLike, rho: float, log_factor: Floats) -> Floats:
    count = np.asarray(n, np.float64)
    grown = count * rho**2 + 1.0
    squared = 2.0 * grown / (count * rho) ** 2 * log_factor * np.asarray(variance, np.float64)
    return np.asarray(np.sqrt(squared))


def bound_mean(
    scores: Floats, alpha: float, best_at: float, spreads: Floats | None = None
) -> Bounds:
    """Bounds of the mean of scores after each of them; each side alone holds with 1 - α.

    Args:
        scores: (..., n) in the order in which they came.
        alpha: Error probability of each side, over all looks.
        best_at: Number of scores at which the bounds shall be tightest; set it beforehand.
        spreads: (..., n, 2) what the variance of each score would be if both arms varied like the
            one of the column. Where few units run the new policy, its rare outcomes have not been
            seen yet: the sample variance is then too small just when the mean is wrong. The largest
            of the three variances counts.
    """
    n = np.arange(1, scores.shape[-1] + 1)
    mean = np.cumsum(scores, axis=-1) / n
    variance = running_variance(scores)
    if spreads is not None:
        means = np.cumsum(spreads, axis=-2) / n[:, None]
        variance = np.maximum(variance, means.max(axis=-1))
    width = one_sided_width(variance, n, alpha, find_rho(2.0 * alpha, best_at))
    # No spread at all is no proof.
    told = (n >= LEAST_SCORES) & (variance > 0)
    width = np.where(told, width, np.inf)
    return Bounds(mean, mean - width, mean + width)


def running_variance(scores: Floats) -> Floats:
    """(..., n) sample variance after each score; zero after the first."""
    n = np.arange(1, scores.shape[-1] + 1)
    # Around the first score: sums of squares of large numbers would cancel.
    centred = scores - scores[..., :1]
    total, squares = np.cumsum(centred, axis=-1), np.cumsum(centred**2, axis=-1)
    return np.asarray(np.maximum(squares - total**2 / n, 0.0) / np.maximum(n - 1, 1))


def long_run_variance(numbers: Floats) -> float:
    """The variance of the mean of a series, times n; neighbours may depend on each other.

    By the means of about √n batches; at least the plain sample variance.
    """
    n = len(numbers)
    if n < 4:
        return math.inf
    size = max(1, int(math.sqrt(n)))
    batches = numbers[: n - n % size].reshape(-1, size).mean(axis=1)
    return max(float(np.var(numbers, ddof=1)), size * float(np.var(batches, ddof=1)))


def count_needed(
    gap: float, variance: float, alpha: float, best_at: float, most: int = 10_000_000
) -> int | None:
    """Scores after which a bound has come as near to the mean as `gap`; None if more than `most`.

    For people who wait: it takes mean and variance for what they are now.
    """
    if not (gap > 0 and 0 < variance < math.inf):
        return None
    rho = find_rho(2.0 * alpha, best_at)
    low, high = LEAST_SCORES, LEAST_SCORES
    while one_sided_width(variance, high, alpha, rho) > gap:
        low, high = high, 2 * high
        if high > most:
            return None
    while low < high:
        middle = (low + high) // 2
        if one_sided_width(variance, middle, alpha, rho) > gap:
            low = middle + 1
        else:
            high = middle
    return low
