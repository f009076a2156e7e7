"""The net gain of a candidate: paired estimates, an interval, and what it takes to turn it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True)
class Gain:
    """What a candidate would add, before and after the price of the switch.

    `differences` (K,) are value of the candidate minus value of the old policy by each of K fresh
    critics, fitted to resampled episodes; both policies are judged by the same critics, so that
    what is wrong with a critic cancels. `doubt` is further uncertainty that resampling does not
    show: how far the critics miss the old policy's own returns. `pessimistic` is a difference by
    critics that take the worst of the ensemble at every step; it counts where the candidate leaves
    the log's actions.

    Args:
        differences: (K,) paired differences of values.
        cost: The switching cost, charged once.
        cost_error: Its standard error.
        doubt: Widens the interval on both sides.
        pessimistic: Bounds the interval from below, or None where the log supports the candidate.
        scale: Calibration of the resampling spread.
    """

    differences: NDArray[np.float64]
    cost: float
    cost_error: float = 0.0
    doubt: float = 0.0
    pessimistic: float | None = None
    scale: float = 1.0

    @property
    def mean(self) -> float:
        """Net gain: mean difference minus the cost."""
        return float(np.mean(self.differences)) - self.cost

    @property
    def standard_error(self) -> float:
        """Of the net gain: spread of the resampled critics, the cost's own error."""
        n = len(self.differences)
        spread = float(np.std(self.differences, ddof=1)) if n > 1 else math.inf
        return math.hypot(self.scale * spread, self.cost_error)

    def bound(self, probability: float) -> float:
        """The value that the net gain exceeds with this probability."""
        k = len(self.differences)
        if k < 2 or not np.all(np.isfinite(self.differences)):
            return -math.inf
        place = float(stats.t.ppf(1.0 - probability, k - 1))
        # A few members estimate the centre too: √(1 + 1/K).
        bound = self.mean + place * self.standard_error * math.sqrt(1.0 + 1.0 / k)
        bound += -self.doubt if probability > 0.5 else self.doubt
        if self.pessimistic is not None and probability > 0.5:
            bound = min(bound, self.pessimistic - self.cost)
        return bound

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided interval of the net gain."""
        tail = (1.0 - confidence) / 2
        return self.bound(1.0 - tail), self.bound(tail)

    @property
    def confidence(self) -> float:
        """Probability that the net gain is positive, as far as this evidence goes."""
        k = len(self.differences)
        if k < 2 or not np.all(np.isfinite(self.differences)):
            return 0.0
        mean = self.mean
        margin = mean - math.copysign(min(self.doubt, abs(mean)), mean)
        if self.pessimistic is not None:
            margin = min(margin, self.pessimistic - self.cost)
        error = self.standard_error * math.sqrt(1.0 + 1.0 / k)
        if error == 0:
            return 1.0 if margin > 0 else 0.0
        return float(stats.t.cdf(margin / error, k - 1))

    def as_json(self, confidence: float) -> dict[str, Any]:
        """Plain numbers for a record."""
        low, high = self.interval(confidence)
        return {"mean": self.mean, "low": low, "high": high}
