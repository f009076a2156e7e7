"""State measures μ: the states over which a switching cost is averaged."""

from __future__ import annotations

import abc
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.policies.drawing import draw_uniform
from nacre.policies.policy import describe_space


@dataclass(frozen=True, eq=False)
class StateSample:
    """States of a measure, with weights that add up to one, equal ones where there are none.

    `share` tells how much of the measure the states are: all of it (1), independent draws (0), or a
    part of finitely many, drawn without replacement.
    """

    states: Array | np.ndarray
    weights: np.ndarray | None
    share: float

    @property
    def exact(self) -> bool:
        """Whether the states are the measure itself."""
        return self.share == 1.0

    @property
    def probabilities(self) -> np.ndarray:
        """Weight of each state; (n,)."""
        n = len(self.states)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights / self.weights.sum()

    def split(self, most: int) -> tuple[Array, Array]:
        """States (chunks, size, …) and weights (chunks, size) with size at most `most`.

        Chunks are as even as can be; the last ones are filled up with states of weight zero.
        """
        n = len(self.states)
        chunks = -(-n // most)
        padding = -n % chunks
        states = jnp.asarray(self.states)
        weights = jnp.asarray(self.probabilities, float)
        if padding:
            filling = jnp.broadcast_to(states[:1], (padding, *states.shape[1:]))
            states = jnp.concatenate([states, filling])
            weights = jnp.concatenate([weights, jnp.zeros(padding, weights.dtype)])
        return states.reshape(chunks, -1, *states.shape[1:]), weights.reshape(chunks, -1)

    def standard_error(self, costs: Float[np.ndarray, "n times"]) -> float:
        """Of the mean of costs, each computed once or, if it is noisy itself, several times.

        Variance (1 - share) · n/(n-1) · Σ w²(c - c̄)² + share · Σ w² · Var(noise): a part of
        finitely many states leaves less to chance, all of them leave the noise only.
        """
        n, times = costs.shape
        weights = self.probabilities
        noise = weights**2 @ costs.var(axis=-1, ddof=1) / times if times > 1 else 0.0
        if self.exact:
            return math.sqrt(noise)
        if n == 1:
            return math.nan
        each = costs.mean(axis=-1)
        between = np.sum((weights * (each - weights @ each)) ** 2) * n / (n - 1)
        return math.sqrt((1.0 - self.share) * between + self.share * noise)

    def describe_bad_state(self, costs: Float[np.ndarray, " n"]) -> str:
        """Where a cost is not finite, and what to look at there."""
        place = int(np.argmin(np.isfinite(costs)))
        if not np.all(np.isfinite(np.asarray(self.states[place]))):
            return f"state {place} holds NaN or infinity; mend it or leave it out"
        return (
            f"the switching cost is {costs[place]} at state {place}: a policy or the importance is "
            "not finite there; mend it"
        )


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
        if self.n is not None:
            _check_count(self.n)

    def draw(
        self, key: PRNGKeyArray, n: int, observations: Array, space: gymnasium.Space[Any]
    ) -> Array:
        """Rows of the log, with replacement."""
        # Inside of a compiled step the number of rows is known to the log alone.
        count = getattr(observations, "n_rows", None)
        return observations[
            jax.random.randint(key, (n,), 0, len(observations) if count is None else count)
        ]

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """All rows, or n of them."""
        if observations is None:
            raise InputError(
                "the cost averages over the log's states, but no log was given; give one, or "
                "choose another state measure"
            )
        if np.ndim(observations) == 0 or len(observations) == 0:
            raise InputError(
                "the cost averages over the log's states, but there is none; give at least one"
            )
        if self.n is None or self.n >= len(observations):
            return StateSample(observations, None, 1.0)
        rows = jax.random.choice(key, len(observations), (self.n,), replace=False)
        return StateSample(
            observations[np.sort(np.asarray(rows))], None, self.n / len(observations)
        )


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
        drawn = draw_uniform(key, (n, *low.shape))
        return jnp.maximum(low, drawn * (high - low) + low)

    def support(
        self, key: PRNGKeyArray, observations: np.ndarray | None, space: gymnasium.Space[Any]
    ) -> StateSample:
        """N uniform vectors."""
        return StateSample(self.draw(key, self.n, None, space), None, 0.0)

    def _bounds(self, space: gymnasium.Space[Any]) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        if not isinstance(space, gymnasium.spaces.Box):
            raise InputError(
                "the uniform box measure needs vector observations, these are "
                f"{describe_space(space)}: use the measure of finitely many states"
            )
        low = np.clip(space.low, -self.limit, self.limit)
        high = np.clip(space.high, -self.limit, self.limit)
        # A coordinate that is constant in the space itself may stay so.
        constant = (space.low == space.high) & (low == space.low)
        if np.any((low >= high) & ~constant):
            raise InputError(
                f"limit = {self.limit:g} leaves nothing of the observation box "
                f"{describe_space(space)}; raise it"
            )
        return jnp.asarray(low), jnp.asarray(high)


@dataclass(frozen=True)
class FiniteStates(StateMeasure):
    """Uniform on all states of a discrete observation space, or weighted."""

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(_read_weights(self.weights).tolist()))

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
        return StateSample(states, weights, 1.0)

    def _count(self, space: gymnasium.Space[Any]) -> int:
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise InputError(
                "the measure over finitely many states needs discrete observations, these are "
                f"{describe_space(space)}: use the log's states or a uniform box"
            )
        if self.weights is not None and len(self.weights) != int(space.n):
            raise InputError(
                f"{len(self.weights)} state weights given for {int(space.n)} states; give one a "
                "state"
            )
        return int(space.n)


