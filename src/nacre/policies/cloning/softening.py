"""Softmax policies from greedy ones: they have gradients, so that learning can start there."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from nacre.errors import InputError
from nacre.policies.network_policy import MLPPolicy

_LARGEST_EXPONENT = 40.0


def soften(policy: MLPPolicy, observations: ArrayLike, confidence: float = 0.95) -> MLPPolicy:
    """A greedy policy as a softmax of its outputs, which has gradients and finite divergences.

    The outputs are scaled by one number, so that the chosen action has the given probability on
    average over the observations. The chosen action stays the most probable one everywhere.

    Args:
        policy: A network with a greedy head.
        observations: Where to average, such as the log's observations.
        confidence: Mean probability of the chosen action, between 1 / actions and 1.

    Raises:
        InputError: If the head is another one, or no scale gives that confidence.
    """
    n = policy.signature.action_size
    if policy.head != "greedy" or not 1.0 / n < confidence < 1.0:
        raise InputError(
            f"cannot soften a policy with head {policy.head!r} to confidence {confidence}; give "
            f"one with head 'greedy' and a confidence between {1.0 / n:.3g} and 1"
        )
    rows = jnp.asarray(observations)
    values = np.asarray(policy.outputs_at(rows), np.float64)
    gaps = values - values.max(axis=-1, keepdims=True)
    low, high = -_LARGEST_EXPONENT, _LARGEST_EXPONENT
    if _mean_top(gaps, np.exp(high)) < confidence:
        raise InputError(
            "the two largest outputs are equal at too many observations for the confidence "
            f"{confidence}; lower it"
        )
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _mean_top(gaps, np.exp(middle)) < confidence else (low, middle)
        )
    scale = jnp.asarray(np.exp(high), jnp.float32)
    weight, bias = policy.network.weights[-1], policy.network.biases[-1]
    network = policy.network.with_last(weight * scale, bias * scale)
    return dataclasses.replace(policy, network=network, head="categorical")


def _mean_top(gaps: Float[np.ndarray, "rows actions"], scale: float) -> float:
    return float(np.mean(1.0 / np.exp(gaps * scale).sum(axis=-1)))
