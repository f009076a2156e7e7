"""A log as arrays on the device, or mapped from its files, and mini-batches of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy, ask

BLOCK_ROWS = 2**20
"""Rows that are weighed at a time."""


class Batch(eqx.Module):
    """Rows (s, a, r, s', terminated) and how much each state counts for the actor.

    `resampling`, if there, is how often each critic of an ensemble sees each row: a bootstrap over
    episodes. `next_actions`, if there, is what some policy does at the next states, `old_actions`
    what the old policy does at the states.
    """

    observations: Array
    actions: Array
    rewards: Float[Array, " rows"]
    next_observations: Array
    terminated: Float[Array, " rows"]
    weights: Float[Array, " rows"]
    resampling: Float[Array, "members rows"] | None = None
    next_actions: ActionDistribution | None = None
    old_actions: ActionDistribution | None = None


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
        length, weights = weigh_rows(log, discount, discounted_states)
        return cls(
            Batch(
                jnp.asarray(log.observations),
                jnp.asarray(log.actions),
                jnp.asarray(log.rewards),
                jnp.asarray(log.next_observations),
                jnp.asarray(log.terminated, jnp.float32),
                jnp.ones(len(log), jnp.float32) if weights is None else jnp.asarray(weights),
            ),
            jnp.asarray(log.starts),
            jnp.asarray(length, jnp.float32),
            None if resampling is None else jnp.asarray(log.episode_ids, jnp.int32),
            None if resampling is None else jnp.asarray(resampling, jnp.float32),
        )

    def __len__(self) -> int:
        return int(self.rows.rewards.shape[0])

    @property
    def observations(self) -> Array:
        """The states of the log, to draw from."""
        return self.rows.observations

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """N rows with replacement."""
        return self.take(jax.random.randint(key, (n,), 0, len(self)))

    def sample_starts(self, key: PRNGKeyArray, n: int) -> Array:
        """N first states of episodes, with replacement."""
        return self.starts[jax.random.randint(key, (n,), 0, self.starts.shape[0])]

    def ask(self, policy: Policy) -> Transitions:
        """The same rows, with what a policy does at their next states.

        Asked once at every row, in blocks: who passes through the log several times asks less.
        """
        return self._with(next_actions=ask(policy, self.rows.next_observations))

    def ask_old(self, policy: Policy) -> Transitions:
        """The same rows, with what the old policy does at their states; asked as by `ask`."""
        return self._with(old_actions=ask(policy, self.rows.observations))

    def _with(self, **columns: Any) -> Transitions:
        return dataclasses.replace(self, rows=dataclasses.replace(self.rows, **columns))

    def take(self, rows: Int[Array, " rows"]) -> Batch:
        """Given rows."""
        batch: Batch = jax.tree.map(lambda column: column[rows], self.rows)
        if self.resampling is None or self.episodes is None:
            return batch
        return dataclasses.replace(batch, resampling=self.resampling[self.episodes[rows]].T)


class MappedTransitions:
    """A log that is larger than memory: rows are gathered where they lie, many steps at a time.

    What is a number a row is in memory. `resampling` and `starts` are as in `Transitions`.
    """

    def __init__(
        self,
        log: Log,
        *,
        discount: float = 0.99,
        discounted_states: bool = False,
        resampling: np.ndarray | None = None,
    ) -> None:
        length, self.weights = weigh_rows(log, discount, discounted_states)
        self.log = log
        self.starts = jnp.asarray(log.starts)
        self.discounted_length = jnp.asarray(length, jnp.float32)
        self.resampling = None if resampling is None else jnp.asarray(resampling, jnp.float32)

    def __len__(self) -> int:
        return len(self.log)

    def gather(self, rows: np.ndarray) -> Batch:
        """Rows (steps, n) of the log as arrays (steps, n, …), not on the device yet."""
        log = self.log
        ones = np.ones(rows.shape, np.float32)
        columns: tuple[Any, ...] = (
            log.observations[rows],
            log.actions[rows],
            log.rewards[rows],
            log.next_observations[rows],
            log.terminated[rows].astype(np.float32),
            ones if self.weights is None else self.weights[rows],
        )
        return Batch(*columns)

    def find_episodes(self, rows: np.ndarray) -> np.ndarray:
        """The episode of each row."""
        found = np.searchsorted(self.log.offsets, rows, side="right") - 1
        return np.asarray(found, np.int32)


def open_transitions(
    log: Log,
    *,
    discount: float = 0.99,
    discounted_states: bool = False,
    resampling: np.ndarray | None = None,
) -> Transitions | MappedTransitions:
    """A log ready to be sampled from: on the device, or where it lies if it is too large.

    Args:
        log: The log.
        discount: γ.
        discounted_states: As for `Transitions.from_log`.
        resampling: As for `Transitions.from_log`.
    """
    make = MappedTransitions if log.is_mapped else Transitions.from_log
    return make(log, discount=discount, discounted_states=discounted_states, resampling=resampling)


def weigh_rows(
    log: Log, discount: float, discounted_states: bool
) -> tuple[float, np.ndarray | None]:
    """Mean of Σ γ^t over an episode, and γ^t of each row over its mean (N,) where it counts."""
    seen = np.empty(len(log))
    for first in range(0, len(log), BLOCK_ROWS):
        rows = np.arange(first, min(first + BLOCK_ROWS, len(log)))
        episodes = np.searchsorted(log.offsets, rows, side="right") - 1
        seen[rows[0] : rows[-1] + 1] = discount ** (rows - log.offsets[episodes])
    length = float(seen.sum() / log.n_episodes)
    if not discounted_states:
        return length, None
    seen /= seen.mean()
    return length, seen.astype(np.float32)
