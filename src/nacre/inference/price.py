"""What a switch costs, as far as it is linear in its two weights, and how well that is known."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import SwitchingCost
from nacre.costs.statewise import Transport
from nacre.logs import Log
from nacre.policies.policy import Policy

LEAST_MASS = 1e-9
"""Less than this, as a mass or as a cost, is rounding."""


@dataclass(frozen=True)
class Price:
    """A switching cost: fixed + c_l · learning + c_t · transaction.

    Args:
        learning_weight: c_l.
        transaction_weight: c_t.
        learning_mass: What one unit of c_l adds to the cost: for the transport cost L, the mass
            moved between groups.
        transaction_mass: What one unit of c_t adds: T, the mass rearranged within them.
        fixed: All of the cost where it is not linear in its weights; else nothing.
        error: Standard error of the cost at these weights.
    """

    learning_weight: float
    transaction_weight: float
    learning_mass: float
    transaction_mass: float
    fixed: float = 0.0
    error: float = 0.0

    @property
    def total(self) -> float:
        """The cost at these weights."""
        return self.at(self.learning_weight, self.transaction_weight)

    @property
    def relative_error(self) -> float:
        """The error as a share of the cost: it grows with the weights."""
        return self.error / self.total if self.total >= LEAST_MASS else 0.0

    @property
    def fixed_error(self) -> float:
        """The error of a cost of nothing, which has no share: it stays whatever the weights."""
        return 0.0 if self.total >= LEAST_MASS else self.error

    def at(self, learning_weight: float, transaction_weight: float) -> float:
        """The cost at other weights."""
        linear = learning_weight * self.learning_mass + transaction_weight * self.transaction_mass
        return self.fixed + linear


def find_price(
    cost: SwitchingCost,
    breakdown: CostBreakdown,
    old_policy: Policy,
    new_policy: Policy,
    log: Log,
    *,
    uncertainty: float = 0.0,
    seed: int = 0,
) -> Price:
    """What one unit of each weight adds to a cost, and how far the cost may be off.

    Args:
        cost: The switching cost.
        breakdown: What it says of the two policies.
        old_policy: The policy in force.
        new_policy: The one proposed.
        log: The log, where the state measure asks for it.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions. It may
            then move between groups instead of within them.
        seed: The seed of the breakdown.
    """
    learning, transaction = breakdown.learning_mass, breakdown.transaction_mass
    fixed = 0.0
    if cost.link not in ("identity", "times_states"):
        learning, transaction, fixed = 0.0, 0.0, breakdown.total
    elif cost.link != "identity" or not isinstance(cost.statewise, Transport):
        # Ground costs and links make other units of it than moved mass.
        unit = dataclasses.replace(cost, learning_weight=1.0, transaction_weight=1.0)
        parts = unit.evaluate(old_policy, new_policy, log, seed=seed)
        plain = parts.learning + parts.transaction
        factor = parts.total / plain if plain else 1.0
        learning, transaction = factor * parts.learning, factor * parts.transaction
    moved = breakdown.learning_mass
    scale = learning / moved if moved >= LEAST_MASS else 1.0
    learning_error, transaction_error = cost.weight_errors
    error = math.hypot(
        breakdown.standard_error if math.isfinite(breakdown.standard_error) else breakdown.total,
        learning_error * learning,
        transaction_error * transaction,
        uncertainty * max(0.0, cost.learning_weight - cost.transaction_weight) * scale,
    )
    return Price(cost.learning_weight, cost.transaction_weight, learning, transaction, fixed, error)
