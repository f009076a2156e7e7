"""Heads: how a row of numbers becomes a distribution over actions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nacre.policies.distributions import (
    ActionDistribution,
    Categorical,
    ClippedGaussian,
    Deterministic,
    Gaussian,
    SquashedGaussian,
    deterministic_choice,
)

if TYPE_CHECKING:
    from nacre.policies.policy import Signature

Head = Literal[
    "squashed_gaussian", "gaussian", "clipped_gaussian", "categorical", "greedy", "deterministic"
]
DISCRETE_HEADS = ("categorical", "greedy")
USUAL_LOG_STD = (-20.0, 2.0)


def count_outputs(head: str, action_size: int) -> int:
    """How many numbers a head reads."""
    return action_size * (2 if head.endswith("gaussian") else 1)


def default_head(signature: Signature) -> Head:
    """Categorical for discrete actions, else Gaussian, squashed where the actions are bounded."""
    if signature.discrete_actions:
        return "categorical"
    low, high = signature.action_limits
    bounded = np.all(np.isfinite([low, high])) and np.all(np.less(low, high))
    return "squashed_gaussian" if bounded else "gaussian"


def plain_gaussian(signature: Signature) -> Head:
    """The head for a mean and a standard deviation: clipped wherever the actions have bounds."""
    return "clipped_gaussian" if np.any(np.isfinite(signature.action_limits)) else "gaussian"


def digest_outputs(head: Head, *arrays: Array) -> str:
    """SHA-256 of a head and of arrays that say what it reads."""
    content = hashlib.sha256(head.encode())
    for array in arrays:
        content.update(np.asarray(array).tobytes())
    return content.hexdigest()


def make_distribution(
    head: Head,
    outputs: Float[Array, "... outputs"],
    signature: Signature,
    log_std_bounds: tuple[float, float] = USUAL_LOG_STD,
) -> ActionDistribution:
    """Numbers as a distribution.

    Gaussian heads read k locations, then k log standard deviations, clipped to their bounds.
    """
    if head == "categorical":
        return Categorical(outputs)
    if head == "greedy":
        return deterministic_choice(jnp.argmax(outputs, axis=-1), signature.action_size)
    if head == "deterministic":
        low, high = (jnp.asarray(limit, outputs.dtype) for limit in signature.action_limits)
        return Deterministic(jnp.clip(outputs, low, high))
    location, log_std = jnp.split(outputs, 2, axis=-1)
    log_std = jnp.clip(log_std, *log_std_bounds)
    if head == "gaussian":
        return Gaussian(location, log_std)
    if head == "clipped_gaussian":
        return ClippedGaussian(location, log_std, *signature.action_limits)
    return SquashedGaussian(location, log_std, *signature.action_limits)
