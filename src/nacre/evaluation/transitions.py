"""A log as arrays on the device, and mini-batches of it."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.log import Log


class Batch(eqx.Module):
    """Rows (s, a, r, s', terminated) and how much each state counts for the actor.

    `resampling`, if there, is how often each critic of an ensemble sees each row: a bootstrap over
    episodes.
    """

    observations: Array
    actions: Array
    rewards: Float[Array, " rows"]
    next_observations: Array
    terminated: Float[Array, " rows"]
    weights: Float[Array, " rows"]
    resampling: Float[Array, "members rows"] | None = None


class Transitions(eqx.Module):
    """A whole log, ready to be sampled from inside a compiled loop.

    `discounted_length` is the mean of Σ γ^t over an episode: how many steps, as the discounted
    value counts them, there are to each start.

    Truncation needs no flag here: the step after it is bootstrapped like any other. Termination is
    kept as 0 or 1: nothing is bootstrapped after it.
    """

    rows: Batch
    starts: Array
    discounted_length: Float[Array, ""]
    episodes: Int[Array, " rows"] | None = None
    resampling: Float[Array, "episodes members"] | None = None

    @classmethod
    def from_log(
        cls,
        log: Log,
        *,
        discount: float = 0.99,
        discounted_states: bool = False,
        resampling: np.ndarray | None = None,
    ) -> Transitions:
        """Copy a log to the device.

        Args:
            log: The log.
            discount: γ.
            discounted_states: Let states weigh γ^t, t steps into their episode, scaled to mean one:
                the states as the discounted value sees them.
            resampling: (E, M) how often each critic sees each episode; once if not given.
        """
        lengths = np.diff(log.offsets)
        steps = np.arange(len(log)) - np.repeat(log.offsets[:-1], lengths)
        seen = discount**steps
        weights = seen / seen.mean() if discounted_states else np.ones(len(log))
        return cls(
            Batch(
                jnp.asarray(log.observations),
                jnp.asarray(log.actions),
                jnp.asarray(log.rewards),
                jnp.asarray(log.next_observations),
                jnp.asarray(log.terminated, jnp.float32),
                jnp.asarray(weights, jnp.float32),
            ),
            jnp.asarray(log.starts),
            jnp.asarray(seen.sum() / log.n_episodes, jnp.float32),
            None if resampling is None else jnp.asarray(log.episode_ids, jnp.int32),
            None if resampling is None else jnp.asarray(resampling, jnp.float32),
        )

    def __len__(self) -> int:
        return int(self.rows.rewards.shape[0])

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """N rows with replacement."""
        return self.take(jax.random.randint(key, (n,), 0, len(self)))

    def sample_starts(self, key: PRNGKeyArray, n: int) -> Array:
        """N first states of episodes, with replacement."""
        return self.starts[jax.random.randint(key, (n,), 0, self.starts.shape[0])]

    def take(self, rows: Int[Array, " rows"]) -> Batch:
        """Given rows."""
        batch: Batch = jax.tree.map(lambda column: column[rows], self.rows)
        if self.resampling is None or self.episodes is None:
            return batch
        return dataclasses.replace(batch, resampling=self.resampling[self.episodes[rows]].T)
