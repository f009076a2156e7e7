"""The demonstration: the price of a switch on the bundled log, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacre import examples
from nacre.costs import CostBreakdown, describe_cost
from nacre.examples import Example
from nacre.pricing import find_versions, summarise_states


@dataclass(frozen=True)
class Demonstration:
    """The bundled example with its price and what both policies are worth."""

    example: Example
    breakdown: CostBreakdown
    old_value: float
    new_value: float
    seed: int

    @property
    def net_gain(self) -> float:
        """V(new) - V(old) - C."""
        return self.new_value - self.old_value - self.breakdown.total

    @property
    def break_even(self) -> float:
        """The learning weight at which the net gain would be zero."""
        left = self.new_value - self.old_value - self.breakdown.transaction
        return left / self.breakdown.learning_mass

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "cost": self.breakdown.as_json(),
            "per_state": summarise_states(self.example.cost, self.breakdown),
            "old_value": {"mean": self.old_value, "method": "exact"},
            "new_value": {"mean": self.new_value, "method": "exact"},
            "net_gain": {"mean": self.net_gain},
            "break_even": {"learning_weight": self.break_even},
            "log": {
                "sha256": self.example.log.fingerprint(),
                "transitions": self.example.log.n_transitions,
                "episodes": self.example.log.n_episodes,
            },
            "config": {"cost": describe_cost(self.example.cost)},
            "seed": self.seed,
            "versions": find_versions(),
        }

    def introduce(self) -> str:
        """What the example is about."""
        log = self.example.log
        return (
            "A motor positions a cart on a rail. The controller in force pushes weakly and "
            f"shakily; its log holds {log.n_transitions:,} transitions in {log.n_episodes:,} "
            "episodes. A firmer and calmer controller is proposed, but a push to the other side "
            "than before has to be learned by those who work beside the cart. What would the "
            "switch cost, and does it pay?\n"
        )

    def explain(self) -> str:
        """What the figures show."""
        cost, breakdown = self.example.cost, self.breakdown
        returns = self.example.log.returns(self.example.world.discount)
        error = returns.std(ddof=1) / math.sqrt(len(returns))
        return (
            f"\nIn the states of the log at least {breakdown.learning_mass:.0%} of the pushes have "
            "to change sides between the old controller and the new one: they are learned at "
            f"{cost.learning_weight:g} a unit. The other {breakdown.transaction_mass:.0%} keep "
            f"their side and are only adjusted, at {cost.transaction_weight:g} a unit. Together "
            f"the switch costs {breakdown.total:.3g}.\n\n"
            f"The old controller is worth {self.old_value:.3g} (its logged returns say "
            f"{returns.mean():.3g} ± {error:.2g}), the new one {self.new_value:.3g}. In this small "
            "world both values are known in closed form.\n\n"
            f"So the switch gains {self.new_value - self.old_value:.3g} and, after its cost, "
            f"{self.net_gain:.3g}: it {'pays' if self.net_gain > 0 else 'does not pay'}. The "
            f"answer would turn at a learning weight of {self.break_even:.3g}.\n"
        )

    def suggest(self) -> str:
        """A command to try next, on lines of its own."""
        return (
            "To price the switch at weights of your own, edit a copy of cost.toml:\n"
            f"  cd {examples.find_directory()}\n"
            "  nacre cost --log log.parquet --policy old.safetensors "
            "--new-policy new.safetensors --cost cost.toml"
        )


def run_demo(seed: int) -> Demonstration:
    """Load the bundled example and price its switch."""
    example = examples.load()
    old, new = example.old_policy, example.new_policy
    return Demonstration(
        example=example,
        breakdown=example.cost.evaluate(old, new, example.log, seed=seed),
        old_value=example.value(old),
        new_value=example.value(new),
        seed=seed,
    )
