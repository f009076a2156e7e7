"""A log as arrays on the device."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.logs import Log
from nacre.policies.policy import Policy, ask
from nacre.policies.sizes import round_up
from nacre.training.batches import Batch, Draw, States

BLOCK_ROWS = 2**20
"""Rows that are weighed at a time."""


class Transitions(eqx.Module):
    """A whole log, ready to be sampled from inside a compiled loop.

    `discounted_length` is the mean of Σ γ^t over an episode: how many steps, as the discounted
    value counts them, there are to each start.

    `n_rows` and `n_starts`, if there, say how many of the rows and starts count: the others fill
    the arrays up (`fill_up`).

    Truncation needs no flag here: the step after it is bootstrapped like any other. Termination is
    kept as 0 or 1: nothing is bootstrapped after it.
    """

    rows: Batch
    starts: Array
    discounted_length: Float[Array, ""]
    episodes: Int[Array, " rows"] | None = None
    resampling: Float[Array, "episodes members"] | None = None
    n_rows: Int[Array, ""] | None = None
    n_starts: Int[Array, ""] | None = None

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
        return int(self._count_rows())

    def _count_rows(self) -> int | Int[Array, ""]:
        return self.rows.rewards.shape[0] if self.n_rows is None else self.n_rows

    @property
    def observations(self) -> States:
        """Stands for the states of the log, to draw from."""
        return States(self._count_rows(), lambda rows: self.rows.observations[rows])

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """N rows with replacement."""
        return self.take(jax.random.randint(key, (n,), 0, self._count_rows()))

    def sample_starts(self, key: PRNGKeyArray, n: int) -> Array:
        """N first states of episodes, with replacement."""
        count = self.starts.shape[0] if self.n_starts is None else self.n_starts
        return draw_starts(self.starts, count, key, n)

    def fill_up(self) -> Transitions:
        """The same log in arrays of a round length: logs of about one size share one program."""
        length, starts = round_up(len(self)), round_up(self.starts.shape[0])
        return Transitions(
            jax.tree.map(lambda column: _extend(column, length), self.rows),
            _extend(self.starts, starts),
            self.discounted_length,
            None if self.episodes is None else _extend(self.episodes, length),
            None if self.resampling is None else _extend(self.resampling, starts),
            jnp.asarray(len(self)),
            jnp.asarray(self.starts.shape[0]),
        )

    def at(self, step: Int[Array, ""]) -> Transitions:
        """All rows are for all steps."""
        return self

    def with_targets(self, targets: np.ndarray) -> Transitions:
        """The same rows, each with a number (N,) that critics are fitted to."""
        return self._with(targets=jnp.asarray(targets, float))

    def ask_next(self, policy: Policy) -> tuple[Transitions, None]:
        """The same rows, with what a policy does at their next states; nobody else to ask.

        Asked once at every row, in blocks: who passes through the log several times asks less.
        """
        return self._with(next_actions=ask(policy, self.rows.next_observations)), None

    def ask_old(self, policy: Policy) -> Transitions:
        """The same rows, with what the old policy does at their states; asked as by `ask_next`."""
        return self._with(old_actions=ask(policy, self.rows.observations))

    def open_stream(
        self, draw: Draw, n_steps: int
    ) -> contextlib.AbstractContextManager[WholeEpochs]:
        """All rows at once, whatever a step draws."""
        return contextlib.nullcontext(WholeEpochs(self.fill_up(), n_steps))

    def take(self, rows: Int[Array, " rows"]) -> Batch:
        """Given rows."""
        batch: Batch = jax.tree.map(lambda column: column[rows], self.rows)
        if self.resampling is None or self.episodes is None:
            return batch
        return dataclasses.replace(batch, resampling=self.resampling[self.episodes[rows]].T)

    def _with(self, **columns: Any) -> Transitions:
        return dataclasses.replace(self, rows=dataclasses.replace(self.rows, **columns))


class WholeEpochs:
    """A log on the device serves all steps of an epoch at once."""

    def __init__(self, transitions: Transitions, n_steps: int) -> None:
        self._transitions, self._n_steps = transitions, n_steps

    def chunks(
        self, key: PRNGKeyArray, following: PRNGKeyArray | None = None
    ) -> Iterator[tuple[Transitions, int]]:
        """Yield the whole log for all steps."""
        yield self._transitions, self._n_steps


def draw_starts(starts: Array, count: int | Int[Array, ""], key: PRNGKeyArray, n: int) -> Array:
    """N of the first `count` states, with replacement."""
    return starts[jax.random.randint(key, (n,), 0, count)]


def _extend(column: Array, length: int) -> Array:
    """Rows of zeros after those that are there."""
    return jnp.pad(column, [(0, length - column.shape[0]), *[(0, 0)] * (column.ndim - 1)])


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
