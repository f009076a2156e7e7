"""At which cost of switching the answer would change."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nacre.inference.evidence import Evidence
from nacre.inference.intervals import find_centre, find_hull, find_quantile
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


def find_limits(evidence: Evidence, level: float) -> Limits:
    """The costs at which low, net gain and high reach zero.

    low = gain_low - cost · (1 + t·e), with e the relative error of the cost.
    """
    low, high = find_hull(evidence.estimates, level)
    error = find_quantile(level) * evidence.price.relative_error
    possible = high / (1.0 - error) if error < 1.0 else math.inf
    return Limits(low / (1.0 + error), find_centre(evidence.estimates), possible)


def find_break_even(evidence: Evidence, level: float) -> BreakEven:
    """Weights at which `switch` would no longer be proven, and at which nothing is gained."""
    price, limits = evidence.price, find_limits(evidence, level)
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
