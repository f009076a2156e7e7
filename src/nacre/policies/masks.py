"""Policies that know nothing of action masks, between the spaces of a log that has them."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete

from nacre.logs.schema.spaces import MaskedDiscrete, is_masked
from nacre.policies.blackbox import BlackBox
from nacre.policies.exploring import ExploringPolicy
from nacre.policies.mixture import MixturePolicy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Scaling
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import RecordedPolicy
from nacre.policies.region import RegionPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy


def respect_mask(policy: Policy, signature: Signature) -> Policy:
    """The same policy, which no longer takes an action that is not allowed.

    A network that does not read the mask gets inputs for it that weigh nothing. States that the
    log does not have allow everything. A policy of another kind, or of other sizes, is returned as
    it is.

    Args:
        policy: What was read.
        signature: The log's spaces.
    """
    own = policy.signature
    if not signature.masks or own.masks or own.action_size != signature.action_size:
        return policy
    if isinstance(own.observation_space, Discrete) != is_masked(signature.observation_space):
        return policy
    if isinstance(policy, ExploringPolicy):
        return dataclasses.replace(policy, policy=respect_mask(policy.policy, signature))
    if isinstance(policy, MixturePolicy | RegionPolicy):
        first, second = (respect_mask(one, signature) for one in (policy.first, policy.second))
        return dataclasses.replace(policy, first=first, second=second)
    signature = _cover_states(signature, own.observation_size)
    missing = signature.observation_size - own.observation_size
    if isinstance(policy, MLPPolicy) and missing == signature.n_masked:
        policy, missing = _widen(policy, missing), 0
    if missing:
        return policy
    if isinstance(policy, RecordedPolicy):
        clone = dataclasses.replace(policy.clone, signature=signature)
        return dataclasses.replace(policy, clone=clone)
    if isinstance(policy, MLPPolicy | RulePolicy | TabularPolicy | BlackBox):
        return dataclasses.replace(policy, signature=signature)
    return policy


def _cover_states(signature: Signature, n: int) -> Signature:
    """The same for n numbered states, if these are more than the log has."""
    space = signature.observation_space
    if not is_masked(space) or n <= len(space.allowed):
        return signature
    further = np.ones((n - len(space.allowed), space.allowed.shape[1]), np.bool_)
    allowed = np.concatenate([space.allowed, further])
    return Signature(MaskedDiscrete(allowed), signature.action_space)


def _widen(policy: MLPPolicy, n: int) -> MLPPolicy:
    if not n:
        return policy
    first, *others = policy.network.weights
    wider = jnp.concatenate([first, jnp.zeros((n, first.shape[1]), first.dtype)])
    network = dataclasses.replace(policy.network, weights=(wider, *others))
    scaling = policy.scaling
    if scaling is not None:
        shift = jnp.concatenate([scaling.shift, jnp.zeros(n)])
        scaling = Scaling(shift, jnp.concatenate([scaling.scale, jnp.ones(n)]), scaling.limit)
    return dataclasses.replace(policy, network=network, scaling=scaling)
