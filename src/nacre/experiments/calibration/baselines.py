"""Plain ways to decide, on the same case and the same candidates: verdicts by point estimates.

Each estimates the gain of every candidate from the whole log and switches to the one with the
largest net gain if that is positive. None of them knows how uncertain it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.experiments.calibration.case import Problem
from nacre.experiments.calibration.plain_fitted_q import fit_values
from nacre.logs import Log
from nacre.policies.policy import Policy, ask

Array = NDArray[np.float64]
NEVER = 1e6
"""Log ratio of an action that the candidate never takes."""


def judge_plainly(
    problem: Problem, policies: Mapping[str, Policy], costs: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """What each baseline would do.

    Args:
        problem: The case.
        policies: Candidates by name.
        costs: Their switching costs.

    Returns:
        By baseline: verdict, chosen candidate, estimated net gain.
    """
    estimates = {
        "fitted_q": estimate_by_fitted_q(problem, policies),
        "importance_sampling": estimate_by_weights(problem, policies),
    }
    if isinstance(problem.log.observation_space, gymnasium.spaces.Discrete):
        estimates["empirical_mdp"] = estimate_by_counts(problem, policies)
    return {name: _decide(gains, costs) for name, gains in estimates.items()}


def _decide(gains: Mapping[str, float], costs: Mapping[str, float]) -> dict[str, Any]:
    nets = {name: gain - costs[name] for name, gain in gains.items() if np.isfinite(gain)}
    if not nets:
        return {"verdict": "keep", "chosen": None, "net_gain": None}
    chosen = max(nets, key=lambda name: nets[name])
    verdict = "switch" if nets[chosen] > 0 else "keep"
    return {"verdict": verdict, "chosen": chosen, "net_gain": nets[chosen]}


def estimate_by_fitted_q(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, float]:
    """Fitted-Q evaluation by one network for each policy, the same batches for all."""
    seed = problem.case.seed
    start = problem.log.starts if problem.start is None else problem.start
    everyone = {"": problem.old_policy, **policies}
    values = {
        name: fit_values(problem.log, policy, start, problem.discount, seed=seed)
        for name, policy in everyone.items()
    }
    return {name: values[name] - values[""] for name in policies}


def estimate_by_counts(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, float]:
    """Exact values in the world of the log's frequencies; pairs never seen end with nothing."""
    log = problem.log
    n_states, n_actions = log.observation_space.n, log.action_space.n  # type: ignore[attr-defined]
    pairs = np.asarray(log.observations, np.int64) * n_actions + np.asarray(log.actions, np.int64)
    visits = np.maximum(np.bincount(pairs, minlength=n_states * n_actions), 1)
    reward = np.bincount(pairs, log.rewards, n_states * n_actions) / visits
    going = np.flatnonzero(~np.asarray(log.terminated))
    onward = np.zeros((n_states * n_actions, n_states))
    np.add.at(onward, (pairs[going], np.asarray(log.next_observations, np.int64)[going]), 1.0)
    onward /= visits[:, None]
    start = np.asarray(log.starts if problem.start is None else problem.start, np.int64).ravel()

    def value(policy: Policy) -> float:
        said: Any = policy(jnp.arange(n_states))
        table = np.asarray(said.probabilities, np.float64)
        moves = np.einsum("sa,sat->st", table, onward.reshape(n_states, n_actions, n_states))
        earned = (table * reward.reshape(n_states, n_actions)).sum(axis=-1)
        values = np.linalg.solve(np.eye(n_states) - problem.discount * moves, earned)
        return float(values[start].mean())

    old = value(problem.old_policy)
    return {name: value(policy) - old for name, policy in policies.items()}


def estimate_by_weights(problem: Problem, policies: Mapping[str, Policy]) -> dict[str, float]:
    """Weighted importance sampling per decision: Σ_t γ^t Σ_i w_it r_it / Σ_i w_it.

    w_it is the product of the ratios of episode i up to step t; an episode that has ended keeps its
    last weight and earns nothing.
    """
    log = problem.log
    episodes = log.episode_ids
    steps = np.arange(len(log)) - np.repeat(log.offsets[:-1], log.episode_lengths)
    shape = (log.n_episodes, int(log.episode_lengths.max()))
    rewards, factors = np.zeros(shape), problem.discount ** np.arange(shape[1])
    rewards[episodes, steps] = log.rewards
    known = _log_chances(problem.old_policy, log)

    def value(chances: Array) -> float:
        with np.errstate(invalid="ignore"):
            differences = np.where(np.isneginf(chances), -NEVER, chances - known)
        if not np.isfinite(differences).all():
            # Densities of policies without noise cannot be compared.
            return float("nan")
        ratios = np.zeros(shape)
        ratios[episodes, steps] = differences
        sums = np.cumsum(ratios, axis=1)
        largest = sums.max(axis=0)
        weights = np.exp(sums - largest)
        means = (weights * rewards).sum(axis=0) / weights.sum(axis=0)
        # Where no episode does what the candidate would, nothing is known: it counts as nothing.
        return float((factors * np.where(largest > -NEVER / 2, means, 0.0)).sum())

    old = value(known)
    return {name: value(_log_chances(policy, log)) - old for name, policy in policies.items()}


def _log_chances(policy: Policy, log: Log) -> Array:
    """Log π(a|s) of the log's own actions (N,), NaN without densities; rows filled up to 2^k."""
    n = len(log)
    size = 1 << (n - 1).bit_length()
    rows = np.zeros(size, np.int64)
    rows[:n] = np.arange(n)
    said = ask(policy, jnp.asarray(np.asarray(log.observations)[rows]))
    try:
        chances = said.log_prob(jnp.asarray(np.asarray(log.actions)[rows]))
    except TypeError:
        # A mixture with a part without noise has no density.
        return np.full(n, np.nan)
    return np.asarray(chances, np.float64)[:n]
