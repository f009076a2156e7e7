"""Distributions over action vectors that the tests share, by name."""

from __future__ import annotations

import jax.numpy as jnp

from nacre.policies.distributions import (
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
)


def gaussian() -> Gaussian:
    """Three independent coordinates."""
    return Gaussian(jnp.array([0.3, -0.2, 0.05]), jnp.array([-0.5, 0.2, -1.5]))


def squashed() -> SquashedGaussian:
    """Squashed into the cube."""
    return SquashedGaussian(
        jnp.array([0.3, -0.7, 0.1]), jnp.array([-0.5, 0.4, -1.0]), (-1.0,) * 3, (1.0,) * 3
    )


def squashed_asymmetric() -> SquashedGaussian:
    """Squashed into a box that zero does not halve."""
    return SquashedGaussian(
        jnp.array([0.3, -0.7, 0.4]), jnp.array([-0.5, 0.4, -1.0]), (-2.0, -1.0, -0.5), (0.5, 3, 0.1)
    )


def uniform() -> Uniform:
    """On a box."""
    return Uniform(jnp.array([-1.0, -0.3, -2.0]), jnp.array([0.7, 0.9, 0.5]))


def deterministic() -> Deterministic:
    """One point."""
    return Deterministic(jnp.array([-0.01, 0.5, -0.1]))


def gaussian_and_uniform() -> Mixture:
    """A mixture with a density."""
    return Mixture(jnp.array([0.7, 0.3]), (gaussian(), uniform()))


def deterministic_and_uniform() -> Mixture:
    """A mixture with an atom."""
    return Mixture(jnp.array([0.25, 0.75]), (deterministic(), uniform()))
