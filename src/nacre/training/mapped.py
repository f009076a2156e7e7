"""A log that is larger than memory: its rows are gathered from the files, one chunk of steps ahead.

Which rows a step wants follows from its key alone. So they can be asked for before the step is
taken: the function that draws a step's rows is first run on a `Recorder`, which writes down the
rows; these are gathered from the files for as many steps as fit a few dozen megabytes, while the
chunk before trains; then the same function is run on the `Chunk`, which hands them out. What a step
sees has the same bits as if the whole log were on the device.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.batches import Batch, Draw, States
from nacre.training.transitions import draw_starts, weigh_rows

CHUNK_BYTES = 2**26
"""Rows of a chunk; the one that trains and the one that is gathered are in memory together."""


class MappedTransitions:
    """A log in its files, ready to be sampled from: rows are gathered many steps at a time.

    What is a number a row is in memory.

    Args:
        log: The log.
        discount: γ.
        discounted_states: As for `Transitions.from_log`.
        resampling: As for `Transitions.from_log`.
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
        self.targets: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.log)

    def with_targets(self, targets: np.ndarray) -> MappedTransitions:
        """The same rows, each with a number (N,) that critics are fitted to."""
        targeted = copy.copy(self)
        targeted.targets = targets.astype(np.float32)
        return targeted

    def ask_next(self, policy: Policy) -> tuple[MappedTransitions, Policy]:
        """Answers at all rows would not fit memory: the policy is asked at every step."""
        return self, policy

    def ask_old(self, policy: Policy) -> MappedTransitions:
        """Answers at all rows would not fit memory: the policy is asked at every step."""
        return self

    def open_stream(self, draw: Draw, n_steps: int) -> Feed:
        """The rows of epochs of so many steps, as a step draws them, one chunk ahead."""
        return Feed(self, draw, n_steps)

    def gather(self, rows: np.ndarray) -> Batch:
        """Rows (steps, n) of the log as arrays (steps, n, …), not on the device yet."""
        log = self.log
        ones = np.ones(rows.shape, np.float32)
        columns: dict[str, Any] = {
            "observations": log.observations[rows],
            "actions": log.actions[rows],
            "rewards": log.rewards[rows],
            "next_observations": log.next_observations[rows],
            "terminated": log.terminated[rows].astype(np.float32),
            "weights": ones if self.weights is None else self.weights[rows],
            "targets": None if self.targets is None else self.targets[rows],
        }
        return Batch(**columns)

    def find_episodes(self, rows: np.ndarray) -> np.ndarray:
        """The episode of each row."""
        found = np.searchsorted(self.log.offsets, rows, side="right") - 1
        return np.asarray(found, np.int32)


class Recorder:
    """Stands for a log and writes down which rows are wanted; what it gives out is all zero."""

    def __init__(self, transitions: MappedTransitions) -> None:
        self.asked: dict[str, Int[Array, " n"]] = {}
        self._transitions = transitions

    @property
    def observations(self) -> States:
        """Stands for the states of the log."""
        states = self._transitions.log.observations

        def record(rows: Int[Array, " n"]) -> Array:
            self._write_down("states", rows)
            return jnp.zeros((*rows.shape, *states.shape[1:]), states.dtype)

        return States(len(states), record)

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """Write down n rows with replacement: those of `Transitions.sample`."""
        rows = jax.random.randint(key, (n,), 0, len(self._transitions))
        self._write_down("batch", rows)
        like = self._transitions.gather(np.zeros((1, 1), int))
        batch: Batch = jax.tree.map(lambda c: jnp.zeros((n, *c.shape[2:]), c.dtype), like)
        return batch

    def _write_down(self, what: str, rows: Int[Array, " n"]) -> None:
        if what in self.asked:
            raise InputError(
                f"a step draws its {what} from the log more than once; a log larger than memory "
                "allows it once: give a state measure that does so"
            )
        self.asked[what] = rows


