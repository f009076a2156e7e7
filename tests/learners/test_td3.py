"""A learner in the manner of TD3: on a linear world whose values are known."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import pytest

from nacre.costs import TransportCost, groups
from nacre.errors import InputError
from nacre.experiments.bundled_worlds import TROLLEY as OLD
from nacre.experiments.bundled_worlds import Rail, as_network
from nacre.experiments.calibration.simulation import simulate_returns
from nacre.learners import LEARNERS
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.td3 import SMOOTHING, TD3, td3_settings
from nacre.logs import Log
from nacre.policies import Policy, Signature
from nacre.policies.distributions import Gaussian
from nacre.simulators import double_integrator
from nacre.training.progress import NoProgress
from tests.support.rooms import BEST, make_cost, make_policy, make_rooms_log

WORLD = double_integrator()
QUICK = TD3(
    settings=dataclasses.replace(
        td3_settings(),
        critics=dataclasses.replace(td3_settings().critics, hidden=(32, 32), batch_size=128),
        epochs=4,
        steps_per_epoch=300,
        prefit_steps=300,
        stopping=None,
    ),
    examine=False,
)


@cache
def draw_log() -> Log:
    return WORLD.sample_log(OLD, 4_000, seed=100, horizon=50)


@cache
def pose() -> LearningProblem:
    log = draw_log()
    policy = as_network(OLD, Signature(WORLD.observation_space, WORLD.action_space))
    cost = TransportCost(2.0, 0.0, groups.sign())
    return LearningProblem(log, policy, cost, log.starts, WORLD.discount, 100)


@cache
def learn() -> Candidate:
    (candidate,) = QUICK.learn(jax.random.key(100), pose(), NoProgress())
    return candidate


def simulate(policy: Policy) -> float:
    return float(simulate_returns(Rail(), policy, n_episodes=200).mean())


def find_noise(policy: Policy) -> float:
    said = policy(jnp.asarray(draw_log().observations[:500]))
    assert isinstance(said, Gaussian)
    assert float(jnp.ptp(said.log_std)) == pytest.approx(0.0, abs=1e-6)
    return float(said.std[0, 0])


def test_it_finds_most_of_what_the_best_controller_gains() -> None:
    old, best = simulate(pose().old_policy), WORLD.start_value(WORLD.optimal_policy())
    assert simulate(learn().policy) - old > 0.8 * (best - old)
    assert learn().name == "td3-0.0003"
    assert "TD3" in learn().origin


def test_its_noise_is_held_and_small() -> None:
    said = pose().old_policy(jnp.asarray(draw_log().observations[:500]))
    assert isinstance(said, Gaussian)
    expected = SMOOTHING * QUICK.noise * float(said.std.mean())
    assert find_noise(learn().policy) == pytest.approx(expected, rel=0.1)


def test_it_says_where_it_does_not_apply() -> None:
    rooms = make_rooms_log()
    problem = LearningProblem(rooms, make_policy(BEST), make_cost(1.0), rooms.starts, 0.9)
    assert TD3().applies(problem) == "actions are discrete"
    assert TD3().applies(pose()) == ""


def test_it_is_registered_and_its_settings_are_checked() -> None:
    assert LEARNERS.find("td3") is TD3
    settings = td3_settings()
    cold = dataclasses.replace(settings.actor, warm_start=False)
    with pytest.raises(InputError, match="warm_start"):
        TD3(settings=dataclasses.replace(settings, actor=cold))
    assert TD3(cost_factor=2.0).name == "td3-0.0003-cost2"
