"""Uniform numbers of any shape from one short program."""

from __future__ import annotations

import math

import jax
from jaxtyping import Array, Float, PRNGKeyArray


def draw_uniform(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Numbers in [0, 1), to the bit those of `jax.random.uniform`.

    Drawn as one vector: the places in other shapes take far more code, and time to compile it.
    """
    return jax.random.uniform(key, (math.prod(shape),)).reshape(shape)
