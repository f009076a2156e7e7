"""Plain distributions over action vectors: uniform on a box, and one point."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from nacre.policies.distributions.interface import VectorDistribution, product


class Uniform(VectorDistribution):
    """Uniform on the box [low, high], low < high, at every state of the batch."""

    low: Float[Array, "... size"]
    high: Float[Array, "... size"]

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """Shape (..., size) of its parameters."""
        return self.low.shape

    def transform(self, uniforms: Array) -> Array:
        """Stretch the unit cube to the box."""
        return _between(self.low, self.high, uniforms)

    def log_prob(self, actions: Array) -> Array:
        """Minus the log volume inside the box, -inf outside."""
        inside = jnp.all((actions >= self.low) & (actions <= self.high), axis=-1)
        return jnp.where(inside, -jnp.sum(jnp.log(self.high - self.low), axis=-1), -jnp.inf)

    def mode(self) -> Array:
        """Centre of the box."""
        return 0.5 * (self.low + self.high)

    def box_mass(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes"]:
        """Share of the volume."""
        chosen = np.asarray(coordinates)
        low, high = self.low[..., None, chosen], self.high[..., None, chosen]
        above = _clip(upper, low, high) - low
        below = _clip(lower, low, high) - low
        return product((above - below) / (high - low))

    def transform_within(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray, uniforms: Array
    ) -> Array:
        """Stretch the unit cube to what the two boxes share."""
        chosen = np.asarray(coordinates)
        shape = (*self.low.shape[:-1], len(lower), 1, self.low.shape[-1])
        low = jnp.broadcast_to(self.low[..., None, None, :], shape)
        high = jnp.broadcast_to(self.high[..., None, None, :], shape)
        inner_low = low.at[..., chosen].set(
            _clip(lower[:, None], low[..., chosen], high[..., chosen])
        )
        inner_high = high.at[..., chosen].set(
            _clip(upper[:, None], low[..., chosen], high[..., chosen])
        )
        return _between(inner_low, inner_high, uniforms)


class Deterministic(VectorDistribution):
    """One action vector for sure."""

    action: Float[Array, "... size"]

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """Shape (..., size) of its parameters."""
        return self.action.shape

    @property
    def noise_size(self) -> int:
        """No chance is involved."""
        return 0

    def transform(self, uniforms: Array) -> Array:
        """The action, once for every sample asked for."""
        return jnp.broadcast_to(self.action, (*uniforms.shape[:-1], self.action_size))

    def log_prob(self, actions: Array) -> Array:
        """Log probability of the atom: 0 at the action, -inf elsewhere."""
        return jnp.where(jnp.all(actions == self.action, axis=-1), 0.0, -jnp.inf)

    def mode(self) -> Array:
        """The action."""
        return self.action

    def box_mass(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes"]:
        """One for the box that holds the action; no gradient."""
        chosen = self.action[..., None, np.asarray(coordinates)]
        inside: Bool[Array, "... boxes"] = jnp.all((chosen > lower) & (chosen <= upper), axis=-1)
        return inside.astype(self.action.dtype)

    def transform_within(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray, uniforms: Array
    ) -> Array:
        """The action itself: the other boxes have no mass."""
        return jnp.broadcast_to(
            self.action[..., None, None, :], (*uniforms.shape[:-1], self.action_size)
        )


def _clip(edges: np.ndarray, low: Array, high: Array) -> Array:
    return jnp.clip(jnp.asarray(edges, low.dtype), low, high)


def _between(low: Array, high: Array, uniforms: Array) -> Array:
    # Rounding may step over the upper bound.
    return jnp.minimum(low + (high - low) * jnp.asarray(uniforms), high)
