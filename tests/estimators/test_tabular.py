"""The tabular estimator against exact truth in finite worlds."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.exact import optimal_policy, start_value, value_range, values
from nacre.estimators.tabular import Tabular
from nacre.estimators.tabular_outside import bound_values, measure_novelty
from nacre.estimators.tabular_world import Chain, Counts
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, random_policy, random_world

Table = NDArray[np.float64]
QUICK = Tabular(replicates=100)
NORMAL = 1.645
"""95 % quantile of the normal distribution."""


def make_problem(world: FiniteWorld, old: Table, log: Log) -> Problem:
    start = np.flatnonzero(world.start)
    return Problem(log, TabularPolicy.from_probabilities(old), start, world.discount)


def compare(problem: Problem, *candidates: Table, seed: int = 0) -> list[Estimate]:
    prepared = QUICK.prepare(jax.random.key(seed), problem, report_nothing)
    return [
        QUICK.estimate(
            jax.random.key(1),
            problem,
            prepared,
            TabularPolicy.from_probabilities(table),
            report_nothing,
        )
        for table in candidates
    ]


def lower(estimate: Estimate) -> float:
    return estimate.gain - estimate.overlap_penalty - NORMAL * estimate.standard_error


def upper(estimate: Estimate) -> float:
    return estimate.gain + estimate.overlap_penalty + NORMAL * estimate.standard_error


def edge_world(discount: float = 0.95) -> FiniteWorld:
    """A path 0 … 5 that costs one a step; action 1 goes on, action 0 falls: -50 and the end."""
    n = 6
    transition = np.zeros((n, 2, n))
    transition[:, 0, 0] = 1.0
    transition[np.arange(n), 1, np.minimum(np.arange(n) + 1, n - 1)] = 1.0
    reward, termination = np.full((n, 2), -1.0), np.zeros((n, 2))
    reward[:, 0], termination[:, 0], termination[n - 1, 1] = -50.0, 1.0, 1.0
    return FiniteWorld(transition, reward, discount, np.eye(n)[0], termination)


def goal_world(discount: float = 0.99) -> FiniteWorld:
    """A corridor 0 … 7 without rewards but for one at its end."""
    n = 8
    transition = np.zeros((n, 2, n))
    transition[np.arange(n), 0, np.maximum(np.arange(n) - 1, 0)] = 1.0
    transition[np.arange(n), 1, np.minimum(np.arange(n) + 1, n - 1)] = 1.0
    reward, termination = np.zeros((n, 2)), np.zeros((n, 2))
    reward[n - 1], termination[n - 1] = 1.0, 1.0
    return FiniteWorld(transition, reward, discount, np.eye(n)[0], termination)


def test_solves_a_world_whose_counts_are_exact() -> None:
    # Deterministic and fully covered: the counts are the world, so values agree to rounding.
    world = dataclasses.replace(edge_world(), reward=np.random.default_rng(100).normal(size=(6, 2)))
    old = np.full((6, 2), 0.5)
    log = world.sample_log(old, 4000, seed=100, horizon=20)
    counts = Counts.of(log, np.array([0]), 2)
    table = random_policy(101, world)
    chain = Chain(counts, counts.impute(table), np.zeros(6), world.discount)
    np.testing.assert_allclose(chain.values(), values(world, table), rtol=1e-6)
    # Weights of episodes change nothing where every outcome is certain.
    weights = np.random.default_rng(0).exponential(size=(log.n_episodes, 3))
    np.testing.assert_allclose(chain.replicate(weights), start_value(world, table), rtol=1e-6)


def test_replicates_are_exact_solves_of_weighted_counts() -> None:
    world = random_world(100, 6, 2, discount=0.99, terminating=True)
    log = world.sample_log(random_policy(100, world), 400, seed=100, horizon=30)
    counts = Counts.of(log, np.array([0]), 2)
    table = random_policy(101, world)
    chain = Chain(counts, counts.impute(table), np.zeros(counts.n_states), 0.99)
    weights = np.random.default_rng(1).exponential(size=(log.n_episodes, 5))
    for b, value in enumerate(chain.replicate(weights)):
        row = weights[counts.episodes, b]
        moves, paid = np.zeros((12, 6)), np.zeros(12)
        np.add.at(moves, (counts.pairs, counts.following), row * counts.alive)
        np.add.at(paid, counts.pairs, row * counts.rewards)
        total = np.maximum(np.bincount(counts.pairs, row, 12), 1e-300)
        by_state = counts.impute(table)
        move = np.einsum("sa,sat->st", by_state, (moves / total[:, None]).reshape(6, 2, 6))
        earned = (by_state * (paid / total).reshape(6, 2)).sum(axis=1)
        expected = np.linalg.solve(np.eye(6) - 0.99 * move, earned)[0]
        assert value == pytest.approx(expected, rel=1e-7)


def test_the_old_policy_gains_nothing_but_not_for_certain() -> None:
    world = random_world(102, 12, 3, discount=0.99)
    old = random_policy(102, world)
    problem = make_problem(world, old, world.sample_log(old, 300, seed=102, horizon=20))
    (same,) = compare(problem, old)
    assert same.gain == 0.0
    assert same.overlap_penalty == 0.0
    assert same.standard_error > 0.0
    assert same.diagnostics["unseen_mass"] == same.diagnostics["unseen_mass_old"]


def test_same_key_same_numbers_and_candidates_do_not_disturb_each_other() -> None:
    world = random_world(103, 8, 3)
    old = random_policy(103, world)
    problem = make_problem(world, old, world.sample_log(old, 1000, seed=103, horizon=50))
    first, second = random_policy(1, world), random_policy(2, world)
    assert compare(problem, first, second)[1] == compare(problem, second)[0]


def test_a_fall_that_the_log_never_saw_is_not_taken_for_safe() -> None:
    world = edge_world()
    walks = np.tile([0.0, 1.0], (6, 1))
    falls = np.where(np.arange(6)[:, None] == 3, [1.0, 0.0], walks)
    problem = make_problem(world, walks, world.sample_log(walks, 2000, seed=104, horizon=30))
    (estimate,) = compare(problem, falls)
    assert lower(estimate) < -5.0
    assert estimate.diagnostics["unseen_mass"] > 0.1
    # A small step off the path is charged less than a large one.
    small, large = compare(problem, 0.99 * walks + 0.01 * falls, 0.5 * walks + 0.5 * falls)
    assert 0 < small.overlap_penalty < 0.1 * large.overlap_penalty


def test_a_goal_never_reached_says_nothing() -> None:
    world = goal_world()
    stays, goes = np.tile([1.0, 0.0], (8, 1)), np.tile([0.0, 1.0], (8, 1))
    problem = make_problem(world, stays, world.sample_log(stays, 2000, seed=105, horizon=20))
    (estimate,) = compare(problem, goes)
    assert not estimate.informative
    assert "outside" in estimate.reason
    assert compare(problem, stays)[0].informative


def test_two_episodes_say_nothing() -> None:
    world = random_world(106, 5, 2)
    old = random_policy(106, world)
    problem = make_problem(world, old, world.sample_log(old, 200, seed=106, horizon=100))
    (estimate,) = compare(problem, optimal_policy(world))
    assert not estimate.informative
    assert estimate.standard_error == np.inf
    assert "episodes" in estimate.reason


def test_new_states_are_charged_only_where_policies_act_otherwise() -> None:
    # States 6 to 9 are never reached in the log; the candidate differs from the old policy there.
    world = random_world(112, 6, 2)
    old = random_policy(112, world)
    log = world.sample_log(old, 900, seed=112, horizon=30)
    wide = np.vstack([old, np.full((4, 2), 0.5)])
    other = wide.copy()
    other[6:] = [1.0, 0.0]
    problem = Problem(
        Log.from_arrays(
            observations=log.observations,
            actions=log.actions,
            rewards=log.rewards,
            terminated=log.terminated,
            truncated=log.truncated,
            next_observations=log.next_observations,
            offsets=log.offsets,
            observation_space=Discrete(10),
            action_space=Discrete(2),
        ),
        TabularPolicy.from_probabilities(wide),
        np.array([0]),
        world.discount,
    )
    same, differs = compare(problem, wide, other)
    assert same.overlap_penalty == 0.0
    assert differs.gain == 0.0
    assert 0.0 < differs.overlap_penalty < 0.1 * differs.diagnostics["span"]


def test_bounds_hold_returns_and_what_never_happened() -> None:
    # Two episodes of three steps at -1 that arrive: the worst is never to arrive, -1 / (1 - γ).
    log = Log.from_arrays(
        observations=[0, 1, 2] * 2,
        actions=[0] * 6,
        rewards=[-1.0] * 6,
        terminated=[False, False, True] * 2,
        next_observations=[1, 2, 3] * 2,
    )
    assert bound_values(log, np.zeros(6), 0.9) == pytest.approx((-10.0, -1.0))


def test_novelty_is_one_for_pairs_never_taken_and_falls_with_counts() -> None:
    world = random_world(107, 10, 3, branching=6)
    old = random_policy(107, world)
    counts = Counts.of(world.sample_log(old, 3000, seed=107, horizon=50), np.array([0]), 3)
    novelty, visits = measure_novelty(counts), counts.visits
    assert np.all(novelty[visits == 0] == 1.0)
    order = np.argsort(visits[visits > 0])
    assert np.all(np.diff(novelty[visits > 0][order]) <= 0)
    deepest = edge_world().sample_log(np.full((6, 2), 0.5), 3000, seed=1, horizon=50)
    certain = Counts.of(deepest, np.array([0]), 2)
    assert measure_novelty(certain)[0].max() < 0.01


def test_intervals_hold_on_random_worlds() -> None:
    """360 decisions: coverage at 90 % and one-sided error at 95 %, within sampling error."""
    rng = np.random.default_rng(108)
    covered, above, clear, taken = [], [], [], []
    for seed in range(108, 138):
        discount = float(rng.choice([0.9, 0.95, 0.99]))
        world = random_world(seed, int(rng.choice([4, 8])), 3, discount=discount, terminating=True)
        best = optimal_policy(world)
        olds = [random_policy(seed, world), np.eye(3)[rng.integers(3, size=world.n_states)]]
        low, high = value_range(world)
        for old in olds:
            log = world.sample_log(old, 1500, seed=seed, horizon=50)
            others = [random_policy(seed + k, world, concentration=0.3) for k in (30, 60)]
            candidates = [best, 0.5 * old + 0.5 * best, *others]
            candidates += [0.8 * old + 0.2 * other for other in others]
            for table, estimate in zip(
                candidates, compare(make_problem(world, old, log), *candidates), strict=True
            ):
                truth = float(start_value(world, table) - start_value(world, old))
                slack = 1e-6 * (high - low)
                covered.append(lower(estimate) - slack <= truth <= upper(estimate) + slack)
                above.append(lower(estimate) > truth + slack)
                if old is olds[0] and truth > 0.1 * (high - low):
                    clear.append(truth)
                    taken.append(lower(estimate) > 0)
    assert len(covered) == 360
    assert np.mean(covered) >= 0.88
    assert np.mean(above) <= 0.05
    assert len(clear) >= 30
    assert np.mean(taken) >= 0.7


def test_a_large_table_is_solved() -> None:
    world = random_world(109, 300, 10, discount=0.99, branching=3)
    old = random_policy(109, world, concentration=0.1)
    problem = make_problem(world, old, world.sample_log(old, 5000, seed=109, horizon=100))
    step = 0.98 * old + 0.02 * random_policy(110, world)
    (estimate,) = compare(problem, step)
    truth = float(start_value(world, step) - start_value(world, old))
    assert lower(estimate) <= truth <= upper(estimate)


def test_is_an_estimator_of_discrete_logs_only() -> None:
    assert isinstance(QUICK, Estimator)
    world = random_world(111, 4, 2)
    old = random_policy(111, world)
    problem = make_problem(world, old, world.sample_log(old, 100, seed=111, horizon=10))
    assert QUICK.applies(problem) == ""
    vectors = dataclasses.replace(problem.log, observation_space=Box(-1.0, 1.0, (1,)))
    assert "discrete" in QUICK.applies(dataclasses.replace(problem, log=vectors))
    assert "discount" in QUICK.applies(dataclasses.replace(problem, discount=1.0))
    with pytest.raises(InputError, match="at least 100"):
        Tabular(replicates=10)
