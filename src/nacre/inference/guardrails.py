"""Whether a guardrail holds: bounds of what is left of what a further outcome may lose.

With G the outcome's gain over the old policy, counted so that more is better, and A what it may get
worse by, the guardrail holds where G + A > 0. A is `worst`, or `worst` times the old policy's value
of the outcome. That value is itself known between bounds only: then a tenth of the error is its
own, and the rest the gain's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import optimize

from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.estimators.base import Estimate
from nacre.inference.intervals import (
    LARGEST_ERROR,
    LEAST_ERROR,
    find_centre,
    find_hull,
    find_quantile,
)

OLD_SHARE = 0.1
"""Of the error that may be made with a relative guardrail, for the old policy's value."""


@dataclass(frozen=True)
class GuardrailEvidence:
    """What is known of one guardrail and one finalist.

    Args:
        terms: Column, and how much worse it may get.
        estimates: Of the outcome's gain, more is better, each less what lies outside of the log.
        old_mean: The outcome under the old policy, in its own sign; NaN where it is not known.
        old_error: Its standard error; infinite where it is not known.
    """

    terms: GuardrailTerms
    estimates: tuple[Estimate, ...]
    old_mean: float = math.nan
    old_error: float = math.inf

    def gain_bounds(self, level: float) -> tuple[float, float]:
        """Bounds of the outcome's gain, each at the part of the level that is its own."""
        share = 1.0 - OLD_SHARE if self.terms.relative else 1.0
        return find_hull(self.estimates, 1.0 - share * (1.0 - level))

    def allowed(self, level: float) -> tuple[float, float]:
        """Bounds of what the outcome may get worse by; the same number twice if not relative.

        A share of nothing, or of less than nothing, allows nothing.
        """
        worst = self.terms.worst
        if not self.terms.relative or worst == 0.0:
            return worst, worst
        if not math.isfinite(self.old_mean + self.old_error):
            return 0.0, math.inf
        reach = find_quantile(1.0 - OLD_SHARE * (1.0 - level)) * self.old_error
        return worst * max(0.0, self.old_mean - reach), worst * max(0.0, self.old_mean + reach)

    def bounds(self, level: float) -> tuple[float, float]:
        """Bounds of what is left, each at this one-sided level: it holds above zero."""
        low, high = self.gain_bounds(level)
        least, most = self.allowed(level)
        return low + least, high + most

    @property
    def gain(self) -> float:
        """The outcome's gain in one number."""
        return find_centre(self.estimates)

    def find_probability(self, share: float) -> float:
        """The confidence at which the lower bound is just zero; one half where none is.

        Args:
            share: A bound at level 1 - e·share belongs to a decision with confidence 1 - e.
        """
        return 1.0 - _find_error(lambda error: self.bounds(1.0 - share * error)[0])


def _find_error(low: Callable[[float], float]) -> float:
    """The error at which a lower bound, which rises with it, is zero."""
    if not low(LARGEST_ERROR) > 0:
        return LARGEST_ERROR
    if low(LEAST_ERROR) > 0:
        return LEAST_ERROR
    return float(optimize.brentq(low, LEAST_ERROR, LARGEST_ERROR))
