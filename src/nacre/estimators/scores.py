"""Scores of weighted episodes: where weights are clipped, and how far their mean can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nacre.estimators.policy_ratios import PolicyRatios

Floats = NDArray[np.float64]

LIMITS = (*(2.0 ** (np.arange(2, 29) / 2.0)), math.inf)
"""Clipping limits that are tried: from 2 to 2¹⁴, and none."""
LEVEL = 0.95
"""One-sided level at which limits are compared."""
LEAST_DEGREES = 4.0
"""Degrees of freedom that are left to the wildest scores."""


@dataclass(frozen=True)
class Scores:
    """A gain episode by episode: mean(values) is the gain.

    Args:
        values: (n,) contexts · (baselines + (ratios - old_ratios) residuals).
        ratios: (n,) weights ρ, clipped and normalised where they had to be.
        residuals: (n,) r - m(x, a).
        baselines: (n,) m(x, π_new) minus the old policy's side.
        contexts: (n,) weight of each context, one where the next episode starts as the log's do.
        limit: Where weights are clipped; infinite if nowhere.
        outside: Share of the candidate's mass that is left to the model.
        mean_square: Of ratios - old_ratios over episodes, whether or not the log met the largest.
        probabilities: (n,) π_b(a|x) of the actions taken; zero for densities.
        old_ratios: (n,) weights of the old policy; one where it alone made the log.
    """

    values: Floats
    ratios: Floats
    residuals: Floats
    baselines: Floats
    contexts: Floats
    limit: float
    outside: float
    mean_square: float
    probabilities: Floats
    old_ratios: Floats | float = 1.0

    def split(self) -> tuple[Floats, Floats, Floats]:
        """Ratios ρ, outcomes e and baselines b (n,) with a gain of mean(b) + Σ ρ e / Σ ρ.

        The self-normalised form of the same gain, for an analysis of its sensitivity.
        """
        baselines = self.contexts * (self.baselines - self.old_ratios * self.residuals)
        return self.contexts * self.ratios, self.residuals, baselines


def choose_limit(
    ratios: PolicyRatios, contexts: Floats, residuals: Floats, reach: float, unseen_events: float
) -> tuple[float, float]:
    """Clipping limit of the shortest interval, and the share of mass beyond it.

    Without a look at the sign of anything: t · the error that weights and residuals would give if
    they did not meet, plus the mass beyond the limit times the range of rewards.

    Args:
        ratios: The candidate against the old policy.
        contexts: (n,) weights of the contexts.
        residuals: (n,) r - m(x, a).
        reach: Range of the log's rewards.
        unseen_events: As in `find_spread`.
    """
    best = math.inf, math.inf, 1.0
    for limit in LIMITS:
        shifts = contexts * ratios.shift(limit)
        outside = float(np.average(ratios.excess(limit), weights=contexts))
        square = mean_square(ratios, contexts, limit)
        variance = _independent_variance(square, residuals, reach, unseen_events)
        fourth = float(np.mean(shifts**4) * np.mean(residuals**4))
        quantile = float(special.stdtrit(_degrees(len(shifts), variance, fourth), LEVEL))
        width = quantile * math.sqrt(variance / len(shifts)) + outside * reach
        if width < best[0] * (1.0 - 1e-12):
            best = width, limit, outside
    # A limit that no weight reaches and no mass exceeds is none.
    plain = best[1] >= float(ratios.ratios.max()) and best[2] <= 0.0
    return (math.inf if plain else best[1]), best[2]


def mean_square(ratios: PolicyRatios, contexts: Floats, limit: float) -> float:
    """Mean of (ρ - ρ_old)², weights clipped: that of the log or of the policies, the larger one.

    Weights that the log happened not to meet are in the second.
    """
    shifts = contexts * ratios.shift(limit)
    expected = contexts**2 @ ratios.second_moment(limit) / len(contexts)
    return max(float(np.mean(shifts**2)), float(expected))


def find_spread(scores: Scores, reach: float, unseen_events: float) -> tuple[float, float]:
    """Standard error of the mean score and its degrees of freedom.

    The variance is the larger of that of the scores and that which they would have if weights and
    residuals did not meet: scores alone are too sure where few rare events carry them. Degrees of
    freedom follow from the kurtosis κ of the scores: 2 n / (κ - 1).

    Args:
        scores: The scores.
        reach: Range of the log's rewards.
        unseen_events: Extreme rewards that are added to those of the log.
    """
    n = len(scores.values)
    centred = scores.values - scores.values.mean()
    own = float(np.sum(centred**2)) / (n - 1)
    shifts = scores.contexts * (scores.ratios - scores.old_ratios)
    square = max(scores.mean_square, float(np.mean(shifts**2)))
    independent = _independent_variance(square, scores.residuals, reach, unseen_events)
    independent += float(np.var(scores.contexts * scores.baselines))
    degrees = _degrees(n, own, float(np.mean(centred**4)))
    return math.sqrt(max(own, independent) / n), degrees


def count_effective(weights: Floats) -> float:
    """Effective number of episodes: (Σ w)² / Σ w², and no more than Σ w itself.

    The second keeps weights that all vanish from looking even.
    """
    total = float(weights.sum())
    return min(total, total**2 / float(np.sum(weights**2))) if total > 0 else 0.0


def _independent_variance(
    square: float, residuals: Floats, reach: float, unseen_events: float
) -> float:
    """Mean of (ρ - ρ_old)² times mean of e²: rare events count wherever in the log they fell."""
    events = unseen_events * reach**2 / len(residuals)
    return square * (float(np.mean(residuals**2)) + events)


def _degrees(n: int, variance: float, fourth: float) -> float:
    """2 n / (κ - 1), which is about n for normal scores."""
    if variance <= 0.0:
        return float(n - 1)
    kurtosis = fourth / variance**2
    return float(np.clip(2.0 * n / max(kurtosis - 1.0, 1e-9), LEAST_DEGREES, n - 1))
