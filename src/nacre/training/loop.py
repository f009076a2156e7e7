"""An epoch: many pure steps in one compiled loop that leaves as soon as something breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

S = TypeVar("S")
I = TypeVar("I")

Step = Callable[[PRNGKeyArray, S], tuple[S, I]]


def run_epoch(
    step: Step[S, I],
    state: S,
    key: PRNGKeyArray,
    n_steps: int,
    healthy: Callable[[I], Bool[Array, ""]],
) -> tuple[S, I, Int[Array, ""], Bool[Array, ""]]:
    """Run `step` n times, or until an `info` is not healthy.

    Args:
        step: A pure step from a key and a state to a state and an info of scalars.
        state: Where to start.
        key: The epoch's key; step i gets `fold_in(key, i)`.
        n_steps: Number of steps.
        healthy: Whether the loop may go on after this info.

    Returns:
        The last state, the infos' averages, the number of steps done, and whether all were healthy.
        An unhealthy step is the last one done: the state comes after it, averages and number count
        it. A step's info tells of the state before its update, so the caller has to look at the
        last state itself, with `is_finite` for one.
    """
    shapes = jax.eval_shape(step, key, state)[1]
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def go_on(carry: tuple[Int[Array, ""], S, I, Bool[Array, ""]]) -> Bool[Array, ""]:
        i, _, _, ok = carry
        return ok & (i < n_steps)

    def advance(
        carry: tuple[Int[Array, ""], S, I, Bool[Array, ""]],
    ) -> tuple[Int[Array, ""], S, I, Bool[Array, ""]]:
        i, state, sums, _ = carry
        state, info = step(jax.random.fold_in(key, i), state)
        return i + 1, state, jax.tree.map(jnp.add, sums, info), healthy(info)

    count, state, sums, ok = jax.lax.while_loop(
        go_on, advance, (jnp.asarray(0), state, zeros, jnp.asarray(True))
    )
    return state, jax.tree.map(lambda total: total / jnp.maximum(count, 1), sums), count, ok


def within_bounds(
    loss: Float[Array, ""], q: Float[Array, ""], largest_q: Float[Array, ""] | float
) -> Bool[Array, ""]:
    """Whether a loss is finite and the critics' mean value believable; NaN never is."""
    return jnp.isfinite(loss) & (jnp.abs(q) <= largest_q)


def is_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no floating-point number in a tree is NaN or infinite."""
    return jnp.all(jnp.isfinite(ravel_pytree(eqx.filter(tree, eqx.is_inexact_array))[0]))


def measure_norm(tree: Any) -> Float[Array, ""]:
    """Length of all numbers of a tree as one vector: one sum is compiled sooner than many."""
    return jnp.sqrt(jnp.sum(ravel_pytree(tree)[0] ** 2))
