"""Uniform noise for action samples: ordinary, or quasi-random for the same accuracy with fewer."""

from __future__ import annotations

import functools
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from nacre.policies.drawing import draw_uniform

Sampling = Literal["ordinary", "quasi"]

LARGEST_SEARCH = 512


def draw_uniforms(
    key: PRNGKeyArray, n: int, rows: int, size: int, sampling: Sampling = "ordinary"
) -> Float[Array, "n rows size"]:
    """Noise in (0, 1) for n actions at each of several states.

    Quasi-random noise is a lattice shifted by one random vector for each state, modulo one: every
    point is uniform, so means stay unbiased, while the n points together fill the cube more evenly
    than chance.
    """
    if sampling == "ordinary" or n == 1:
        uniforms = draw_uniform(key, (n, rows, size))
    else:
        points = jnp.asarray(lattice_points(n, size), jnp.result_type(float))
        uniforms = (points[:, None, :] + draw_uniform(key, (rows, size))) % 1.0
    # Rounding makes an exact zero of one number in millions: no distribution should have to mind.
    edge = np.finfo(uniforms.dtype).epsneg
    return jnp.clip(uniforms, edge, 1.0 - edge)


@functools.lru_cache(maxsize=32)
def lattice_points(n: int, size: int) -> NDArray[np.float64]:
    """A rank-1 lattice {i·z / n mod 1} of n points in [0, 1)^size.

    The generator z is built coordinate by coordinate: each next one is the number coprime to n with
    the least worst-case error P₂ = mean Π_j (1 + 2π² B₂(x_j)) - 1, B₂(x) = x² - x + 1/6; where
    there are more than a few hundred candidates, the best of an even choice of them.
    """
    steps = np.arange(n)
    candidates = np.array([z for z in range(1, n // 2 + 1) if math.gcd(z, n) == 1] or [1])
    if len(candidates) > LARGEST_SEARCH:
        chosen = np.linspace(0, len(candidates) - 1, LARGEST_SEARCH).astype(int)
        candidates = candidates[chosen]
    products = np.ones(n)
    columns: list[NDArray[np.float64]] = []
    for coordinate in range(size):
        tried = candidates[:1] if coordinate == 0 else candidates
        errors = [float(products @ _kernel(steps * z % n / n)) for z in tried]
        best = steps * tried[int(np.argmin(errors))] % n / n
        products = products * _kernel(best)
        columns.append(best)
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0))


def _kernel(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 + 2.0 * math.pi**2 * (x * x - x + 1.0 / 6.0)
