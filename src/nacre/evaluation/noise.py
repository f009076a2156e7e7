"""Uniform noise for action samples: ordinary, or quasi-random for the same accuracy with fewer."""

from __future__ import annotations

import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jaxtyping import Array, Float, PRNGKeyArray

Sampling = Literal["ordinary", "quasi"]


def draw_uniforms(
    key: PRNGKeyArray, n: int, rows: int, size: int, sampling: Sampling = "ordinary"
) -> Float[Array, "n rows size"]:
    """Noise in (0, 1) for n actions at each of several states.

    Quasi-random noise is a Sobol sequence shifted by one random vector for each state (modulo one)
    and folded: every point is uniform, so means stay unbiased, while the n points fill the cube
    more evenly than chance. The fold u ↦ 1 - |2u - 1| makes the integrand periodic, which is what a
    shifted sequence likes.
    """
    if sampling == "ordinary" or n == 1:
        return jax.random.uniform(key, (n, rows, size))
    points = jnp.asarray(_sobol_points(n, size), jnp.result_type(float))
    shift = jax.random.uniform(key, (rows, size))
    shifted = (points[:, None, :] + shift) % 1.0
    return 1.0 - jnp.abs(2.0 * shifted - 1.0)


@functools.lru_cache(maxsize=32)
def _sobol_points(n: int, size: int) -> np.ndarray:
    if size == 0:
        return np.zeros((n, 0))
    rounded = 1 << (n - 1).bit_length()
    points: np.ndarray = scipy.stats.qmc.Sobol(size, scramble=False).random(rounded)[:n]
    return points
