"""Normal distributions over action vectors, on the whole space or pressed into a box."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, erfinv, ndtri
from jaxtyping import Array, Bool, Float

from nacre.errors import InputError
from nacre.policies.distributions.interface import VectorDistribution, product


class Gaussian(VectorDistribution):
    """Normal with independent coordinates, on the whole space."""

    location: Float[Array, "... size"]
    log_std: Float[Array, "... size"]

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """Shape (..., size) of its parameters."""
        return self.location.shape

    @property
    def std(self) -> Float[Array, "... size"]:
        """Standard deviation of each coordinate, before any squashing."""
        return jnp.exp(self.log_std)

    def transform(self, uniforms: Array) -> Array:
        """Location + std · Φ⁻¹(uniform), squashed where the class squashes."""
        return self._squash(self.location + self.std * _normal_from_uniform(uniforms))

    def log_prob(self, actions: Array) -> Array:
        """Log density by change of variables."""
        latent = self.unsquash(actions)
        z = (latent - self.location) / self.std
        normal = -0.5 * z**2 - self.log_std - 0.5 * math.log(2 * math.pi)
        return jnp.sum(normal - self._log_slope(latent), axis=-1)

    def mode(self) -> Array:
        """Image of the normal's centre."""
        return self._squash(self.location)

    def box_mass(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> Float[Array, "... boxes"]:
        """Π over coordinates of Φ(upper) - Φ(lower)."""
        below, above, _ = self._standard_edges(coordinates, lower, upper)
        return product(jnp.maximum(normal_cdf(above) - normal_cdf(below), 0.0))

    def transform_within(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray, uniforms: Array
    ) -> Array:
        """Location + std · Φ⁻¹ of the noise pressed between the Φ of the box's edges."""
        chosen = np.asarray(coordinates)
        uniforms = jnp.asarray(uniforms)
        below, above, mirrored = (
            edge[..., None, :] for edge in self._standard_edges(coordinates, lower, upper)
        )
        start, noise = normal_cdf(below), uniforms[..., chosen]
        # Mirrored noise too: the action grows with its noise, and steadily with the parameters.
        share = start + (normal_cdf(above) - start) * jnp.where(mirrored, 1.0 - noise, noise)
        number = np.finfo(share.dtype)
        within = _quantile(jnp.clip(share, number.tiny, 1.0 - number.epsneg))
        # Where the mass is too small for its type the point goes to the edge next to the mean.
        within = jnp.clip(within, below, above)
        within = jnp.where(mirrored, -within, within)
        normal = _normal_from_uniform(uniforms).at[..., chosen].set(within)
        location, std = self.location[..., None, None, :], self.std[..., None, None, :]
        actions = self._squash(location + std * normal)
        inside = jnp.clip(actions[..., chosen], lower[:, None], upper[:, None])
        return actions.at[..., chosen].set(inside)

    def kl(self, other: Gaussian) -> Float[Array, "..."]:
        """KL(self ‖ other), exact: a squashing that both share does not change it."""
        if not self._squashes_like(other):
            raise InputError(
                f"KL between {self._described()} and {other._described()} has no closed form; give "
                "both policies the same kind and the same action bounds"
            )
        ratio = 2.0 * (self.log_std - other.log_std)
        distance = ((self.location - other.location) / other.std) ** 2
        return 0.5 * jnp.sum(jnp.expm1(ratio) - ratio + distance, axis=-1)

    def _standard_edges(
        self, coordinates: tuple[int, ...], lower: np.ndarray, upper: np.ndarray
    ) -> tuple[Array, Array, Bool[Array, "... boxes k"]]:
        """Edges in standard deviations from the mean, (..., boxes, k), and which are mirrored.

        Far above the mean Φ rounds to one and differences vanish, so intervals that start above it
        are mirrored to the lower tail, where Φ keeps its digits.
        """
        chosen = np.asarray(coordinates)
        mean, std = self.location[..., None, chosen], self.std[..., None, chosen]
        below = _standardise(self._unsquash_edges(lower, chosen), mean, std)
        above = _standardise(self._unsquash_edges(upper, chosen), mean, std)
        mirrored = below > 0
        return jnp.where(mirrored, -above, below), jnp.where(mirrored, -below, above), mirrored

    def _squash(self, latent: Array) -> Array:
        return latent

    def unsquash(self, actions: Array) -> Array:
        """The normal's values behind actions."""
        return actions

    def _log_slope(self, latent: Array) -> Array:
        return jnp.zeros_like(latent)

    def _unsquash_edges(self, edges: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        return edges

    @property
    def _limits(self) -> tuple[tuple[float, ...], ...]:
        return ()

    def _squashes_like(self, other: Gaussian) -> bool:
        return type(self) is type(other) and self._limits == other._limits

    def _described(self) -> str:
        return "a Gaussian"


class SquashedGaussian(Gaussian):
    """A normal pressed into the box [low, high] by a scaled tanh, as the published policies."""

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)

    @property
    def _centre(self) -> np.ndarray:
        return np.add(self.high, self.low) / 2

    @property
    def _half(self) -> np.ndarray:
        return np.subtract(self.high, self.low) / 2

    def _squash(self, latent: Array) -> Array:
        dtype = latent.dtype
        stretched = jnp.asarray(self._half, dtype) * jnp.tanh(latent)
        # Rounding may step over a bound that the environment takes literally.
        return jnp.clip(
            jnp.asarray(self._centre, dtype) + stretched,
            jnp.asarray(self.low, dtype),
            jnp.asarray(self.high, dtype),
        )

    def unsquash(self, actions: Array) -> Array:
        """The normal's values behind actions: atanh of their places in the box."""
        dtype = self.location.dtype
        unit = (actions - jnp.asarray(self._centre, dtype)) / jnp.asarray(self._half, dtype)
        # An action on the boundary is a rounded sample: move it inside by one rounding.
        inside = 1.0 - np.finfo(dtype).epsneg
        return jnp.arctanh(jnp.clip(unit, -inside, inside))

    def _log_slope(self, latent: Array) -> Array:
        """Log of d(action)/d(latent), written without cancellation for large |latent|."""
        tanh_slope = 2.0 * (math.log(2.0) - latent - jax.nn.softplus(-2.0 * latent))
        return tanh_slope + jnp.asarray(np.log(self._half), latent.dtype)

    def _unsquash_edges(self, edges: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        unit = (edges - self._centre[coordinates]) / self._half[coordinates]
        with np.errstate(divide="ignore"):
            return np.asarray(np.arctanh(np.clip(unit, -1.0, 1.0)))

    @property
    def _limits(self) -> tuple[tuple[float, ...], ...]:
        return self.low, self.high

    def _described(self) -> str:
        return f"a Gaussian squashed to {list(self.low)} … {list(self.high)}"


def normal_cdf(z: Array) -> Array:
    """Φ, with all its digits in the lower tail: mirror what lies above."""
    return 0.5 * erfc(-math.sqrt(0.5) * z)


def _normal_from_uniform(uniforms: Array) -> Array:
    """Φ⁻¹, finite at 0 and 1 too."""
    uniforms = jnp.asarray(uniforms)
    rounding = np.finfo(uniforms.dtype).epsneg
    return math.sqrt(2.0) * erfinv(2.0 * jnp.clip(uniforms, rounding, 1.0 - rounding) - 1.0)


@jax.custom_jvp
def _quantile(probabilities: Array) -> Array:
    """Φ⁻¹, accurate down to the smallest probabilities."""
    return ndtri(probabilities)


@_quantile.defjvp
def _quantile_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """One over the density, instead of the derivative of an approximation."""
    z = _quantile(*primals)
    return z, tangents[0] * math.sqrt(2.0 * math.pi) * jnp.exp(0.5 * z**2)


def _standardise(edges: np.ndarray, mean: Array, std: Array) -> Array:
    """(edges - mean) / std; infinite edges stay infinite and have no gradient."""
    finite = np.isfinite(edges)
    z = (jnp.asarray(np.where(finite, edges, 0.0), mean.dtype) - mean) / std
    return jnp.where(finite, z, jnp.asarray(edges, mean.dtype))
