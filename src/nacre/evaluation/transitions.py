"""A log as arrays on the device, and mini-batches of it."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.log import Log


class Batch(eqx.Module):
    """Rows (s, a, r, s', terminated) and how much each state counts for the actor."""

    observations: Array
    actions: Array
    rewards: Float[Array, " rows"]
    next_observations: Array
    terminated: Float[Array, " rows"]
    weights: Float[Array, " rows"]


class Transitions(eqx.Module):
    """A whole log, ready to be sampled from inside a compiled loop.

    Truncation needs no flag here: the step after it is bootstrapped like any other. Termination is
    kept as 0 or 1: nothing is bootstrapped after it.
    """

    rows: Batch

    @classmethod
    def from_log(cls, log: Log, *, state_discount: float = 1.0) -> Transitions:
        """Copy a log to the device.

        Args:
            log: The log.
            state_discount: States weigh `state_discount ** t`, t steps into their episode, scaled
                to mean one: with the world's γ these are the states as the discounted value sees
                them.
        """
        weights = np.ones(len(log), np.float32)
        if state_discount < 1.0:
            lengths = np.diff(log.offsets)
            steps = np.arange(len(log)) - np.repeat(log.offsets[:-1], lengths)
            weights = state_discount**steps
            weights = (weights / weights.mean()).astype(np.float32)
        return cls(
            Batch(
                jnp.asarray(log.observations),
                jnp.asarray(log.actions),
                jnp.asarray(log.rewards),
                jnp.asarray(log.next_observations),
                jnp.asarray(log.terminated, jnp.float32),
                jnp.asarray(weights),
            )
        )

    def __len__(self) -> int:
        return int(self.rows.rewards.shape[0])

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """N rows with replacement."""
        return self.take(jax.random.randint(key, (n,), 0, len(self)))

    def take(self, rows: Int[Array, " rows"]) -> Batch:
        """Given rows."""
        batch: Batch = jax.tree.map(lambda column: column[rows], self.rows)
        return batch
