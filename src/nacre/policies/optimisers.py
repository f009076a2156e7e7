"""Optimisers, made once for each setting, and their memories, made by one program."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import optax


def check_adam(
    place: str, learning_rate: float, max_gradient_norm: float | None = None
) -> list[str]:
    """What is wrong with the settings of `clipped_adam`, one line each.

    Args:
        place: What the configuration is called in messages, such as "critics".
        learning_rate: Of Adam.
        max_gradient_norm: Largest norm of a gradient, or None.
    """
    problems = []
    if not learning_rate > 0:
        problems.append(f"{place}.learning_rate = {learning_rate}: must be positive")
    if max_gradient_norm is not None and not max_gradient_norm > 0:
        problems.append(
            f"{place}.max_gradient_norm = {max_gradient_norm}: must be positive, or None for no "
            "limit"
        )
    return problems


@functools.lru_cache(maxsize=64)
def clipped_adam(
    learning_rate: float, max_gradient_norm: float | None
) -> optax.GradientTransformation:
    """Adam behind an optional clip of the gradient's norm.

    All arrays as one vector: the same numbers, compiled sooner than one program for each array.
    """
    adam = optax.flatten(optax.adam(learning_rate))
    if max_gradient_norm is None:
        return adam
    return optax.chain(optax.clip_by_global_norm(max_gradient_norm), adam)


@functools.lru_cache(maxsize=64)
def falling_adam(learning_rate: float, n_steps: int) -> optax.GradientTransformation:
    """Adam with a learning rate that falls to zero along a cosine."""
    return optax.adam(optax.cosine_decay_schedule(learning_rate, n_steps))


@eqx.filter_jit
def init_memory(optimizer: optax.GradientTransformation, arrays: Any) -> optax.OptState:
    """An optimiser's memory of arrays that it has not moved yet.

    All of it in one program instead of one for each shape; compiled once for each optimiser, as
    those above are the same objects for the same settings.
    """
    return optimizer.init(arrays)
