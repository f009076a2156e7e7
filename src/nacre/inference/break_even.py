"""At which price of switching the answer would turn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import optimize

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import SwitchingCost
from nacre.costs.statewise import Transport
from nacre.inference.gain import Gain
from nacre.logs import Log
from nacre.policies.policy import Policy

LEAST_MASS = 1e-9
"""Less than this, as a mass or as a price, is rounding."""


@dataclass(frozen=True)
class Price:
    """A switching cost that is linear in its two weights: c_l · learning + c_t · transaction.

    Args:
        learning_weight: c_l.
        transaction_weight: c_t.
        learning_mass: What one unit of c_l adds to the cost: for the transport cost L, the mass
            moved between groups.
        transaction_mass: What one unit of c_t adds: T, the mass rearranged within them.
    """

    learning_weight: float
    transaction_weight: float
    learning_mass: float
    transaction_mass: float

    def error(self, weight_errors: tuple[float, float]) -> float:
        """What uncertain weights add to the error of the cost; they err on their own."""
        learning, transaction = weight_errors
        return math.hypot(learning * self.learning_mass, transaction * self.transaction_mass)

    def shift(self, share: float, moved: float) -> float:
        """How far the cost may be off if a share of the old policy's probability is misplaced.

        That share may then move between groups instead of within them. Where the cost counts other
        units than mass, they are scaled as they are for the mass that moves.
        """
        unit = self.learning_mass / moved if moved >= LEAST_MASS else 1.0
        return share * max(0.0, self.learning_weight - self.transaction_weight) * unit

    @property
    def total(self) -> float:
        """The cost at these weights."""
        return self.at(self.learning_weight, self.transaction_weight)

    def at(self, learning_weight: float, transaction_weight: float) -> float:
        """The cost at other weights."""
        learning = learning_weight * self.learning_mass
        return learning + transaction_weight * self.transaction_mass


@dataclass(frozen=True)
class BreakEven:
    """Weights at which the lower bound and the expected net gain reach zero, the other weight kept.

    Zero where not even a free switch would do. None where a weight moves no mass, so that no price
    of it could turn the answer, and where the gain is not known.
    """

    learning_weight: float | None
    expected_learning_weight: float | None
    transaction_weight: float | None
    expected_transaction_weight: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record."""
        return dataclasses.asdict(self)


def find_price(
    cost: SwitchingCost,
    breakdown: CostBreakdown,
    old_policy: Policy,
    new_policy: Policy,
    log: Log,
    *,
    seed: int = 0,
) -> Price:
    """What one unit of each weight adds to a cost; nothing where the cost is not linear in it.

    Args:
        cost: The switching cost.
        breakdown: What it says of the two policies.
        old_policy: The policy in force.
        new_policy: The one proposed.
        log: The log, where the state measure asks for it.
        seed: The seed of the breakdown.
    """
    learning, transaction = breakdown.learning_mass, breakdown.transaction_mass
    if cost.link not in ("identity", "times_states"):
        learning = transaction = 0.0
    elif cost.link != "identity" or not isinstance(cost.statewise, Transport):
        # Ground costs and links make other units of it than moved mass.
        unit = dataclasses.replace(cost, learning_weight=1.0, transaction_weight=1.0)
        parts = unit.evaluate(old_policy, new_policy, log, seed=seed)
        plain = parts.learning + parts.transaction
        factor = parts.total / plain if plain else 1.0
        learning, transaction = factor * parts.learning, factor * parts.transaction
    return Price(cost.learning_weight, cost.transaction_weight, learning, transaction)


def find_break_even(gain: Gain, price: Price, confidence: float) -> BreakEven:
    """Prices at which `switch` would no longer be the verdict, and at which nothing is gained."""
    learning, transaction = price.learning_weight, price.transaction_weight
    return BreakEven(
        *_turn(lambda w: reprice(gain, price, w, transaction), price.learning_mass, confidence),
        *_turn(lambda w: reprice(gain, price, learning, w), price.transaction_mass, confidence),
    )


def reprice(gain: Gain, price: Price, learning_weight: float, transaction_weight: float) -> Gain:
    """The same evidence at another price; the cost's error grows with the cost."""
    total = price.at(learning_weight, transaction_weight)
    scale = total / price.total if price.total >= LEAST_MASS else 1.0
    cost = gain.cost + (total - price.total)
    return dataclasses.replace(gain, cost=cost, cost_error=gain.cost_error * scale)


def draw_grid(
    gain: Gain,
    price: Price,
    confidence: float,
    learning_weights: Sequence[float],
    transaction_weights: Sequence[float],
) -> list[list[float]]:
    """Lower bounds of the net gain, a row for each learning weight."""
    return [
        [
            reprice(gain, price, learning, transaction).bound(confidence)
            for transaction in transaction_weights
        ]
        for learning in learning_weights
    ]


def _turn(
    at: Callable[[float], Gain], mass: float, confidence: float
) -> tuple[float | None, float | None]:
    """Weights at which the lower bound and the mean reach zero; `at` reprices the gain."""
    free = at(0.0)
    if not (mass >= LEAST_MASS and free.sound):
        return None, None
    expected = max(0.0, free.mean / mass)
    if free.bound(confidence) <= 0:
        return 0.0, expected
    # The bound is never above the mean, but for rounding, so that it is used up before the mean.
    if at(expected).bound(confidence) >= 0:
        return expected, expected
    proven = optimize.brentq(lambda weight: at(weight).bound(confidence), 0.0, expected)
    return float(proven), expected
