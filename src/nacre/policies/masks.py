"""Policies that know nothing of action masks, between the spaces of a log that has them."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from gymnasium.spaces import Discrete

from nacre.logs.schema.spaces import is_masked
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Scaling
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import RecordedPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy


def respect_mask(policy: Policy, signature: Signature) -> Policy:
    """The same policy, which no longer takes an action that is not allowed.

    A network that does not read the mask gets inputs for it that weigh nothing. A policy of another
    kind, or of other sizes, is returned as it is.

    Args:
        policy: What was read.
        signature: The log's spaces.
    """
    own = policy.signature
    if not signature.masks or own.masks or own.action_size != signature.action_size:
        return policy
    if isinstance(own.observation_space, Discrete) != is_masked(signature.observation_space):
        return policy
    if isinstance(policy, MLPPolicy):
        missing = signature.observation_size - own.observation_size
        if missing == signature.n_masked:
            policy = _widen(policy, missing)
        elif missing:
            return policy
        return dataclasses.replace(policy, signature=signature)
    if own.observation_size != signature.observation_size:
        return policy
    if isinstance(policy, RecordedPolicy):
        clone = dataclasses.replace(policy.clone, signature=signature)
        return dataclasses.replace(policy, clone=clone)
    if isinstance(policy, RulePolicy | TabularPolicy):
        return dataclasses.replace(policy, signature=signature)
    return policy


def _widen(policy: MLPPolicy, n: int) -> MLPPolicy:
    first, *others = policy.network.weights
    wider = jnp.concatenate([first, jnp.zeros((n, first.shape[1]), first.dtype)])
    network = dataclasses.replace(policy.network, weights=(wider, *others))
    scaling = policy.scaling
    if scaling is not None:
        shift = jnp.concatenate([scaling.shift, jnp.zeros(n)])
        scaling = Scaling(shift, jnp.concatenate([scaling.scale, jnp.ones(n)]), scaling.limit)
    return dataclasses.replace(policy, network=network, scaling=scaling)