class WeightedStates(StateMeasure):
    """Any given states, with weights or equal ones; equal to another with the same content."""

    def __init__(self, states: ArrayLike, weights: ArrayLike | None = None) -> None:
        self.states = _read_states(states)
        self.weights = None if weights is None else _read_weights(weights)
        if self.weights is not None and len(self.weights) != len(self.states):
            raise InputError(
                f"{len(self.weights)} weights for {len(self.states)} states; give one a state"
            )
        content = hashlib.sha256(f"{self.states.dtype} {self.states.shape}".encode())
        content.update(self.states.tobytes())
        content.update(b"" if self.weights is None else self.weights.tobytes())
        self._digest = content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightedStates) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"WeightedStates({len(self.states)} states, sha256={self._digest})"

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
        return StateSample(self.states, self.weights, 1.0)


def _check_count(n: object) -> None:
    if not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n = {n}: give a whole number of states, at least one")


def read_rows(states: ArrayLike) -> np.ndarray:
    """States from outside as an array."""
    try:
        return np.asarray(states)
    except ValueError:
        raise InputError("the given states differ in length; make them equally long") from None


def _read_states(states: ArrayLike) -> np.ndarray:
    """An own copy, so that nobody can change the measure afterwards."""
    rows = read_rows(states).copy()
    if rows.ndim not in (1, 2) or len(rows) == 0:
        raise InputError(
            "a state measure needs at least one state, each a number or a vector; these have shape "
            f"{rows.shape}"
        )
    if rows.dtype.kind not in "fiu" or not np.all(np.isfinite(rows)):
        raise InputError("the given states hold NaN, infinity or what is no number; mend them")
    rows.flags.writeable = False
    return rows


def _read_weights(weights: ArrayLike | Sequence[float]) -> np.ndarray:
    try:
        values = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"state weights {weights!r:.60} are no list of numbers") from None
    sound = values.ndim == 1 and np.all(np.isfinite(values)) and np.all(values >= 0)
    if not sound or abs(values.sum() - 1.0) > 1e-6:
        raise InputError(
            "state weights must be finite, not negative and add up to one, in a plain list; these "
            f"add up to {values.sum():g}"
        )
    values.flags.writeable = False
    return values
