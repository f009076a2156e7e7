"""Candidates for a switch: what could be proposed instead of the old policy."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp

from nacre.policies.policy import MLPPolicy, Policy, TabularPolicy


@dataclass(frozen=True)
class Candidate:
    """A policy that could replace the old one, and where it comes from."""

    name: str
    policy: Policy
    origin: str


def calm_policy(policy: Policy, factor: float) -> Policy | None:
    """The same policy with less noise: standard deviations times a factor, or sharper choices.

    Returns:
        None for policies that have no noise to take away, or whose noise is not ours to change.
    """
    if isinstance(policy, TabularPolicy):
        return TabularPolicy(policy.logits / factor, policy.signature)
    if not isinstance(policy, MLPPolicy):
        return None
    network, size = policy.network, policy.signature.action_size
    if policy.head == "categorical":
        weight, bias = network.weights[-1] / factor, network.biases[-1] / factor
    elif policy.head in ("gaussian", "squashed_gaussian"):
        # The last outputs are log standard deviations.
        shift = jnp.where(jnp.arange(2 * size) >= size, jnp.log(factor), 0.0)
        weight, bias = network.weights[-1], network.biases[-1] + shift
    else:
        return None
    calmer = eqx.tree_at(lambda net: (net.weights[-1], net.biases[-1]), network, (weight, bias))
    return MLPPolicy(calmer, policy.scaling, policy.signature, policy.head, policy.log_std_bounds)
