"""Bandit logs: policies learned from cross-fitted, doubly robust scores, net of the cost.

The score of action a in episode i, with context x_i, action a_i and reward r_i, is

    Γ_i(a) = m(x_i, a) + 1{a = a_i} (r_i - m(x_i, a)) / b(a|x_i),

m being a model of the reward that was fitted to other episodes (Dudík, Langford and Li, 2011), and
b what made the log: π_o, or the mixture of all policies that acted, by their shares. A policy is
worth the mean of Σ_a π(a|x_i) Γ_i(a). Two candidates climb it: a network, and a tree of
two questions, which people can read and write down as a rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.estimators.base import Problem
from nacre.estimators.behaviour import mix_behaviours
from nacre.estimators.outcome_model import fit_outcomes
from nacre.learners.base import CLONED_ROWS, Candidate, LearningProblem
from nacre.learners.charging import charge_actions
from nacre.learners.net_actor_critic.objective import measure_divergence
from nacre.learners.policy_tree import grow_tree
from nacre.logs import Log
from nacre.policies.cloning.full_support import give_full_support
from nacre.policies.distributions import Categorical
from nacre.policies.optimisers import clipped_adam, init_memory
from nacre.policies.policy import Policy, Signature, ask
from nacre.training.progress import Progress, ProgressEvent

Floats = NDArray[np.float64]
LEAST_EPISODES = 50
LARGEST_WEIGHT = 50.0
"""Inverse probabilities beyond are cut off: what was hardly tried is left to the model."""
BATCH = 512


@dataclass(frozen=True)
class OneStepLearner:
    """Doubly robust policy learning for episodes of one step.

    Args:
        kl_weights: Weights of KL(new ‖ old) that are tried, in standard deviations of the reward.
        folds: Parts of the log for cross-fitting.
        steps: Of the network.
        learning_rate: Adam's.
    """

    kl_weights: tuple[float, ...] = (0.0, 0.01, 0.1)
    folds: int = 5
    steps: int = 600
    learning_rate: float = 3e-3
    name: str = "one_step"

    def __post_init__(self) -> None:
        problems = [
            f"{name} = {getattr(self, name)}: give at least {least}"
            for name, least in (("folds", 2), ("steps", 1))
            if getattr(self, name) < least
        ]
        if not self.kl_weights or not all(0 <= one < math.inf for one in self.kl_weights):
            problems.append(f"kl_weights = {self.kl_weights}: give numbers that are not negative")
        if not 0 < self.learning_rate < math.inf:
            problems.append(f"learning_rate = {self.learning_rate}: must be positive")
        if problems:
            raise InputError(problems)

    def applies(self, problem: LearningProblem) -> str:
        """To contexts that are vectors, discrete actions and episodes of one step."""
        log = problem.log
        if log.episode_lengths.max() > 1:
            return "episodes have more than one step"
        if isinstance(log.observation_space, gymnasium.spaces.Discrete):
            return "discrete states are planned exactly"
        if not isinstance(log.action_space, gymnasium.spaces.Discrete):
            return "actions are not discrete"
        if log.n_episodes < LEAST_EPISODES:
            return f"{log.n_episodes} episodes are fewer than {LEAST_EPISODES}"
        return problem.cost.untraceable(problem.old_policy)

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """The network with the weight that the other half likes best, and the tree."""
        scores, old = self.score(key, problem)
        states = np.asarray(problem.log.observations)
        charges = charge_actions(problem.cost, problem.old_policy, states)
        worth = follow_mask(scores - charges, states, problem.old_policy.signature)
        tree = grow_tree(states, worth, problem.old_policy.signature)
        found = [Candidate("tree", tree, "a tree of two questions on doubly robust scores")]
        report(ProgressEvent("learning", 0, 2, 0))
        first = problem.first_policy
        if first is not None:
            found.append(self._climb(key, problem, first, (scores, charges, old)))
        report(ProgressEvent("learning", 1, 2, 0))
        return found

    def score(self, key: PRNGKeyArray, problem: LearningProblem) -> tuple[Floats, Floats]:
        """(n, A) the scores, and what the old policy does."""
        log = problem.log
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
        folds = rng.permutation(np.arange(len(log)) % self.folds)
        scores = np.array(fit_outcomes(rng, log, folds, self.folds).coefficients, np.float64)
        old = acted = _ask_probabilities(problem.old_policy, log)
        if problem.acting:
            whole = Problem(
                log, problem.old_policy, problem.start, problem.discount, problem.acting
            )
            acted = _ask_probabilities(mix_behaviours(whole), log)
        rows, taken = np.arange(len(log)), np.asarray(log.actions)
        weights = 1.0 / np.maximum(acted[rows, taken], 1.0 / LARGEST_WEIGHT)
        scores[rows, taken] += weights * (np.asarray(log.rewards) - scores[rows, taken])
        return scores, old

    def _climb(
        self,
        key: PRNGKeyArray,
        problem: LearningProblem,
        first: Policy,
        known: tuple[Floats, Floats, Floats],
    ) -> Candidate:
        """Half of the episodes choose the weight for what the other half learned, both ways."""
        scores, charges, old = known
        opened = give_full_support(problem.old_policy, problem.log.observations[:CLONED_ROWS])
        states, unit = jnp.asarray(problem.log.observations), float(np.std(problem.log.rewards))
        halves = np.random.default_rng(len(scores)).permutation(len(scores)) % 2
        kept = np.sum(old * scores, axis=1)

        def fit(rows: NDArray[np.int64], weight: float) -> Policy:
            given = states[rows], jnp.asarray(scores[rows], jnp.float32)
            objective = ScoreObjective(
                problem.cost, problem.old_policy, opened, jnp.asarray(weight * unit, jnp.float32)
            )
            return _ascend(objective, first, *given, key, self.steps, self.learning_rate)

        gains = []
        for weight in self.kl_weights:
            parts = []
            for half in (0, 1):
                own, other = np.flatnonzero(halves == half), np.flatnonzero(halves != half)
                said: Any = ask(fit(own, weight), states[other])
                chances = np.asarray(said.probabilities, np.float64)
                net = np.sum(chances * (scores[other] - charges[other]), axis=1)
                parts.append(float(np.mean(net - kept[other])))
            gains.append(float(np.mean(parts)))
        best = int(np.argmax(gains))
        weight, gain = self.kl_weights[best], gains[best]
        origin = f"a network on doubly robust scores, with KL weight {weight:g}"
        complaint = ""
        if not gain > 0:
            complaint = (
                f"Episodes it did not learn from say that it gains {gain:.3g}. No setting did "
                "better, so it was dropped."
            )
        policy = fit(np.arange(len(scores)), weight)
        return Candidate(self.name, policy, origin, (gain,), "all steps done", complaint)


def _ask_probabilities(policy: Policy, log: Log) -> Floats:
    """(n, A) what a policy does at the log's contexts."""
    said: Any = ask(policy, jnp.asarray(log.observations))
    return np.asarray(said.probabilities, np.float64)


