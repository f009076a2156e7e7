"""Costs of a sequence of policies: what K - 1 switches cost one after the other.

For the local and the global cost these are equations "global-cost" and "local-and-global-cost".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import ArrayLike

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.policy import Policy


@dataclass(frozen=True, eq=False)
class SequenceCost:
    """What a sequence of policies costs.

    Args:
        switches: C(π_k, π_{k+1}) for k = 1, …, K - 1, taken apart; None where the policy is kept,
            which costs nothing.
    """

    switches: tuple[CostBreakdown | None, ...]

    @property
    def costs(self) -> tuple[float, ...]:
        """The cost of each step from one policy to the next."""
        return tuple(0.0 if one is None else one.total for one in self.switches)

    @property
    def total(self) -> float:
        """Their sum."""
        return sum(self.costs)


def evaluate_sequence(
    cost: SwitchingCost,
    policies: Sequence[Policy],
    log: Log | ArrayLike | None = None,
    *,
    seed: int = 0,
) -> SequenceCost:
    """Σ_k C(π_k, π_{k+1}) over a sequence of K policies.

    Args:
        cost: The cost of one switch.
        policies: π_1, …, π_K. A policy that follows itself, the same object, is kept.
        log: The log, or an array of states, where the state measure asks for it.
        seed: Seed of the state and action samples, where the cost needs any.
    """
    if isinstance(policies, Policy) or len(policies) == 0:
        raise InputError("a sequence of policies has one at least; give a list, such as [first]")
    return SequenceCost(
        tuple(
            None if old is new else cost.evaluate(old, new, log, seed=seed)
            for old, new in pairwise(policies)
        )
    )
