"""Least-squares policy iteration: against the best controller of a linear world."""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
import pytest

from nacre.costs import TransportCost, groups
from nacre.errors import InputError
from nacre.experiments.bundled_worlds import TROLLEY as OLD
from nacre.experiments.bundled_worlds import Rail, as_network
from nacre.experiments.calibration.simulation import simulate_returns
from nacre.learners import LEARNERS
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.linear_look import LinearLook
from nacre.learners.policy_iteration import PolicyIteration
from nacre.logs import Log
from nacre.policies import MLPPolicy, Policy, Signature
from nacre.simulators import LinearPolicy, double_integrator
from nacre.training.progress import NoProgress, ProgressEvent
from tests.support.rooms import BEST, make_cost, make_policy, make_rooms_log

WORLD = double_integrator()
QUICK = PolicyIteration(kl_weights=(0.003,), sets=2, iterations=6, steps=80, learning_rate=3e-3)


def make_controller(policy: LinearPolicy) -> MLPPolicy:
    return as_network(policy, Signature(WORLD.observation_space, WORLD.action_space))


@cache
def draw_log() -> Log:
    return WORLD.sample_log(OLD, 2_000, seed=100, horizon=50)


def pose(weight: float = 2.0) -> LearningProblem:
    log = draw_log()
    cost = TransportCost(weight, 0.0, groups.sign())
    return LearningProblem(log, make_controller(OLD), cost, log.starts, WORLD.discount, 100)


@cache
def learn(weight: float = 2.0) -> Candidate:
    (candidate,) = QUICK.learn(jax.random.key(100), pose(weight), NoProgress())
    return candidate


def simulate(policy: Policy) -> float:
    return float(simulate_returns(Rail(), policy, n_episodes=200).mean())


def test_it_finds_most_of_what_the_best_controller_gains() -> None:
    candidate = learn()
    assert not candidate.problem
    old, best = simulate(make_controller(OLD)), WORLD.start_value(WORLD.optimal_policy())
    assert simulate(candidate.policy) - old > 0.8 * (best - old)
    assert candidate.origin == (
        "least-squares policy iteration with KL weight 0.003, with 0.5 of its noise"
    )
    assert len(candidate.curve) == QUICK.iterations


def test_a_linear_look_agrees_with_the_exact_gain() -> None:
    """A quarter of the noise and a firmer push: their gain is known in closed form."""
    better = LinearPolicy(np.array([[-0.6, -0.9]]), np.array([0.35]))
    look = LinearLook.take(jax.random.key(0), pose(0.0), draw_log())
    truth = WORLD.start_value(better) - WORLD.start_value(OLD)
    # The log's 40 starts are not the world's.
    assert look.find_net_gain(make_controller(better)) == pytest.approx(truth, rel=0.25)
    assert abs(look.find_net_gain(make_controller(OLD))) < 1e-6
    assert look.old_value == pytest.approx(WORLD.start_value(OLD), rel=0.25)


def test_the_cost_is_counted_and_what_does_not_pay_is_dropped() -> None:
    dropped = learn(1000.0)
    assert dropped.problem.startswith("It promises a net gain of")
    assert dropped.problem.endswith("so it was dropped.")


def test_progress_is_told_once_for_each_iteration() -> None:
    heard: list[ProgressEvent] = []
    brief = PolicyIteration(kl_weights=(0.1,), sets=1, iterations=2, steps=2)
    brief.learn(jax.random.key(0), pose(), lambda event: heard.append(event))
    assert [event.epoch for event in heard] == list(range(6))


def test_what_it_does_not_apply_to() -> None:
    learner = LEARNERS.find("policy_iteration")()
    assert learner.applies(pose()) == ""
    rooms = make_rooms_log()
    tables = LearningProblem(rooms, make_policy(BEST), make_cost(1.0), rooms.starts, 0.9)
    assert learner.applies(tables) == "discrete states are planned exactly"


def test_wrong_settings_are_named() -> None:
    with pytest.raises(InputError, match="sets = 0: give at least 1"):
        PolicyIteration(sets=0)
    with pytest.raises(InputError, match="kl_weights = \\(-1,\\): give numbers"):
        PolicyIteration(kl_weights=(-1,))
    with pytest.raises(InputError, match="learning_rate = 0: must be positive"):
        PolicyIteration(learning_rate=0)
    with pytest.raises(InputError, match="noise = 2: must lie in"):
        PolicyIteration(noise=2)
