"""Normal distributions whose draws are cut off at the bounds of a box."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float

from nacre.policies.distributions.gaussian import Gaussian


class ClippedGaussian(Gaussian):
    """min(max(x, low), high) of a normal x: what reaches the world from an unsquashed Gaussian.

    Each coordinate has an atom on every finite bound and a normal density between them. Bounds may
    be infinite.
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)

    def log_prob(self, actions: Array) -> Array:
        """Log density between the bounds plus log mass on them: a mixed measure, coordinatewise."""
        dtype = self.location.dtype
        low, high = jnp.asarray(self.low, dtype), jnp.asarray(self.high, dtype)
        inside = jnp.clip(actions, low, high)
        z = (inside - self.location) / self.std
        density = -0.5 * z**2 - self.log_std - 0.5 * math.log(2 * math.pi)
        below, above = self._standard_bounds()
        on_low = log_ndtr(below) if below is not None else density
        on_high = log_ndtr(-above) if above is not None else density
        logs = jnp.where(self._finite(self.low) & (actions == low), on_low, density)
        logs = jnp.where(self._finite(self.high) & (actions == high), on_high, logs)
        logs = jnp.where((actions < low) | (actions > high), -jnp.inf, logs)
        return jnp.sum(logs, axis=-1)

    def kl(self, other: Gaussian) -> Float[Array, "..."]:
        """KL(self ‖ other), exact: the atoms' and the part between the bounds.

        With α, β the bounds in own standard deviations, P = Φ(β) - Φ(α), A = φ(α) - φ(β),
        B = P + αφ(α) - βφ(β) and δ = μ - μ', the middle part of a coordinate is
        P log(σ'/σ) - B/2 + (σ²B + 2σδA + δ²P) / 2σ'².
        """
        if not isinstance(other, ClippedGaussian) or not self._squashes_like(other):
            return super().kl(other)
        own_below, own_above = self._standard_bounds()
        other_below, other_above = other._standard_bounds()
        atoms = jnp.zeros_like(self.location)
        share, slope, bend = jnp.ones_like(atoms), jnp.zeros_like(atoms), jnp.zeros_like(atoms)
        for own, others, sign, bounds in (
            (own_below, other_below, 1.0, self.low),
            (own_above, other_above, -1.0, self.high),
        ):
            if own is None or others is None:
                continue
            finite = self._finite(bounds)
            mass = jnp.where(finite, jnp.exp(log_ndtr(sign * own)), 0.0)
            height = jnp.exp(-0.5 * own**2) / math.sqrt(2 * math.pi)
            height = jnp.where(finite, height, 0.0)
            atoms = atoms + mass * (log_ndtr(sign * own) - log_ndtr(sign * others))
            share, slope = share - mass, slope + sign * height
            bend = bend + sign * own * height
        ratio = self.log_std - other.log_std
        shift = (self.location - other.location) / other.std
        scale = jnp.exp(ratio)
        second = share + bend
        middle = (
            -share * ratio
            - 0.5 * second
            + 0.5 * (scale**2 * second + 2.0 * scale * shift * slope + shift**2 * share)
        )
        return jnp.maximum(jnp.sum(atoms + middle, axis=-1), 0.0)

    def _standard_bounds(self) -> tuple[Array | None, Array | None]:
        """Bounds in standard deviations from the mean; zero stands for infinite ones."""

        def standardise(bounds: tuple[float, ...]) -> Array | None:
            finite = self._finite(bounds)
            if not np.any(finite):
                return None
            edges = jnp.asarray(np.where(finite, bounds, 0.0), self.location.dtype)
            return jnp.where(finite, (edges - self.location) / self.std, 0.0)

        return standardise(self.low), standardise(self.high)

    @staticmethod
    def _finite(bounds: tuple[float, ...]) -> np.ndarray:
        return np.asarray(np.isfinite(bounds))

    def _squash(self, latent: Array) -> Array:
        low, high = jnp.asarray(self.low, latent.dtype), jnp.asarray(self.high, latent.dtype)
        return jnp.clip(latent, low, high)

    def _unsquash_edges(self, edges: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        # All that is cut off at a bound lies on the same side of an edge as the bound itself.
        low, high = np.asarray(self.low)[coordinates], np.asarray(self.high)[coordinates]
        inner = np.where(edges >= high, np.inf, edges)
        return np.asarray(np.where(edges < low, -np.inf, inner))

    @property
    def _limits(self) -> tuple[tuple[float, ...], ...]:
        return self.low, self.high

    def _described(self) -> str:
        return f"a Gaussian clipped to {list(self.low)} … {list(self.high)}"
