"""The policy that learning starts from, and the old one as something that can be learned from."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from nacre.errors import InputError
from nacre.learners.base import CLONED_ROWS
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.logs import Log
from nacre.policies.blackbox import BlackBox
from nacre.policies.cloning import full_support
from nacre.policies.cloning.fitting import clone_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.records import RecordedPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy
from nacre.training.preparation import fit_scaling

LEAST_LOGIT = -20.0
"""Actions that a table forbids restart at this log probability: zero could never be left again."""


def first_policy(config: LearnerConfig, old_policy: Policy, log: Log, key: Array) -> Policy:
    """The policy that learning starts from: the old one's weights, or fresh ones."""
    if config.actor.warm_start:
        return _learnable(old_policy, log, key)
    scaling = fit_scaling(log) if log.observations.ndim == 2 else None
    return MLPPolicy.init(key, old_policy.signature, hidden=config.actor.hidden, scaling=scaling)


def _learnable(policy: Policy, log: Log, key: Array) -> Policy:
    """The old policy as something with weights and gradients: itself, or a clone of it."""
    opened = open_policy(policy, log)
    if isinstance(opened, RecordedPolicy):
        return opened.clone
    if isinstance(opened, (TabularPolicy, MLPPolicy)):
        return opened
    if isinstance(opened, RulePolicy | BlackBox):
        clone, _ = clone_policy(opened, log.observations[:CLONED_ROWS], key)
        return clone
    raise InputError(
        f"a {type(policy).__name__} has no weights to start from; set actor.warm_start to false to "
        "train from scratch"
    )


def open_policy(policy: Policy, log: Log) -> Policy:
    """The same policy, but nothing is impossible: what it rules out gets a little.

    An action of probability zero has no gradient, an infinite divergence and an infinite ratio.
    Every other number keeps its bits.
    """
    if not isinstance(policy, TabularPolicy):
        return full_support.give_full_support(policy, log.observations[:CLONED_ROWS])
    total = jax.nn.logsumexp(policy.logits, axis=-1, keepdims=True)
    return TabularPolicy(jnp.maximum(policy.logits, total + LEAST_LOGIT), policy.signature)
