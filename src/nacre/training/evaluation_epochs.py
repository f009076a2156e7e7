"""Epochs of fitted evaluation (Algorithm 2, lines 2 to 5), as the loop runs them."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.policies.policy import Policy
from nacre.training.backup import (
    CriticConfig,
    CriticInfo,
    CriticState,
    Form,
    bootstrap_targets,
    next_state_values,
    step_critics,
)
from nacre.training.batches import Batch, Drawable, Rows
from nacre.training.loop import is_finite, within_bounds


class EvaluationEpoch(eqx.Module):
    """Lines 2 to 5 of Algorithm 2, over and over.

    Attributes:
        critics: How critics are fitted.
        policy: Whose value is fitted; None where the rows tell what it does.
        discount: γ.
        largest: Mean |Q| beyond which the critics have exploded.
        limits: Least and largest value that the rewards allow; targets are kept within. None to
            leave them as they are.
        pessimistic: Whether targets are the minimum over members, instead of what `critics` says;
            None to leave it to `critics`.
        switching_cost: C of the policy, for critics of the net form; None to keep Q and C apart.
    """

    critics: CriticConfig = eqx.field(static=True)
    policy: Policy | None
    discount: float
    largest: Float[Array, ""]
    limits: Float[Array, "2"] | None = None
    pessimistic: Bool[Array, ""] | None = None
    switching_cost: Float[Array, ""] | None = None

    @classmethod
    def of(
        cls,
        critics: CriticConfig,
        policy: Policy | None,
        discount: float,
        largest: float,
        limits: tuple[float, float] | None = None,
        switching_cost: float | None = None,
    ) -> EvaluationEpoch:
        """The program for this configuration.

        Pessimistic backups and each member's own are told apart at run time, so that an advice that
        asks for both compiles once.
        """
        bound = jnp.asarray(largest, float)
        within = None if limits is None else jnp.asarray(limits, float)
        cost = None if switching_cost is None else jnp.asarray(switching_cost, float)
        if critics.backup == "mean":
            return cls(critics, policy, discount, bound, within, switching_cost=cost)
        pessimistic = jnp.asarray(critics.backup == "min")
        held = dataclasses.replace(critics, backup="own")
        return cls(held, policy, discount, bound, within, pessimistic, cost)

    def draw(self, rows: Drawable, key: PRNGKeyArray) -> Batch:
        """The rows of the step with this key."""
        return rows.sample(jax.random.split(key)[0], self.critics.batch_size)

    def step(
        self, rows: Rows, key: PRNGKeyArray, state: CriticState
    ) -> tuple[CriticState, CriticInfo]:
        """Lines 2 to 5, once."""
        batch = self.draw(rows, key)
        noise_key = jax.random.split(key)[1]
        values = next_state_values(
            self.critics, state.target, self.policy, batch, noise_key, self.pessimistic
        )
        cost = 0.0 if self.switching_cost is None else self.switching_cost
        form: Form = "apart" if self.switching_cost is None else "net"
        targets = bootstrap_targets(
            batch.rewards, batch.terminated, values, self.discount, cost, form
        )
        if self.limits is not None:
            targets = jnp.clip(targets, self.limits[0] - cost, self.limits[1] - cost)
        return step_critics(self.critics, state, batch, targets)

    def empty_info(self) -> CriticInfo:
        """An info of zeros."""
        return CriticInfo(*[jnp.zeros(())] * 3)

    def is_healthy(self, info: CriticInfo) -> Bool[Array, ""]:
        """Whether nothing is infinite or has exploded."""
        return within_bounds(info.loss, info.q, self.largest)

    def finish(
        self, state: CriticState, info: CriticInfo, key: PRNGKeyArray
    ) -> tuple[CriticInfo, Bool[Array, ""]]:
        """Look at the last update, which has had no step after it to show what it did."""
        return info, is_finite(state)
