"""Arrays of many problems at once: the batch is the last axis ("lanes"), sets are bits of words."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeVar, cast

import jax
import jax.numpy as jnp

_T = TypeVar("_T")
WORD = 32
"""Nodes in a word of a set."""
compute_once = cast(Callable[[_T], _T], jax.lax.optimization_barrier)
"""Keeps XLA from repeating a computation in each of its uses."""


def count_rows(size: int) -> jax.Array:
    """0 to size - 1, as a column."""
    return jnp.arange(size, dtype=jnp.int32)[:, None]


def find_least(array: jax.Array, axis: int = 0) -> jax.Array:
    """The minimum along an axis."""
    # XLA turns reductions over more than 32 elements into a slow windowed form on processors.
    cuts = list(range(WORD, array.shape[axis], WORD))
    parts = [part.min(axis) for part in jnp.split(array, cuts, axis)]
    return compute_once(reduce(jnp.minimum, parts))


def find_first(mask: jax.Array) -> jax.Array:
    """Index of the first true entry along axis 0, the last index where there is none."""
    return find_least(jnp.where(mask, count_rows(len(mask)), len(mask) - 1))


def take(array: jax.Array, index: jax.Array) -> jax.Array:
    """`array[index[k, b], ..., b]` for every k and lane b: (k, ..., B) for an index (k, B)."""
    index = index.reshape(len(index), *(1,) * (array.ndim - 2), -1)
    return jnp.take_along_axis(array, index, 0, mode="promise_in_bounds")


def pick(array: jax.Array, index: jax.Array) -> jax.Array:
    """`array[index[b], ..., b]` for every lane b."""
    return take(array, index[None])[0]


def pick_row(cost: jax.Array, index: jax.Array) -> jax.Array:
    """`cost[index[b], :, b]` for every lane b, where all lanes may share the costs."""
    return (
        cost.at[index, :, 0].get(mode="promise_in_bounds").T
        if cost.shape[-1] == 1
        else pick(cost, index)
    )


def has_node(sets: jax.Array, node: jax.Array) -> jax.Array:
    """Is `node` (B,) in each of the `sets` (..., W, B)?"""
    word = sets[..., 0, :]
    for k in range(1, sets.shape[-2]):
        word = jnp.where(node // WORD == k, sets[..., k, :], word)
    return (word >> (node % WORD).astype(jnp.uint32)) & 1 == 1


def members(word: jax.Array) -> jax.Array:
    """Bits (32, ...) of the words (...) of a set of nodes."""
    shift = jnp.arange(WORD, dtype=jnp.uint32).reshape((WORD,) + (1,) * word.ndim)
    return (word[None] >> shift) & 1 == 1
