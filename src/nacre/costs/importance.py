"""Importance f(s) as data: a file can hold it and a compiled function can be keyed on it."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax.numpy as jnp
from jaxtyping import Array, Float

from nacre.errors import InputError


class StateImportance(abc.ABC):
    """A weight for every state, callable on a batch of states."""

    @abc.abstractmethod
    def __call__(self, states: Array) -> Float[Array, "..."]:
        """Weights (...) of states (..., size), or (...) if discrete."""

    @abc.abstractmethod
    def check(self, observation_space: gymnasium.Space[Any]) -> None:
        """Raise `InputError` if states of this space cannot be weighted."""


@dataclass(frozen=True)
class Rule:
    """`weight` where above < state[coordinate] < below; a bound that is absent does not bind."""

    coordinate: int
    weight: float
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if self.coordinate < 0:
            raise InputError(f"importance: coordinate {self.coordinate} is negative; count from 0")
        if self.above is None and self.below is None:
            raise InputError(
                f"importance: the rule for coordinate {self.coordinate} has no bound; give it "
                "above or below, or both"
            )
        above = -math.inf if self.above is None else self.above
        below = math.inf if self.below is None else self.below
        if not above < below:
            raise InputError(
                f"importance: no number lies above {above:g} and below {below:g}; mend the bounds "
                f"of coordinate {self.coordinate}"
            )

    def holds(self, states: Float[Array, "... size"]) -> Array:
        """Where the rule applies; (...)."""
        value = states[..., self.coordinate]
        holds = jnp.ones(value.shape, bool)
        if self.above is not None:
            holds &= value > self.above
        if self.below is not None:
            holds &= value < self.below
        return holds


@dataclass(frozen=True)
class RuleImportance(StateImportance):
    """The weight of the first rule that holds, else the default: for vector observations."""

    rules: tuple[Rule, ...] = ()
    default: float = 1.0

    def __post_init__(self) -> None:
        _check_weight(self.default)

    def __call__(self, states: Array) -> Float[Array, "..."]:
        """Weights (...) of states (..., size)."""
        weights = jnp.full(states.shape[:-1], self.default)
        for rule in reversed(self.rules):
            weights = jnp.where(rule.holds(states), rule.weight, weights)
        return weights

    def check(self, observation_space: gymnasium.Space[Any]) -> None:
        """Every coordinate must exist."""
        if not isinstance(observation_space, gymnasium.spaces.Box):
            raise InputError(
                f"importance by rules needs vector observations, these are {observation_space}: "
                "give one weight a state instead"
            )
        size = math.prod(observation_space.shape)
        for rule in self.rules:
            if rule.coordinate >= size:
                raise InputError(
                    f"importance uses observation coordinate {rule.coordinate}, the observations "
                    f"have {size} (0 to {size - 1})"
                )


@dataclass(frozen=True)
class TableImportance(StateImportance):
    """One weight for each discrete state."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.weights:
            raise InputError("importance: the list of weights is empty; give one a state")
        for weight in self.weights:
            _check_weight(weight)

    def __call__(self, states: Array) -> Float[Array, "..."]:
        """Weights (...) of states (...)."""
        return jnp.asarray(self.weights)[states]

    def check(self, observation_space: gymnasium.Space[Any]) -> None:
        """There must be as many weights as states."""
        if not isinstance(observation_space, gymnasium.spaces.Discrete):
            raise InputError(
                f"importance by a list of weights needs discrete observations, these are "
                f"{observation_space}: use rules instead"
            )
        if len(self.weights) != int(observation_space.n):
            raise InputError(
                f"importance: {len(self.weights)} weights given for {int(observation_space.n)} "
                "states; give one a state"
            )


def _check_weight(weight: float) -> None:
    if not (math.isfinite(weight) and weight >= 0):
        raise InputError(f"importance: weight {weight} must be finite and not negative")