def follow_mask(worth: Floats, states: NDArray[np.generic], signature: Signature) -> Floats:
    """(n, A) what a rule earns that names an action: the first allowed one where it is not."""
    if not signature.masks:
        return worth
    allowed = np.asarray(signature.find_allowed(jnp.asarray(states)))
    instead = np.take_along_axis(worth, allowed.argmax(axis=1)[:, None], axis=1)
    return np.where(allowed, worth, instead)


class ScoreObjective(eqx.Module):
    """Mean of Σ_a π(a|x) Γ(a) - C - weight · KL(π ‖ old).

    Attributes:
        cost: The cost of the switch.
        old_policy: From which it is a switch.
        opened: The same with a positive probability of every action.
        kl_weight: Weight of the divergence, in units of the reward.
    """

    cost: SwitchingCost = eqx.field(static=True)
    old_policy: Policy
    opened: Policy
    kl_weight: Float[Array, ""]

    def __call__(
        self, policy: Policy, states: Array, scores: Array, key: PRNGKeyArray
    ) -> Float[Array, ""]:
        """What the network ascends."""
        said = policy(states)
        value = jnp.mean(jnp.sum(cast(Categorical, said).probabilities * scores, axis=-1))
        apart = jnp.mean(measure_divergence(said, self.opened(states)))
        price = self.cost.at(self.old_policy, policy, states, key)
        return value - price - self.kl_weight * apart


@eqx.filter_jit
def _ascend(
    objective: ScoreObjective,
    first: Policy,
    states: Array,
    scores: Array,
    key: PRNGKeyArray,
    steps: int,
    learning_rate: float,
) -> Policy:
    """The policy after some steps of Adam, each on a batch of its own."""
    optimizer = clipped_adam(learning_rate, None)
    trained, fixed = eqx.partition(first, eqx.is_inexact_array)

    def step(carry: Any, step_key: PRNGKeyArray) -> tuple[Any, None]:
        trained, memory = carry
        rows_key, cost_key = jax.random.split(step_key)
        rows = jax.random.randint(rows_key, (BATCH,), 0, len(states))

        def loss(arrays: Any) -> Array:
            return -objective(eqx.combine(arrays, fixed), states[rows], scores[rows], cost_key)

        updates, memory = optimizer.update(jax.grad(loss)(trained), memory)
        return (eqx.apply_updates(trained, updates), memory), None

    carry = trained, init_memory(optimizer, trained)
    (trained, _), _ = jax.lax.scan(step, carry, jax.random.split(key, steps))
    policy: Policy = eqx.combine(trained, fixed)
    return policy
