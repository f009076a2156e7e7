"""At which price of switching the answer would turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nacre.decision.gain import Gain


@dataclass(frozen=True)
class Price:
    """A switching cost that is linear in its two weights: c_l · learning + c_t · transaction.

    Args:
        learning_weight: c_l.
        transaction_weight: c_t.
        learning_mass: L, mass moved between groups.
        transaction_mass: T, mass rearranged within them.
    """

    learning_weight: float
    transaction_weight: float
    learning_mass: float
    transaction_mass: float

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

    None where a weight moves no mass, so that no price of it could turn the answer.
    """

    learning_weight: float | None
    transaction_weight: float | None
    expected_learning_weight: float | None
    expected_transaction_weight: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record."""
        return dataclasses.asdict(self)


def find_break_even(gain: Gain, price: Price, confidence: float) -> BreakEven:
    """Prices at which `switch` would no longer be the verdict, and at which nothing is gained."""
    spare = gain.bound(confidence)
    return BreakEven(
        _turning(price.learning_weight, spare, price.learning_mass),
        _turning(price.transaction_weight, spare, price.transaction_mass),
        _turning(price.learning_weight, gain.mean, price.learning_mass),
        _turning(price.transaction_weight, gain.mean, price.transaction_mass),
    )


def reprice(gain: Gain, price: Price, learning_weight: float, transaction_weight: float) -> Gain:
    """The same evidence at another price."""
    total = price.at(learning_weight, transaction_weight)
    scale = total / price.total if price.total else 1.0
    return dataclasses.replace(gain, cost=total, cost_error=gain.cost_error * scale)


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


def _turning(weight: float, spare: float, mass: float) -> float | None:
    """The weight at which a spare gain is used up; never below zero."""
    if mass <= 0 or spare == float("-inf"):
        return None
    return max(0.0, weight + spare / mass)