class Chunk(eqx.Module):
    """The rows of some steps (steps, n, …), as far as they were asked for.

    `step` counts within the chunk.
    """

    batch: Batch
    episodes: Int[Array, "steps n"] | None
    states: Array | None
    starts: Array
    discounted_length: Float[Array, ""]
    resampling: Float[Array, "episodes members"] | None
    step: Int[Array, ""]
    n_rows: Int[Array, ""]

    @property
    def observations(self) -> States:
        """Stands for the states of the log."""
        return States(self.n_rows, lambda rows: self._now(self.states))

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """The rows that were gathered for this step."""
        batch: Batch = self._now(self.batch)
        if self.resampling is None:
            return batch
        return dataclasses.replace(batch, resampling=self.resampling[self._now(self.episodes)].T)

    def sample_starts(self, key: PRNGKeyArray, n: int) -> Array:
        """N first states of episodes, with replacement."""
        return draw_starts(self.starts, self.starts.shape[0], key, n)

    def at(self, step: Int[Array, ""]) -> Chunk:
        """The same rows at another step."""
        return dataclasses.replace(self, step=step)

    def _now(self, columns: Any) -> Any:
        return jax.tree.map(lambda column: column[self.step], columns)


class Feed:
    """Chunks of an epoch's steps, one ahead: while one trains the next is gathered.

    Args:
        transitions: The log.
        draw: What a step draws from it.
        n_steps: Steps of an epoch.
    """

    def __init__(self, transitions: MappedTransitions, draw: Draw, n_steps: int) -> None:
        self._transitions = transitions
        self._n_steps = n_steps

        def record(key: PRNGKeyArray, step: Int[Array, ""]) -> dict[str, Int[Array, " n"]]:
            recorder = Recorder(transitions)
            draw(recorder, jax.random.fold_in(key, step))
            return recorder.asked

        self._record = jax.jit(jax.vmap(record, (None, 0)))
        n_chunks = -(-n_steps // max(1, CHUNK_BYTES // self._measure_step()))
        self._size = -(-n_steps // n_chunks)
        self._executor = ThreadPoolExecutor(1, "gather")
        self._ahead: tuple[Any, Future[Chunk]] | None = None

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def chunks(
        self, key: PRNGKeyArray, following: PRNGKeyArray | None = None
    ) -> Iterator[tuple[Chunk, int]]:
        """Yield the epoch's chunks and how many steps to take in each.

        Args:
            key: The epoch's key.
            following: That of the epoch after it, to begin with while the last chunk trains.
        """
        for first in range(0, self._n_steps, self._size):
            chunk = self._ask(key, first).result()
            if first + self._size < self._n_steps:
                self._ask(key, first + self._size)
            elif following is not None:
                self._ask(following, 0)
            yield chunk, min(self._size, self._n_steps - first)

    def _ask(self, key: PRNGKeyArray, first: int) -> Future[Chunk]:
        wanted = (jax.random.key_data(key).tobytes(), first)
        if self._ahead is None or self._ahead[0] != wanted:
            self._ahead = wanted, self._executor.submit(self._gather, key, first)
        return self._ahead[1]

    def _gather(self, key: PRNGKeyArray, first: int) -> Chunk:
        asked = self._record(key, jnp.arange(first, first + self._size))
        rows = {what: np.asarray(wanted) for what, wanted in asked.items()}
        batch, states = rows["batch"], rows.get("states")
        transitions = self._transitions
        resampled = transitions.resampling is not None
        return Chunk(
            jax.tree.map(jnp.asarray, transitions.gather(batch)),
            jnp.asarray(transitions.find_episodes(batch)) if resampled else None,
            None if states is None else jnp.asarray(transitions.log.observations[states]),
            transitions.starts,
            transitions.discounted_length,
            transitions.resampling,
            jnp.asarray(0),
            jnp.asarray(len(transitions)),
        )

    def _measure_step(self) -> int:
        """Bytes of the rows of a step."""
        asked = jax.eval_shape(self._record, jax.random.key(0), jnp.arange(1))
        row = self._transitions.gather(np.zeros((1, 1), int))
        return sum(
            rows.size * sum(column.nbytes for column in jax.tree.leaves(part))
            for rows, part in (
                (asked["batch"], row),
                *([(asked["states"], row.observations)] if "states" in asked else []),
            )
        )
