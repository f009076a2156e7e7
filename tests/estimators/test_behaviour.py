"""Logs that several known policies made: weights by enumeration, gains against exact truth."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.behaviour import find_behaviour, mix_behaviours, read_log_probabilities
from nacre.estimators.doubly_robust import DoublyRobust
from nacre.estimators.fitted_q import FittedQ
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.logs import Log
from nacre.logs.acting import ACTING
from nacre.policies.tabular import TabularPolicy
from tests.support.one_hot import (
    DISCOUNT,
    N_ACTIONS,
    OLD,
    WORLD,
    Table,
    as_network,
    as_vectors,
    find_gain,
)
from tests.support.rollout import add_columns

RARE = np.eye(N_ACTIONS)[[2, 0, 1, 2]] * 0.94 + 0.02
"""What the old policy seldom does: its own episodes hardly say anything about it."""
BETWEEN: Table = 0.2 * OLD + 0.8 * RARE
BANDIT_REWARDS = np.array([[0.0, 1.0, 0.3], [0.5, 0.0, 2.0]])
BANDIT_OLD = np.array([[0.9, 0.05, 0.05], [0.8, 0.19, 0.01]])
BANDIT_NEW = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])


def sample_both(rows: int = 3000, share: float = 0.4, seed: int = 103) -> Log:
    """Episodes of the old policy, then of the rare one, as vectors."""
    counts = {0: round((1 - share) * rows), 1: round(share * rows)}
    logs = [
        WORLD.sample_log(table, counts[number], seed=seed + number, horizon=12)
        for number, table in enumerate((OLD, RARE))
    ]
    return join(logs)


def join(logs: list[Log]) -> Log:
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
    lengths = np.concatenate([log.episode_lengths for log in logs])
    acting = np.repeat([0, 1], [log.n_episodes for log in logs])
    whole = Log.from_arrays(
        *(np.concatenate([getattr(log, name) for log in logs]) for name in names),
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
    )
    return add_columns(whole, {ACTING: acting})


def pose(log: Log, vectors: bool = True) -> Problem:
    make: Any = as_network if vectors else TabularPolicy.from_probabilities
    if vectors:
        log = add_columns(as_vectors(log), {ACTING: log.columns[ACTING][log.offsets[:-1]]})
    return Problem(log, make(OLD), np.asarray(log.starts), DISCOUNT, (make(RARE),))


def estimate(estimator: Estimator, problem: Problem, table: Table) -> Estimate:
    vectors = not isinstance(problem.log.observation_space, Discrete)
    policy = as_network(table) if vectors else TabularPolicy.from_probabilities(table)
    key = jax.random.key(100)
    prepared = estimator.prepare(key, problem, report_nothing)
    return estimator.estimate(key, problem, prepared, policy, report_nothing)


def test_an_episode_has_the_probability_of_the_mixture() -> None:
    log = sample_both(300)
    policies = [TabularPolicy.from_probabilities(table) for table in (OLD, RARE)]
    found = np.exp(np.add.reduceat(find_behaviour(log, policies), log.offsets[:-1]))
    shares = np.bincount(log.columns[ACTING][log.offsets[:-1]].astype(int)) / log.n_episodes
    for episode, (begin, end) in enumerate(itertools.pairwise(log.offsets)):
        pairs = log.observations[begin:end], log.actions[begin:end]
        expected = sum(
            share * table[pairs].prod() for share, table in zip(shares, (OLD, RARE), strict=True)
        )
        assert found[episode] == pytest.approx(expected, rel=1e-4)
    alone = find_behaviour(log.select([0, 1, 2]), policies[:1])
    expected_alone = read_log_probabilities(log.select([0, 1, 2]), policies[0])
    np.testing.assert_allclose(alone, expected_alone, atol=1e-9)


def test_the_first_step_is_the_mixture_by_shares() -> None:
    problem = pose(sample_both(300), vectors=False)
    mixed = mix_behaviours(problem)
    assert isinstance(mixed, TabularPolicy)
    share = float(np.mean(problem.log.columns[ACTING][problem.log.offsets[:-1]]))
    np.testing.assert_allclose(mixed.table, (1 - share) * OLD + share * RARE, atol=1e-6)


@pytest.mark.parametrize("table", [RARE, BETWEEN])
@pytest.mark.parametrize(
    "estimator", [DoublyRobust(size=48), FittedQ(sets=2, groups=8, sizes=(48,)), Tabular()]
)
def test_gains_are_the_exact_ones(estimator: Any, table: Table) -> None:
    found = estimate(estimator, pose(sample_both(), not isinstance(estimator, Tabular)), table)
    assert found.informative, found.reason
    assert abs(found.gain - find_gain(table)) < 4 * found.standard_error
    assert found.standard_error < 0.5 * abs(find_gain(table))


def test_a_stage_lets_weighted_episodes_speak() -> None:
    both = sample_both()
    alone = both.select(np.flatnonzero(both.columns[ACTING][both.offsets[:-1]] == 0))
    before = pose(alone)
    silent = estimate(DoublyRobust(size=48, by_state=False), before, RARE)
    spoken = estimate(DoublyRobust(size=48, by_state=False), pose(both), RARE)
    assert not silent.informative
    assert spoken.informative
    # No episode weighs more than one over the share of the policy that acted.
    assert spoken.diagnostics["effective_episodes"] > 50


def draw_bandit(rng: np.random.Generator, n: int, share: float) -> Log:
    contexts = rng.integers(2, size=n)
    acting = rng.random(n) < share
    table = np.where(acting[:, None], BANDIT_NEW[contexts], BANDIT_OLD[contexts])
    actions = (rng.random((n, 1)) > np.cumsum(table, axis=1)).sum(axis=1)
    rewards = BANDIT_REWARDS[contexts, actions] + rng.normal(size=n)
    return Log.from_arrays(
        contexts,
        actions,
        rewards.astype(np.float32),
        np.ones(n, bool),
        next_observations=contexts,
        offsets=np.arange(n + 1),
        observation_space=Discrete(2),
        action_space=Discrete(3),
        columns={ACTING: acting.astype(float)},
    )


def test_bandit_gains_have_no_bias_and_honest_errors() -> None:
    rng = np.random.default_rng(104)
    old, new = (TabularPolicy.from_probabilities(table) for table in (BANDIT_OLD, BANDIT_NEW))
    truth = float(((BANDIT_NEW - BANDIT_OLD) * BANDIT_REWARDS).sum(axis=1).mean())
    scores, errors = [], []
    for share in (0.0, 0.3):
        found = []
        for _ in range(40):
            log = draw_bandit(rng, 400, share)
            acting = (new,) if share else ()
            problem = Problem(log, old, np.asarray(log.starts), 0.9, acting)
            one = OneStep()
            prepared = one.prepare(jax.random.key(0), problem, report_nothing)
            got = one.estimate(jax.random.key(0), problem, prepared, new, report_nothing)
            found.append((got.gain - truth) / got.standard_error)
            errors.append(got.standard_error)
        scores.append(found)
    mixed = np.asarray(scores[1])
    assert abs(mixed.mean()) < 0.6
    assert np.mean(np.abs(mixed) < 2) >= 0.9
    # A few hundred episodes of the new policy say much more about it than weights can.
    assert np.mean(errors[40:]) < 0.6 * np.mean(errors[:40])


def test_a_clone_is_not_enough_where_several_acted() -> None:
    log = draw_bandit(np.random.default_rng(105), 100, 0.3)
    old, new = (TabularPolicy.from_probabilities(table) for table in (BANDIT_OLD, BANDIT_NEW))
    problem = Problem(log, old, np.asarray(log.starts), 0.9, (new,))
    assert OneStep().applies(problem) == ""
    assert "several policies acted" in OneStep(propensities="estimated").applies(problem)
