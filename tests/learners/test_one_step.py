"""The learner of bandit logs: against the best policy of a bandit that is known exactly."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import LogStates, TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.learners import LEARNERS
from nacre.learners.base import Candidate, Learner, LearningProblem
from nacre.learners.charging import charge_actions
from nacre.learners.one_step import OneStepLearner
from nacre.learners.policy_tree import grow_tree
from nacre.logs import Log
from nacre.logs.acting import ACTING
from nacre.policies import MLPPolicy, Policy, RulePolicy, Signature
from nacre.policies.networks import MLP
from nacre.training.progress import NoProgress
from tests.support.rooms import make_rooms_log

SPACE = Box(-np.inf, np.inf, (2,), np.float32)
SIGNATURE = Signature(SPACE, Discrete(3))
QUICK = OneStepLearner(kl_weights=(0.01,), folds=2, steps=250, learning_rate=6e-3)


def find_means(x: np.ndarray) -> np.ndarray:
    """Action 2 is best where x₀ ≤ 0, else action 1 where x₁ ≤ 0.5, else action 0."""
    left, low = x[:, 0] <= 0, x[:, 1] <= 0.5
    return np.stack([~left & ~low, ~left & low, left], axis=1).astype(float)


def make_old() -> MLPPolicy:
    """It has a preference for action 0 that grows with x₀."""
    weight = jnp.asarray([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    network = MLP((weight,), (jnp.asarray([0.5, 0.0, 0.0]),), ("identity",))
    return MLPPolicy(network, None, SIGNATURE, "categorical")


def make_rare() -> MLPPolicy:
    """It nearly always takes action 2."""
    network = MLP((jnp.zeros((2, 3)),), (jnp.asarray([0.0, 0.0, 4.0]),), ("identity",))
    return MLPPolicy(network, None, SIGNATURE, "categorical")


def make_bandit_cost(learning: float, transaction: float = 0.0) -> SwitchingCost:
    return TransportCost(
        learning_weight=learning,
        transaction_weight=transaction,
        groups=groups.indices([[0], [1, 2]]),
        state_measure=LogStates(),
    )


def draw_log(n: int, seed: int, acting: np.ndarray | None = None) -> Log:
    """Episodes of the old policy; where `acting` is 1, of `make_rare`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    chances = ask_table(make_old(), x)
    if acting is not None:
        chances = np.where(acting[:, None] == 1, ask_table(make_rare(), x), chances)
    actions = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    rewards = find_means(x)[np.arange(n), actions] + 0.5 * rng.normal(size=n)
    ends = np.ones(n, bool)
    return Log.from_arrays(
        observations=x,
        actions=actions.astype(np.int32),
        rewards=rewards.astype(np.float32),
        terminated=ends,
        truncated=~ends,
        next_observations=x,
        episode=np.arange(n),
        observation_space=SPACE,
        action_space=Discrete(3),
        columns={} if acting is None else {ACTING: acting},
    )


def ask_table(policy: Policy, x: np.ndarray) -> np.ndarray:
    said: Any = policy(jnp.asarray(x))
    return np.asarray(said.probabilities, np.float64)


def pose(n: int = 4000, seed: int = 100, learning: float = 0.1) -> LearningProblem:
    log = draw_log(n, seed)
    cost = make_bandit_cost(learning)
    return LearningProblem(log, make_old(), cost, np.asarray(log.starts), 0.9, seed)


@cache
def learn(seed: int, learning: float = 0.1) -> dict[str, Candidate]:
    found = QUICK.learn(jax.random.key(seed), pose(seed=seed, learning=learning), NoProgress())
    return {one.name: one for one in found}


def find_net_gain(policy: Policy, learning: float) -> float:
    """By many fresh contexts; the rewards' means are known."""
    x = np.random.default_rng(7).normal(size=(100_000, 2)).astype(np.float32)
    gain = np.mean(np.sum((ask_table(policy, x) - ask_table(make_old(), x)) * find_means(x), 1))
    cost = make_bandit_cost(learning).evaluate(make_old(), policy, x)
    return float(gain) - cost.total


def find_best_net_gain(learning: float) -> float:
    """The largest mean - cost that any action has, context by context."""
    x = np.random.default_rng(7).normal(size=(100_000, 2)).astype(np.float32)
    old = ask_table(make_old(), x)
    moved = np.stack([1 - old[:, 0], old[:, 0], old[:, 0]], axis=1)
    net = np.max(find_means(x) - learning * moved, axis=1)
    return float(np.mean(net - np.sum(old * find_means(x), axis=1)))


@pytest.mark.parametrize("seed", [100, pytest.param(101, marks=pytest.mark.slow)])
def test_both_candidates_reach_most_of_the_best_net_gain(seed: int) -> None:
    best = find_best_net_gain(0.1)
    for name in ("tree", "one_step"):
        candidate = learn(seed)[name]
        assert not candidate.problem
        assert find_net_gain(candidate.policy, 0.1) >= 0.9 * best


