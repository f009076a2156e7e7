"""Mini-batches, and the one interface through which loops draw them from a log.

A `BatchSource` is a log that can be sampled from, wherever its rows are: `Transitions` holds them
on the device, `MappedTransitions` leaves them in their files. Opened for a number of steps it gives
a `BatchStream`, which hands out `Rows` for some steps of an epoch at a time: all of them, or as
many as were gathered. A step sees the same bits either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy


class Batch(eqx.Module):
    """Rows (s, a, r, s', terminated) and how much each state counts for the actor.

    `resampling`, if there, is how often each critic of an ensemble sees each row: a bootstrap over
    episodes. `next_actions`, if there, is what some policy does at the next states, `old_actions`
    what the old policy does at the states, `targets` a number that critics are fitted to.
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
    targets: Float[Array, " rows"] | None = None


class States:
    """Stands for the states of a log (N, …) that can only be indexed by row.

    `n_rows` says how many there are; inside of a compiled step it is a number that is not known
    when the step is compiled, so that logs of different sizes share one program.
    """

    def __init__(self, n_rows: int | Int[Array, ""], take: Callable[[Int[Array, " n"]], Array]):
        self.n_rows = n_rows
        self._take = take

    def __len__(self) -> int:
        return int(self.n_rows)

    def __getitem__(self, rows: Int[Array, " n"]) -> Array:
        return self._take(rows)

    def __getattr__(self, name: str) -> Any:
        raise InputError(
            f"the state measure wants {name!r} of the log's states, of which only rows can be "
            "taken; give one that takes rows of them"
        )


class Drawable(Protocol):
    """What a step may draw from: rows of the log, and its states by row."""

    @property
    def observations(self) -> Any:
        """The states of the log (N, …), to be indexed by row."""
        ...

    def sample(self, key: PRNGKeyArray, n: int) -> Batch:
        """N rows with replacement."""
        ...


class Rows(Drawable, Protocol):
    """The rows of some steps of an epoch."""

    @property
    def discounted_length(self) -> Float[Array, ""]:
        """Mean of Σ γ^t over an episode."""
        ...

    def sample_starts(self, key: PRNGKeyArray, n: int) -> Array:
        """N first states of episodes, with replacement."""
        ...

    def at(self, step: Int[Array, ""]) -> Rows:
        """The same rows at another step, counted from the first that they are for."""
        ...


Draw = Callable[[Drawable, PRNGKeyArray], object]
"""Draws from a log what a step with this key wants: one batch, and states at most once."""


class BatchStream(Protocol):
    """The rows of an epoch's steps, one epoch after the other."""

    def chunks(
        self, key: PRNGKeyArray, following: PRNGKeyArray | None = None
    ) -> Iterator[tuple[Rows, int]]:
        """Yield rows, and for how many of the epoch's next steps they are.

        Args:
            key: The epoch's key.
            following: That of the epoch after it, where there is one.
        """
        ...


class BatchSource(Protocol):
    """A log that is ready to be sampled from."""

    @property
    def discounted_length(self) -> Float[Array, ""]:
        """Mean of Σ γ^t over an episode: how many discounted steps there are to each start."""
        ...

    def __len__(self) -> int: ...

    def with_targets(self, targets: np.ndarray) -> BatchSource:
        """The same rows, each with a number (N,) that critics are fitted to."""
        ...

    def ask_next(self, policy: Policy) -> tuple[BatchSource, Policy | None]:
        """Ask a policy at all next states at once, where that is possible.

        Returns:
            The same rows, which then tell what it does, and whom to ask at every step: nobody, or
            the policy where the rows are too many.
        """
        ...

    def ask_old(self, policy: Policy) -> BatchSource:
        """The same rows with what the old policy does at their states, where that is possible."""
        ...

    def open_stream(self, draw: Draw, n_steps: int) -> AbstractContextManager[BatchStream]:
        """Rows for epochs of so many steps.

        Args:
            draw: What a step draws.
            n_steps: Steps of an epoch.
        """
        ...
