"""Mixtures of distributions over action vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nacre.policies.distributions.interface import ContinuousDistribution, choose
from nacre.policies.distributions.vectors import Deterministic


class Mixture(ContinuousDistribution):
    """With probability weights[..., i], the i-th of several distributions over action vectors.

    A mixture of categorical distributions is categorical: mix their probabilities instead.
    """

    weights: Float[Array, "... parts"]
    parts: tuple[ContinuousDistribution, ...]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the states it was evaluated at."""
        return jnp.broadcast_shapes(
            self.weights.shape[:-1], *(part.batch_shape for part in self.parts)
        )

    @property
    def action_size(self) -> int:
        """Number of coordinates of an action."""
        return self.parts[0].action_size

    @property
    def noise_size(self) -> int:
        """Numbers to draw from a part, and the last one to choose it: parts see the same draws."""
        return 1 + max(part.noise_size for part in self.parts)

    def transform(self, uniforms: Array) -> Array:
        """Choose a part with the last number, draw from it with the others."""
        draws = [part.transform(uniforms[..., : part.noise_size]) for part in self.parts]
        return _pick(choose(uniforms[..., -1:], self.weights), draws)

    def log_prob(self, actions: Array) -> Array:
        """Log of the weighted sum of densities; parts that are single points have no density."""
        if any(isinstance(part, Deterministic) for part in self.parts):
            raise TypeError(
                "a mixture with a deterministic part has no density; use its mass or its samples"
            )
        logs = jnp.stack(
            jnp.broadcast_arrays(*(part.log_prob(actions) for part in self.parts)), axis=-1
        )
        return jax.nn.logsumexp(logs, axis=-1, b=self.weights)

    def mode(self) -> Array:
        """Mode of the heaviest part."""
        shape = (*self.batch_shape, self.action_size)
        modes = [jnp.broadcast_to(part.mode(), shape) for part in self.parts]
        return _pick(jnp.argmax(self.weights, axis=-1), modes)

    def box_mass(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes"]:
        """Weighted sum of the parts' masses."""
        return jnp.sum(self._shares(coordinates, lower, upper), axis=-1)

    def transform_within(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray, uniforms: Array
    ) -> Array:
        """Choose a part by its share of the box, then draw from it within the box."""
        shares = self._shares(coordinates, lower, upper)
        total = jnp.sum(shares, axis=-1, keepdims=True)
        shares = shares / jnp.where(total > 0, total, 1.0)
        chosen = choose(uniforms[..., -1:], shares[..., None, :])
        draws = [
            part.transform_within(coordinates, lower, upper, uniforms[..., : part.noise_size])
            for part in self.parts
        ]
        return _pick(chosen, draws)

    def _shares(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes parts"]:
        masses = [part.box_mass(coordinates, lower, upper) for part in self.parts]
        return self.weights[..., None, :] * jnp.stack(jnp.broadcast_arrays(*masses), axis=-1)


def _pick(chosen: Array, options: list[Array]) -> Array:
    """options[chosen] for every row."""
    picked = options[0]
    for i, option in enumerate(options[1:], start=1):
        picked = jnp.where((chosen == i)[..., None], option, picked)
    return picked
