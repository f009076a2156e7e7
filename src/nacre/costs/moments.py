"""Closed form of the general transport cost between Gaussians.

Under the independent coupling and the squared distance only means and variances matter,
E|x - y|² = |E x - E y|² + Σ Var x + Σ Var y, and within boxes those of truncated normals are known.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nacre.costs.groups import ActionGroups, Boxes
from nacre.errors import InputError
from nacre.policies.distributions.gaussian import Gaussian, normal_cdf

# Below this a gradient would divide by the mass squared, which float32 cannot hold. Nothing is
# lost: such a box adds its mass times a distance.
SMALLEST_MASS = 1e-18


def gaussian_costs(
    old: Gaussian, new: Gaussian, groups: ActionGroups
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """∫|x - y|² dγ and ∫|x - y|² dλ for the independent plans between two Gaussians."""
    if not isinstance(groups, Boxes):
        raise InputError("Gaussian policies need groups of action vectors, e.g. groups.sign(0)")
    for policy in (old, new):
        if type(policy) is not Gaussian:
            raise InputError(
                f"the closed form is for Gaussian policies, this one is a {type(policy).__name__}: "
                "use a sampled plan"
            )
    # Distances do not change when both are moved; squares of large locations would cancel.
    origin = jax.lax.stop_gradient(old.location)
    mass_old, mean_old, variance_old = group_moments(old, groups)
    mass_new, mean_new, variance_new = group_moments(new, groups)
    mean_old, mean_new = mean_old - origin[..., None, :], mean_new - origin[..., None, :]
    square_old = jnp.sum(mean_old**2 + variance_old, axis=-1)
    square_new = jnp.sum(mean_new**2 + variance_new, axis=-1)
    cross = jnp.einsum("...ik,...jk->...ij", mean_old, mean_new)
    distance = square_old[..., :, None] + square_new[..., None, :] - 2.0 * cross
    surplus = jnp.maximum(mass_old - mass_new, 0.0)
    deficit = jnp.maximum(mass_new - mass_old, 0.0)
    moved = jnp.sum(surplus, axis=-1)
    flows = surplus[..., :, None] * deficit[..., None, :]
    flows = flows / jnp.where(moved > SMALLEST_MASS, moved, 1.0)[..., None, None]
    kept = jnp.minimum(mass_old, mass_new)
    within = jnp.diagonal(distance, axis1=-2, axis2=-1)
    return jnp.sum(flows * distance, axis=(-2, -1)), jnp.sum(kept * within, axis=-1)


def group_moments(
    distribution: Gaussian, groups: Boxes
) -> tuple[Float[Array, "... L"], Float[Array, "... L size"], Float[Array, "... L size"]]:
    """Mass of every box, and mean and variance of each coordinate given the box."""
    chosen = np.asarray(groups.coordinates)
    shape = (*distribution.batch_shape, len(groups.lower), distribution.action_size)
    mean = jnp.broadcast_to(distribution.location[..., None, :], shape)
    std = jnp.broadcast_to(distribution.std[..., None, :], shape)
    inner_mean, inner_variance = truncated_moments(
        mean[..., chosen], std[..., chosen], np.array(groups.lower), np.array(groups.upper)
    )
    return (
        distribution.mass(groups),
        mean.at[..., chosen].set(inner_mean),
        (std**2).at[..., chosen].set(inner_variance),
    )


def truncated_moments(
    mean: Array, std: Array, lower: np.ndarray, upper: np.ndarray
) -> tuple[Array, Array]:
    """Mean and variance of N(mean, std) given lower < x ≤ upper; arguments broadcast.

    An interval of hardly any mass counts as its point next to the mean.
    """
    alpha, density_alpha, product_alpha = _standardise(mean, std, lower)
    beta, density_beta, product_beta = _standardise(mean, std, upper)
    # Far in the upper tail the difference of two Φ near one cancels: mirror it to the lower tail.
    mirrored = alpha > 0
    mass = normal_cdf(jnp.where(mirrored, -alpha, beta)) - normal_cdf(
        jnp.where(mirrored, -beta, alpha)
    )
    possible = mass > SMALLEST_MASS
    mass = jnp.where(possible, mass, 1.0)
    shift = jnp.where(possible, (density_alpha - density_beta) / mass, 0.0)
    spread = 1.0 + (product_alpha - product_beta) / mass - shift**2
    # What rounding can do to narrow intervals is bounded: no variance exceeds that of the whole
    # normal, nor that of the two ends.
    widest = jnp.minimum(std**2, jnp.asarray((upper - lower) ** 2 / 4, std.dtype))
    variance = jnp.clip(std**2 * spread, 0.0, widest)
    return (
        jnp.clip(
            mean + std * shift, jnp.asarray(lower, mean.dtype), jnp.asarray(upper, mean.dtype)
        ),
        jnp.where(possible, variance, 0.0),
    )


def _standardise(mean: Array, std: Array, edge: np.ndarray) -> tuple[Array, Array, Array]:
    """Standardised edge z, its density φ(z) and z·φ(z); an infinite edge has density zero."""
    finite = np.isfinite(edge)
    z = (jnp.asarray(np.where(finite, edge, 0.0), mean.dtype) - mean) / std
    density = jnp.where(finite, jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi), 0.0)
    return jnp.where(finite, z, jnp.asarray(edge, mean.dtype)), density, z * density
