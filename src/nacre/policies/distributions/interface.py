"""What every distribution over actions can do."""

from __future__ import annotations

import abc
import functools
import operator
from typing import Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.policies.drawing import draw_uniform


class Groups(Protocol):
    """A partition of the action space, as `nacre.costs.groups` makes them."""

    def mass_of(self, distribution: ActionDistribution) -> Float[Array, "... groups"]:
        """Probability of each group."""
        ...


class ActionDistribution(eqx.Module):
    """What a policy says at a batch of states."""

    @property
    @abc.abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the states it was evaluated at."""

    @property
    @abc.abstractmethod
    def noise_size(self) -> int:
        """How many uniform numbers one action is made from."""

    @abc.abstractmethod
    def transform(self, uniforms: Float[Array, "*n ... noise"]) -> Array:
        """Actions from uniform noise in [0, 1]; leading axes beyond the batch are samples."""

    @abc.abstractmethod
    def log_prob(self, actions: Array) -> Float[Array, "..."]:
        """Log density (log probability for discrete actions)."""

    @abc.abstractmethod
    def mode(self) -> Array:
        """The action to take when none is to be drawn."""

    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...] = ()) -> Array:
        """Independent actions of shape `shape + batch_shape (+ action size)`."""
        return self.transform(draw_uniform(key, (*shape, *self.batch_shape, self.noise_size)))

    def mass(self, groups: Groups) -> Float[Array, "... groups"]:
        """Probability of each group of actions, in closed form."""
        return groups.mass_of(self)


class ContinuousDistribution(ActionDistribution):
    """A distribution over vectors of actions."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """Number of coordinates of an action."""

    @abc.abstractmethod
    def box_mass(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes"]:
        """Probability of half-open boxes (lower, upper].

        Args:
            coordinates: The k coordinates that the boxes bound; the others are free.
            lower: Lower bounds (boxes, k), -inf where there is none.
            upper: Upper bounds (boxes, k), inf where there is none.
        """

    @abc.abstractmethod
    def transform_within(
        self,
        coordinates: tuple[int, ...],
        lower: np.ndarray,
        upper: np.ndarray,
        uniforms: Float[Array, "... boxes n noise"],
    ) -> Float[Array, "... boxes n size"]:
        """Actions conditional on lying in each box, from uniform noise.

        A box of probability zero gets some point; its weight is zero wherever it is used.
        """


class VectorDistribution(ContinuousDistribution):
    """A distribution whose parameters have the shape of its actions."""

    @property
    @abc.abstractmethod
    def parameter_shape(self) -> tuple[int, ...]:
        """Shape (..., size) of its parameters."""

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the states it was evaluated at."""
        return self.parameter_shape[:-1]

    @property
    def action_size(self) -> int:
        """Number of coordinates of an action."""
        return int(self.parameter_shape[-1])

    @property
    def noise_size(self) -> int:
        """One uniform number a coordinate."""
        return self.action_size


class DiscreteDistribution(ActionDistribution):
    """A distribution over the actions 0, …, n - 1."""

    @property
    @abc.abstractmethod
    def probabilities(self) -> Float[Array, "... n"]:
        """Probability of each action."""

    @property
    @abc.abstractmethod
    def n_actions(self) -> int:
        """Number of actions."""

    def set_mass(self, membership: np.ndarray) -> Float[Array, "... sets"]:
        """Probability of sets of actions given as the columns of a 0/1 matrix (n, sets)."""
        return self.probabilities @ jnp.asarray(membership, self.probabilities.dtype)


def product(factors: Float[Array, "... k"]) -> Float[Array, "..."]:
    """Product over the last axis; k is small, and usually one, so it is written out."""
    return functools.reduce(operator.mul, (factors[..., i] for i in range(factors.shape[-1])))


def choose(
    uniforms: Float[Array, "... 1"], weights: Float[Array, "... options"]
) -> Int[Array, "..."]:
    """Index of the option that uniform noise in [0, 1] falls on; weights add up to about one.

    Options of weight zero are never chosen, whatever the noise and the rounding of partial sums.
    """
    uniforms = jnp.asarray(uniforms)
    below_one = jnp.clip(uniforms, 0.0, 1.0 - np.finfo(uniforms.dtype).epsneg)
    reach = jnp.where(weights > 0, jnp.cumsum(weights, axis=-1), -jnp.inf)
    return jnp.argmax(reach > below_one * jnp.max(reach, axis=-1, keepdims=True), axis=-1)
