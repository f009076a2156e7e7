"""Costs of whole policies: C(π_o, π_n) as any function of the two.

The family compares action distributions state by state. A cost that asks whether a policy does the
same in every state, or whether it is deterministic, is no average of such comparisons.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import SwitchingCost
from nacre.costs.statewise import Comparison, Difference
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy

PolicyFunction: TypeAlias = Callable[[Policy, Policy], Any]


@dataclass(frozen=True)
class Changes(Difference):
    """Where two policies differ; policies of different forms differ everywhere."""

    def compare(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None = None,
    ) -> Comparison:
        """1 where the distributions differ."""
        try:
            return super().compare(old, new, key, states)
        except InputError:
            shape = jnp.broadcast_shapes(old.batch_shape, new.batch_shape)
            flows = jnp.broadcast_to(jnp.array([[0.0, 1.0], [0.0, 0.0]]), (*shape, 2, 2))
            return Comparison(jnp.ones(shape), jnp.zeros(shape), flows)


def _charge_nothing(old: Policy, new: Policy) -> float:
    return 0.0


@dataclass(frozen=True)
class WholePolicyCost(SwitchingCost):
    """`learning_weight` times a function of the old and the new policy; made by `PolicyCost`.

    The states serve for display only: they tell how many of them change.

    Args:
        function: From the old and the new policy to a number that is not negative. Written in
            jax.numpy it can be learned against by gradient.
    """

    function: PolicyFunction = _charge_nothing

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise InputError(
                f"{self.function!r:.60} is no function; give one of the old and the new policy"
            )

    def at(
        self,
        old_policy: Policy,
        new_policy: Policy,
        states: Array,
        key: PRNGKeyArray,
        weights: Float[Array, " n"] | None = None,
        prices: Float[Array, "2"] | None = None,
    ) -> Float[Array, ""]:
        """The function's value, whatever the states."""
        price = self.learning_weight if prices is None else prices[0]
        return price * jnp.asarray(self.function(old_policy, new_policy), float)

    def untraceable(self, old_policy: Policy) -> str:
        """Why learners cannot follow the cost's gradient, or nothing."""
        try:
            eqx.filter_eval_shape(self.function, old_policy, old_policy)
        except Exception:
            return "the cost is a function of whole policies that is not written in jax.numpy"
        return ""

    def price(self, old_policy: Policy, new_policy: Policy) -> float:
        """C of two policies; `InputError` if the function gives no price."""
        try:
            value = float(self.function(old_policy, new_policy))
        except Exception as error:
            raise InputError(
                f"the cost function failed for a {type(old_policy).__name__} and a "
                f"{type(new_policy).__name__}: {error}; it should ask policies by policy(states) "
                "and give a number"
            ) from error
        if not (math.isfinite(value) and value >= 0):
            raise InputError(
                f"the cost function gives {value}: a price must be finite and not negative"
            )
        return self.learning_weight * value

    def evaluate(
        self,
        old_policy: Policy,
        new_policy: Policy,
        log: Log | ArrayLike | None = None,
        *,
        seed: int = 0,
    ) -> CostBreakdown:
        """The function's value, and the share of states that change."""
        total = self.price(old_policy, new_policy)
        changes = super().evaluate(old_policy, new_policy, log, seed=seed)
        changed = float(np.sum(changes.per_state))
        spread = changes.per_state * (total * changes.n_states / changed if changed else 0.0)
        return dataclasses.replace(
            changes,
            total=total,
            learning=total,
            transaction=0.0,
            per_state=spread,
            standard_error=0.0,
        )
