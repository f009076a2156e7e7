"""The control suite: simulators of our own, controllers as networks, truth by paired rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.experiments.calibration import control
from nacre.experiments.calibration.case import Case
from nacre.experiments.calibration.controllers import Skill, Workshop
from nacre.experiments.calibration.simulation import (
    SimulatedTruth,
    VectorWorld,
    roll_out,
    sample_log,
    simulate_returns,
)
from nacre.experiments.calibration.vehicles import Integrator
from nacre.policies.network_policy import MLPPolicy
from nacre.simulators.linear import LinearPolicy

N = 100


def make_world(name: str) -> VectorWorld:
    return control.make_world(Case("control", name, "good", 100))


def run_by_hand(world: VectorWorld, sign: float) -> np.ndarray:
    """Discounted returns of the good controller, or of the poor one for -1."""
    rule = world.steer if sign > 0 else world.mislead

    def choose(observations: np.ndarray, step: int) -> np.ndarray:
        wanted = rule(observations.astype(np.float64))
        return wanted.argmax(axis=-1) if world.n_actions else np.clip(wanted, -1.0, 1.0)

    returns = np.zeros(N)
    for number, step in enumerate(roll_out(world, choose, N, world.count_steps(), 1)):
        returns += world.discount**number * step.rewards
        assert np.isfinite(step.following).all()
    return returns


@pytest.mark.parametrize("name", control.WORLDS)
def test_the_good_controller_is_better_than_the_poor_one(name: str) -> None:
    world = make_world(name)
    good, poor = run_by_hand(world, 1.0), run_by_hand(world, -1.0)
    paired = good - poor
    assert paired.mean() > 3 * paired.std() / np.sqrt(N)


def test_both_kinds_of_actions_and_enough_worlds() -> None:
    discrete = [bool(make_world(name).n_actions) for name in control.WORLDS]
    assert len(discrete) >= 8
    assert 3 <= sum(discrete) <= len(discrete) - 3


def test_simulated_truth_agrees_with_the_closed_form() -> None:
    world = Integrator(np.random.default_rng(0))
    # A gentle gain without noise never meets the limits, where the closed form would not hold.
    gain = 0.5 * world.linear.optimal_policy().gain
    exact = world.linear.start_value(LinearPolicy(gain, np.zeros(1)))

    def choose(observations: np.ndarray, step: int) -> np.ndarray:
        actions = observations @ gain.T / world.push
        assert np.abs(actions).max() < 1.0
        return np.asarray(actions)

    returns = np.zeros(2000)
    for number, step in enumerate(roll_out(world, choose, 2000, world.count_steps(), 5)):
        returns += world.discount**number * step.rewards
    assert abs(returns.mean() - exact) < 4 * returns.std() / np.sqrt(2000) + 0.01 * abs(exact)


@pytest.mark.parametrize("name", ["integrator", "cart_pole"])
def test_networks_act_like_the_controllers_that_they_stand_for(name: str) -> None:
    world = make_world(name)
    workshop = Workshop.open(world, np.random.default_rng(2))
    policy = workshop.make(Skill(1.0, 0.0))
    assert isinstance(policy, MLPPolicy)
    assert policy.head in ("greedy", "deterministic")
    returns = simulate_returns(world, policy, n_episodes=N, seed=1)
    by_hand, poor = run_by_hand(world, 1.0), run_by_hand(world, -1.0)
    assert abs(returns.mean() - by_hand.mean()) < 0.2 * abs(by_hand.mean() - poor.mean())
    noisy = workshop.make(Skill(0.5, 0.3))
    assert noisy.head == "categorical" if world.n_actions else noisy.head.endswith("gaussian")


def test_common_random_numbers_make_differences_precise() -> None:
    world = make_world("integrator")
    workshop = Workshop.open(world, np.random.default_rng(2))
    old, near = workshop.make(Skill(1.0, 0.1)), workshop.make(Skill(0.95, 0.1))
    returns = simulate_returns(world, old, n_episodes=N)
    truth = SimulatedTruth(world, returns)(near)
    assert SimulatedTruth(world, returns)(old).gain == 0.0
    assert truth.standard_error < 0.5 * truth.deviation / np.sqrt(N)


def test_logs_hold_whole_episodes_in_order() -> None:
    world = make_world("cart_pole")
    policy = Workshop.open(world, np.random.default_rng(2)).make(Skill(0.0, 1.0))
    log = sample_log(world, policy, 3000, seed=4)
    again = sample_log(world, policy, 3000, seed=4)
    assert len(log) == 3000
    assert log.fingerprint() == again.fingerprint()
    ends = log.offsets[1:] - 1
    assert (log.terminated | log.truncated)[ends].all()
    inner = np.setdiff1d(np.arange(len(log) - 1), ends)
    np.testing.assert_array_equal(log.next_observations[inner], log.observations[inner + 1])


def test_a_case_has_candidates_of_known_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "ROWS", (2_000, 3_000))
    monkeypatch.setattr(control, "N_EPISODES", 100)
    offers = {}
    for seed in range(100, 106):
        case = Case("control", "integrator", "medium", seed)
        offers[case.take_turn(control.OFFERS)] = case
    case = offers["bad_and_good"]
    problem = control.build(case)
    gains = [problem.find_truth(one.policy).gain for one in problem.candidates]
    assert min(gains) < 0 < max(gains)
    low, high = problem.value_range
    assert low <= problem.old_value <= high
    same = control.build(offers["same"])
    assert not same.learns
    assert same.find_truth(same.candidates[0].policy).gain == 0.0
