"""State measures μ: the states over which a switching cost is averaged."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError


@dataclass(frozen=True)
class StateSample:
    """States with weights that add up to one; `exact` when they are the measure itself."""

    states: Array | np.ndarray
    weights: np.ndarray | None
    exact: bool


class StateMeasure(abc.ABC):
    """A probability measure over states."""

    @abc.abstractmethod
    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array, space: gymnasium.Space[Any]
    ) -> Array:
        """N independent states; can be compiled."""

    @abc.abstractmethod
    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """The states at which the final price is computed."""


@dataclass(frozen=True)
class LogStates(StateMeasure):
    """The log's own states: all of them, or n drawn at random."""

    n: int | None = None

    def __post_init__(self) -> None:
        _check_count(self.n)

    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array, space: gymnasium.Space[Any]
    ) -> Array:
        """Rows of the log, with replacement."""
        return observations[jax.random.randint(key, (n,), 0, len(observations))]

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """All rows, or n of them."""
        if observations is None:
            raise InputError("the cost averages over the log's states, but no log was given")
        if self.n is None or self.n >= len(observations):
            return StateSample(observations, None, exact=True)
        rows = jax.random.choice(key, len(observations), (self.n,), replace=False)
        return StateSample(observations[np.sort(np.asarray(rows))], None, exact=False)


@dataclass(frozen=True)
class UniformBox(StateMeasure):
    """Uniform on the observation box, clipped to ±limit: the measure of the published runs."""

    limit: float = 100.0
    n: int = 10_000

    def __post_init__(self) -> None:
        _check_count(self.n)
        if not (np.isfinite(self.limit) and self.limit > 0):
            raise InputError(f"limit = {self.limit}: the box needs a positive finite limit")

    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array | None, space: gymnasium.Space[Any]
    ) -> Array:
        """Independent uniform vectors."""
        low, high = self._bounds(space)
        return jax.random.uniform(key, (n, *low.shape), minval=low, maxval=high)

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """N uniform vectors."""
        return StateSample(self.draw(key, self.n, None, space), None, exact=False)

    def _bounds(self, space: gymnasium.Space[Any]) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        if not isinstance(space, gymnasium.spaces.Box):
            raise InputError(
                f"the uniform box measure needs vector observations, these are {space}: use the "
                "measure of finitely many states"
            )
        low = np.clip(space.low, -self.limit, self.limit)
        high = np.clip(space.high, -self.limit, self.limit)
        if np.any(low >= high):
            raise InputError(f"limit = {self.limit} leaves nothing of the observation box {space}")
        return jnp.asarray(low), jnp.asarray(high)


@dataclass(frozen=True)
class FiniteStates(StateMeasure):
    """Uniform on all states of a discrete observation space, or weighted."""

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            _check_weights(np.asarray(self.weights))

    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array | None, space: gymnasium.Space[Any]
    ) -> Array:
        """Independent states."""
        count = self._count(space)
        weights = None if self.weights is None else jnp.asarray(self.weights)
        return jax.random.choice(key, count, (n,), p=weights)

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """Every state once."""
        states = np.arange(self._count(space))
        weights = None if self.weights is None else np.asarray(self.weights)
        return StateSample(states, weights, exact=True)

    def _count(self, space: gymnasium.Space[Any]) -> int:
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise InputError(
                f"the measure over finitely many states needs discrete observations, these are "
                f"{space}: use the log's states or a uniform box"
            )
        if self.weights is not None and len(self.weights) != int(space.n):
            raise InputError(f"{len(self.weights)} state weights given for {int(space.n)} states")
        return int(space.n)


class WeightedStates(StateMeasure):
    """Any given states, with weights or equal ones."""

    def __init__(self, states: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.states = np.asarray(states)
        if len(self.states) == 0:
            raise InputError("a state measure needs at least one state")
        if not np.all(np.isfinite(self.states)):
            raise InputError("the given states hold NaN or infinity")
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        if self.weights is not None:
            _check_weights(self.weights)
            if len(self.weights) != len(self.states):
                raise InputError(f"{len(self.weights)} weights for {len(self.states)} states")

    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array | None, space: gymnasium.Space[Any]
    ) -> Array:
        """Independent states, by weight."""
        weights = None if self.weights is None else jnp.asarray(self.weights)
        rows = jax.random.choice(key, len(self.states), (n,), p=weights)
        return jnp.asarray(self.states)[rows]

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """The states as given."""
        return StateSample(self.states, self.weights, exact=True)


def _check_count(n: int | None) -> None:
    if n is not None and n < 1:
        raise InputError(f"n = {n}: at least one state is needed")


def _check_weights(weights: np.ndarray) -> None:
    finite = np.all(np.isfinite(weights))
    if not finite or np.any(weights < 0) or abs(weights.sum() - 1.0) > 1e-6:
        raise InputError(
            "state weights must be finite, not negative and add up to one, these add up to "
            f"{weights.sum():g}"
        )
