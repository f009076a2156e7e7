"""What made a log that several known policies acted in, one after the other by whole episodes.

With shares α_k of the episodes, the actions of an episode have the probability Σ_k α_k Π_u
π_k(a_u|s_u): that of a mixture from which a policy is drawn for each episode (the balance heuristic
of Veach and Guibas, 1995; Agarwal et al., 2017, for logs of several policies). Step by step it is

    b(a_t | h_t) = Σ_k p_k(h_t) π_k(a_t|s_t),    p_k(h_t) ∝ α_k Π_{u < t} π_k(a_u|s_u),

p_k the probability that policy k acts, after what was seen. Weights π / b are never larger than
1/α_k for a policy that acted itself. Which policy really acted is not needed, only how often each.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nacre.diagnostics.log_answers import ask_along
from nacre.estimators.base import Problem
from nacre.logs import Log
from nacre.logs.acting import find_acting
from nacre.policies.mixture import mix_policies
from nacre.policies.policy import Policy

Floats = NDArray[np.float64]

LEAST_LOG_PROBABILITY = -1e4
"""Of an action that a policy never takes: as good as nothing, but sums stay finite."""
LARGEST_LOG_RATIO = 50.0


def find_shares(log: Log, n_policies: int) -> Floats:
    """(K,) α_k, the share of episodes in which each policy acted."""
    return np.asarray(np.bincount(find_acting(log), minlength=n_policies) / log.n_episodes)


def mix_behaviours(problem: Problem) -> Policy:
    """What acts at the first step of an episode: the policies mixed by their shares."""
    shares = find_shares(problem.log, len(problem.behaviours))
    mixed, total = problem.old_policy, shares[0]
    for policy, share in zip(problem.acting, shares[1:], strict=True):
        total += share
        mixed = mix_policies(mixed, policy, float(share / total)) if share > 0 else mixed
    return mixed


def find_behaviour(log: Log, policies: Sequence[Policy]) -> Floats:
    """(N,) log b(a_t | h_t) of the actions taken.

    Raises:
        TypeError: If a policy has no density.
    """
    logs = np.stack([read_log_probabilities(log, policy) for policy in policies])
    with np.errstate(divide="ignore"):
        shares = np.log(find_shares(log, len(policies)))[:, None]
    found = np.empty(len(log))
    for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        sums = shares + np.cumsum(logs[:, begin:end], axis=1)
        reached = logsumexp(np.concatenate([shares, sums], axis=1), axis=0)
        found[begin:end] = np.diff(reached)
    return found


def read_log_probabilities(log: Log, policy: Policy) -> Floats:
    """(N,) log π(a|s) of the actions taken, or of their density; very low for what is never done.

    Raises:
        TypeError: If the policy has no density.
    """
    found = np.empty(len(log))
    for rows, said, actions in ask_along(log, policy):
        found[rows] = np.asarray(said.log_prob(jnp.asarray(actions)), np.float64)[: len(rows)]
    found = np.where(np.isnan(found), -np.inf, found)
    return np.clip(found, LEAST_LOG_PROBABILITY, -LEAST_LOG_PROBABILITY)


def limit_ratios(logs: Floats) -> Floats:
    """Logarithms of ratios, within what can be summed up."""
    return np.clip(logs, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
