"""Candidates for a switch: what could be proposed instead of the old policy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy

LEAST_LOG_STD = -40.0
"""The least log standard deviation that policies may have."""


@dataclass(frozen=True)
class Candidate:
    """A policy that could replace the old one, and where it comes from.

    Args:
        name: What it is called.
        policy: What it does.
        origin: How it came about, for people.
        searched: Whether it was found among many, as learning does: who searches finds the critics'
            errors too. False for what was settled before anybody looked at the log.
    """

    name: str
    policy: Policy
    origin: str
    searched: bool = True


def calm_policy(policy: Policy, factor: float) -> Policy | None:
    """The same policy with less noise: standard deviations times a factor, or sharper choices.

    Returns:
        None for policies that have no noise to take away, or whose noise is not ours to change.
    """
    if isinstance(policy, TabularPolicy):
        if np.all(np.isin(policy.table, (0.0, 1.0))):
            return None
        return TabularPolicy(policy.logits / factor, policy.signature)
    if not isinstance(policy, MLPPolicy):
        return None
    network, size, bounds = policy.network, policy.signature.action_size, policy.log_std_bounds
    if policy.head == "categorical":
        weight, bias = network.weights[-1] / factor, network.biases[-1] / factor
    elif policy.head.endswith("gaussian"):
        # The last outputs are log standard deviations, and those at a bound become less too.
        shift = math.log(factor)
        bounds = (max(bounds[0] + shift, LEAST_LOG_STD), bounds[1] + shift)
        shifts = jnp.where(jnp.arange(2 * size) >= size, shift, 0.0)
        weight, bias = network.weights[-1], network.biases[-1] + shifts
    else:
        return None
    calmer = eqx.tree_at(lambda net: (net.weights[-1], net.biases[-1]), network, (weight, bias))
    return MLPPolicy(calmer, policy.scaling, policy.signature, policy.head, bounds)
