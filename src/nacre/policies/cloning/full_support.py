"""Policies with full support, as near as possible to ones without.

Learning measures KL(new ‖ old). From an old policy that never takes some action the divergence is
infinite as soon as the action is tried, and has no gradient.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.policies.blackbox import as_batch
from nacre.policies.cloning.fitting import CloneConfig, clone_outputs
from nacre.policies.cloning.softening import soften
from nacre.policies.heads import Head, plain_gaussian
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.records import RecordedPolicy
from nacre.policies.rules import RulePolicy

EXPLORATION = 0.05
"""Probability shared by the actions that are never taken, or the noise of a deterministic action
vector in units of half its range, of its standard deviation where it has no bounds."""
LARGEST_DIVERGENCE = 1e-4
"""In nats: up to here a clone stands for a policy whose weights are known."""


def give_full_support(policy: Policy, observations: np.ndarray) -> Policy:
    """The same policy with a positive probability of every action; itself where it has one already.

    Discrete actions of probability zero share the probability `EXPLORATION`; deterministic action
    vectors get normal noise of `EXPLORATION` times half their range. Every other number keeps its
    bits. Tables of discrete states are left to `nacre.learners`.

    Args:
        policy: The policy.
        observations: Where it will be asked, such as the log's observations.
    """
    if isinstance(policy, MLPPolicy):
        return _support_network(policy, observations)
    if not isinstance(policy, RecordedPolicy | RulePolicy):
        return policy
    head, outputs = _support_outputs(policy.head, policy.outputs, policy.signature)
    if outputs is policy.outputs:
        return policy
    if isinstance(policy, RulePolicy):
        return dataclasses.replace(policy, outputs=outputs, head=head)
    clone = policy.clone
    if head == "categorical":
        # Fitted to deterministic choices it has become nearly deterministic itself.
        clone = soften(dataclasses.replace(clone, head="greedy"), observations, 1.0 - EXPLORATION)
    else:
        clone = _add_noise(clone, outputs[0, policy.signature.action_size :])
    return dataclasses.replace(policy, outputs=outputs, clone=clone)


def find_start(
    policy: Policy,
    observations: np.ndarray,
    key: PRNGKeyArray,
    config: CloneConfig | None = None,
    largest_divergence: float = LARGEST_DIVERGENCE,
) -> Policy | None:
    """A policy with weights and gradients that acts like this one, from which learning can start.

    A network is fitted to what the policy does at the observations, so that learning starts from
    the same numbers in whichever way the policy was given: as weights, as a file that can only be
    asked, or as columns of the log. A policy that comes with weights is its own start where no
    small network can stand for it.

    Args:
        policy: The policy.
        observations: Where the start should act alike; a record has to know them.
        key: Key of the initial weights, the batches and the rows held out.
        config: How to fit.
        largest_divergence: In nats: up to here the clone stands for a policy that comes with
            weights.

    Returns:
        None for tables, and for policies of other kinds.
    """
    supported = give_full_support(policy, observations)
    rows = as_batch(observations, policy.signature)
    said = _ask(supported, rows)
    if said is None:
        return None
    head, outputs = said
    clone, match = clone_outputs(head, outputs, rows, policy.signature, key, config)
    if isinstance(supported, MLPPolicy) and not match.divergence <= largest_divergence:
        return supported
    return clone


def _ask(policy: Policy, rows: np.ndarray) -> tuple[Head, np.ndarray] | None:
    """What the head of a policy reads at each row; equal distributions have equal numbers."""
    if isinstance(policy, MLPPolicy):
        outputs = policy.outputs_at(jnp.asarray(rows))
        if policy.head.endswith("gaussian"):
            location, log_std = jnp.split(outputs, 2, axis=-1)
            log_std = jnp.clip(log_std, *policy.log_std_bounds)
            outputs = jnp.concatenate([location, log_std], axis=-1)
        head = policy.head
    elif isinstance(policy, RecordedPolicy):
        recorded, known = policy.look_up(jnp.asarray(rows))
        guessed = policy.clone.network(policy.clone.encode(jnp.asarray(rows)))
        outputs, head = jnp.where(known[:, None], recorded, guessed), policy.head
    elif isinstance(policy, RulePolicy):
        outputs, head = jnp.asarray(policy.outputs_at(rows)), policy.head
    else:
        return None
    return head, np.asarray(jax.nn.log_softmax(outputs) if head == "categorical" else outputs)


def _support_network(policy: MLPPolicy, observations: np.ndarray) -> MLPPolicy:
    if policy.head == "greedy":
        return soften(policy, observations, 1.0 - EXPLORATION)
    if policy.head != "deterministic":
        return policy
    said = policy.network(policy.encode(jnp.asarray(observations)))
    return _add_noise(policy, _find_noise(said, policy.signature))


def _add_noise(policy: MLPPolicy, log_std: Float[Array, " size"]) -> MLPPolicy:
    """A network of action vectors with the same noise everywhere."""
    weight, bias = policy.network.weights[-1], policy.network.biases[-1]
    network = policy.network.with_last(
        jnp.concatenate([weight, jnp.zeros_like(weight)], -1), jnp.concatenate([bias, log_std])
    )
    return dataclasses.replace(policy, network=network, head=plain_gaussian(policy.signature))


def _support_outputs(
    head: Head, outputs: Float[Array, "rows outputs"], signature: Signature
) -> tuple[Head, Float[Array, "rows supported"]]:
    if head == "deterministic":
        log_std = jnp.broadcast_to(_find_noise(outputs, signature), outputs.shape)
        return plain_gaussian(signature), jnp.concatenate([outputs, log_std], axis=-1)
    never = jnp.isneginf(outputs)
    if head != "categorical" or not bool(jnp.any(never)):
        return head, outputs
    total = jax.nn.logsumexp(outputs, axis=-1, keepdims=True)
    share = EXPLORATION / jnp.sum(never, axis=-1, keepdims=True)
    return head, jnp.where(never, total + jnp.log(share), outputs)


def _find_noise(actions: Float[Array, "rows size"], signature: Signature) -> Float[Array, " size"]:
    """Log standard deviations: a share of half the range, or of the spread where there is none."""
    low, high = (np.asarray(limit, np.float64) for limit in signature.action_limits)
    bounded = np.isfinite(high - low) & (high > low)
    spread = np.std(np.asarray(actions, np.float64), axis=0)
    half = np.where(bounded, high - low, 2.0) / 2.0
    unit = np.where(bounded | (spread == 0.0), half, spread)
    return jnp.asarray(np.log(EXPLORATION * unit), jnp.float32)
