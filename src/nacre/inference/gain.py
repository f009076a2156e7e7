"""The net gain of a candidate: paired estimates, an interval, and what it takes to turn it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special


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
    def sound(self) -> bool:
        """Whether there are members enough for a spread, and nothing is NaN or infinite."""
        numbers = [self.cost, self.cost_error, self.doubt, self.pessimistic or 0.0, self.scale]
        return len(self.differences) > 1 and bool(
            np.all(np.isfinite([*self.differences, *numbers]))
        )

    @property
    def mean(self) -> float:
        """Net gain: mean difference minus the cost."""
        return float(np.mean(self.differences)) - self.cost

    @property
    def spread(self) -> float:
        """Standard deviation of the resampled critics' differences, calibrated."""
        if len(self.differences) < 2:
            return math.inf
        return self.scale * float(np.std(self.differences, ddof=1))

    @property
    def standard_error(self) -> float:
        """Of the net gain: spread of the resampled critics, the cost's own error."""
        return math.hypot(self.spread, self.cost_error)

    def quantile(self, probability: float) -> float:
        """How many standard errors below its centre a gain is exceeded with this probability.

        By Student's t; a few members estimate the centre too: √(1 + 1/K).
        """
        k = len(self.differences)
        return -float(special.stdtrit(k - 1, 1.0 - probability)) * math.sqrt(1.0 + 1.0 / k)

    def bound(self, probability: float) -> float:
        """The value that the net gain exceeds with this probability; infinite if not sound."""
        lower = probability > 0.5
        if not self.sound:
            return -math.inf if lower else math.inf
        bound = self.mean - self.quantile(probability) * self.standard_error
        bound += -self.doubt if lower else self.doubt
        if self.pessimistic is not None and lower:
            bound = min(bound, self.pessimistic - self.cost)
        return bound

    def is_within_reach(self, confidence: float) -> bool:
        """Whether the bound would be above zero were the spread as small as chance allows.

        The spread of K members is itself an estimate: with this confidence the true one is larger
        than √((K-1) / χ²) of it, χ² the quantile for K-1 degrees of freedom.
        """
        if not self.sound:
            return False
        degrees = len(self.differences) - 1
        smallest = math.sqrt(degrees / special.chdtri(degrees, 1.0 - confidence))
        lucky = dataclasses.replace(self, scale=self.scale * smallest)
        return lucky.bound(confidence) > 0

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided interval of the net gain."""
        tail = (1.0 - confidence) / 2
        return self.bound(1.0 - tail), self.bound(tail)

    @property
    def confidence(self) -> float:
        """Probability that the net gain is positive, as far as this evidence goes.

        It is above a probability (of more than a half) exactly if the bound at that is above zero.
        """
        if not self.sound:
            return 0.0
        mean = self.mean
        margin = mean - math.copysign(min(self.doubt, abs(mean)), mean)
        if self.pessimistic is not None and self.pessimistic <= self.cost:
            margin = min(margin, self.pessimistic - self.cost)
        k = len(self.differences)
        error = self.standard_error * math.sqrt(1.0 + 1.0 / k)
        if error == 0:
            return 1.0 if margin > 0 else 0.0
        return float(special.stdtr(k - 1, margin / error))
