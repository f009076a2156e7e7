"""At which cost of switching the answer would change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nacre.inference.evidence import Evidence
from nacre.inference.intervals import find_centre, find_quantile
from nacre.inference.price import LEAST_MASS


@dataclass(frozen=True)
class BreakEven:
    """Weights at which the lower bound and the net gain itself reach zero, the other weight kept.

    Zero where not even a free switch would do. None where a weight moves no mass, so that no weight
    could change the answer, and where the gain is not known.
    """

    learning_weight: float | None
    expected_learning_weight: float | None
    transaction_weight: float | None
    expected_transaction_weight: float | None


@dataclass(frozen=True)
class Limits:
    """Costs at which a finalist's answer changes.

    Bounds are linear in the cost, as the cost's error grows with it: a switch is proven below
    `proven`, a gain is expected below `expected`, and none is possible above `possible`.
    """

    proven: float
    expected: float
    possible: float


@dataclass(frozen=True)
class NetGainLine:
    """The net gain of a finalist at any cost: a straight line, and so are its bounds.

        low  = gain_low  - cost - (error_share · cost + error_fixed)
        high = gain_high - cost + (error_share · cost + error_fixed)

    A gain that is not known is NaN, bounds that are not are infinite.

    Args:
        gain: In one number, before the cost.
        gain_low: Its lower bound.
        gain_high: Its upper bound.
        error_share: What a bound allows for the cost's error, as a share of the cost.
        error_fixed: What it allows whatever the cost, where today's is nothing.
        held: Whether all guardrails are proven to hold.
        broken: Whether one is proven not to.
    """

    gain: float
    gain_low: float
    gain_high: float
    error_share: float
    error_fixed: float
    held: bool = field(default=True, kw_only=True)
    broken: bool = field(default=False, kw_only=True)

    def bounds_at(self, cost: float) -> tuple[float, float, float]:
        """Net gain at this cost: in one number, its lower and its upper bound."""
        error = self.error_share * cost + self.error_fixed
        return self.gain - cost, self.gain_low - cost - error, self.gain_high - cost + error

    @property
    def limits(self) -> Limits:
        """Costs at which low, net gain and high reach zero.

        Where the cost's error exceeds the cost itself, no cost rules a gain out. Where a guardrail
        is not proven, not even a free switch is; where one is broken, none is possible.
        """
        proven = (self.gain_low - self.error_fixed) / (1.0 + self.error_share)
        possible = math.inf
        if self.error_share < 1.0:
            possible = (self.gain_high + self.error_fixed) / (1.0 - self.error_share)
        expected = -math.inf if math.isnan(self.gain) else self.gain
        if self.broken:
            return Limits(min(proven, 0.0), min(expected, 0.0), min(possible, 0.0))
        return Limits(proven if self.held else min(proven, 0.0), expected, possible)


def draw_line(evidence: Evidence, level: float) -> NetGainLine:
    """The line of a finalist, with bounds at a one-sided level.

    At today's cost the bounds are those of `Evidence.bounds`. Where the cost's error is not known,
    nothing is proven and nothing ruled out.
    """
    low, high = evidence.gain_bounds(level)
    price, quantile = evidence.price, find_quantile(level)
    share, fixed = quantile * price.relative_error, quantile * price.fixed_error
    if not math.isfinite(share + fixed):
        low, high, share, fixed = -math.inf, math.inf, 0.0, 0.0
    return NetGainLine(
        find_centre(evidence.estimates),
        low,
        high,
        share,
        fixed,
        held=not evidence.find_unproven(level),
        broken=bool(evidence.find_broken(level)),
    )


def find_break_even(evidence: Evidence, level: float) -> BreakEven:
    """Weights at which `switch` would no longer be proven, and at which nothing is gained."""
    price, limits = evidence.price, draw_line(evidence, level).limits
    found = []
    for mass, rest in (
        (price.learning_mass, price.at(0.0, price.transaction_weight)),
        (price.transaction_mass, price.at(price.learning_weight, 0.0)),
    ):
        found += [find_end(limit - rest, mass) for limit in (limits.proven, limits.expected)]
    return BreakEven(*found)


def find_end(spare: float, mass: float) -> float | None:
    """The weight at which what is to spare is used up; None where the weight moves nothing."""
    if not (mass >= LEAST_MASS and math.isfinite(spare)):
        return None
    return max(0.0, spare / mass)