def test_the_tree_asks_the_two_questions_that_matter() -> None:
    tree = learn(100)["tree"].policy
    assert isinstance(tree, RulePolicy)
    bounds = np.asarray(tree.upper)
    assert abs(bounds[:, 0][np.isfinite(bounds[:, 0])].max()) < 0.2
    thresholds = bounds[:, 1][np.isfinite(bounds[:, 1])]
    assert np.any(np.abs(thresholds - 0.5) < 0.2)
    assert len(tree.lower) <= 3


def test_a_high_cost_leaves_action_groups_alone() -> None:
    """Where crossing groups costs more than any action earns, none is worth crossing for."""
    dropped = learn(100, 50.0)
    assert dropped["one_step"].problem.startswith("Episodes it did not learn from say")


def test_charges_are_what_the_cost_says() -> None:
    x = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    old = ask_table(make_old(), x)
    moved = np.stack([1 - old[:, 0], old[:, 0], old[:, 0]], axis=1)
    charges = charge_actions(make_bandit_cost(2.0), make_old(), x)
    np.testing.assert_allclose(charges, 2.0 * moved, atol=1e-5)


def test_the_tree_is_the_best_of_all_by_enumeration() -> None:
    rng = np.random.default_rng(3)
    x, scores = rng.integers(0, 4, (60, 2)).astype(np.float32), rng.normal(size=(60, 2))
    tree = grow_tree(x, scores, Signature(SPACE, Discrete(2)))
    chosen = np.asarray(tree(jnp.asarray(x)).mode())
    found = scores[np.arange(60), chosen].sum()
    cuts = (0.5, 1.5, 2.5)
    questions = list(itertools.product((0, 1), cuts))

    def value(rows: np.ndarray) -> float:
        """The best second question in a part, each side holding three rows or more."""
        best = scores[rows].sum(axis=0).max()
        for coordinate, cut in questions:
            yes, no = rows & (x[:, coordinate] <= cut), rows & (x[:, coordinate] > cut)
            if min(yes.sum(), no.sum()) >= 3:
                both = scores[yes].sum(axis=0).max() + scores[no].sum(axis=0).max()
                best = max(best, both)
        return float(best)

    totals = []
    for coordinate, cut in questions:
        yes = x[:, coordinate] <= cut
        if min(yes.sum(), (~yes).sum()) >= 3:
            totals.append(value(yes) + value(~yes))
    assert found == pytest.approx(max(totals))


def test_contexts_that_are_all_alike_get_one_action() -> None:
    scores = np.tile([0.0, 2.0, 1.0], (20, 1))
    tree = grow_tree(np.zeros((20, 2), np.float32), scores, SIGNATURE)
    assert np.asarray(tree(jnp.zeros((3, 2))).mode()).tolist() == [1, 1, 1]


def test_what_it_does_not_apply_to() -> None:
    learner: Learner = LEARNERS.find("one_step")()
    assert learner.applies(pose(200)) == ""
    assert learner.applies(pose(20)) == "20 episodes are fewer than 50"
    log = make_rooms_log()
    several = LearningProblem(log, make_old(), make_bandit_cost(1.0), log.starts, 0.9)
    assert learner.applies(several) == "episodes have more than one step"


def test_scores_of_a_log_of_two_policies_are_those_of_what_acted() -> None:
    """Of rewards that no model can fit: a large constant in one of 8 cells of the contexts."""
    acting = np.repeat([0, 1], [2000, 6000])
    log = draw_log(8000, 100, acting)
    cell = (np.floor(8 * np.asarray(log.observations, np.float64)) % 8 == 0).all(axis=1)
    log = dataclasses.replace(log, rewards=(40.0 * cell).astype(np.float32))
    given = log, make_old(), make_bandit_cost(0.1), np.asarray(log.starts), 0.9, 100
    key, truth = jax.random.key(0), 40.0 * cell.mean()
    joint, old = QUICK.score(key, LearningProblem(*given, acting=(make_rare(),)))
    np.testing.assert_allclose(old, ask_table(make_old(), np.asarray(log.observations)), atol=1e-6)
    alone, _ = QUICK.score(key, LearningProblem(*given))
    rows, taken = np.arange(len(log)), np.asarray(log.actions)
    mixed = 0.25 * old + 0.75 * ask_table(make_rare(), np.asarray(log.observations))
    # What was added to the model's prediction, in units of the residual: one over the probability.
    others = np.delete(np.arange(3), 2)
    np.testing.assert_array_equal(joint[taken == 2][:, others], alone[taken == 2][:, others])
    ratio = (joint[rows, taken] - log.rewards) / (alone[rows, taken] - log.rewards)
    expected = (1 / mixed - 1)[rows, taken] / (1 / old - 1)[rows, taken]
    np.testing.assert_allclose(ratio, expected, rtol=1e-3)
    # Its mean is the truth, within three standard errors.
    error = joint[:, 2].std() / np.sqrt(len(log))
    assert abs(joint[:, 2].mean() - truth) < 3 * error


def test_wrong_settings_are_named() -> None:
    with pytest.raises(InputError, match="folds = 1: give at least 2"):
        OneStepLearner(folds=1)
    with pytest.raises(InputError, match="kl_weights = \\(\\)"):
        OneStepLearner(kl_weights=())
    with pytest.raises(InputError, match="learning_rate = 0: must be positive"):
        OneStepLearner(learning_rate=0)
