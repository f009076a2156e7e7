"""Drift: found where something changed, named rightly, and rarely found where nothing did."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.diagnostics.change_points import find_change
from nacre.diagnostics.stationarity import KINDS, find_drift
from nacre.errors import InputError
from nacre.logs import Log
from nacre.simulators.finite import FiniteWorld, Table, random_policy, random_world
from nacre.simulators.linear import LinearPolicy, double_integrator

ROWS = 3000
STEADY = LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.5]))


def make_world(seed: int = 100) -> tuple[FiniteWorld, Table]:
    world = dataclasses.replace(random_world(seed, 8, 3), reward_noise=1.0)
    return world, random_policy(seed, world)


def join(*logs: Log) -> Log:
    """Episodes of several logs, one log after the other."""
    lengths = np.concatenate([log.episode_lengths for log in logs])
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(log, name) for log in logs]) for name in names
    }
    return Log.from_arrays(
        **arrays,
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
    )


def sample_finite(world: FiniteWorld, policy: Table, seed: int = 100) -> Log:
    return world.sample_log(policy, ROWS // 2, seed=seed, horizon=20)


def sample_linear(policy: LinearPolicy = STEADY, seed: int = 100, gain: float = 1.0) -> Log:
    world = double_integrator()
    world = dataclasses.replace(world, control=gain * world.control)
    return world.sample_log(policy, ROWS // 2, seed=seed, horizon=20)


def shift_rewards(log: Log, share: float) -> Log:
    """Rewards more by a share of their standard deviation."""
    return dataclasses.replace(log, rewards=log.rewards + share * log.rewards.std())


def test_level_of_the_change_test() -> None:
    """p-values of exchangeable scores are uniform: at most 7 of 60 below 0.05, exact in law."""
    rng = np.random.default_rng(100)
    p_values = [find_change(rng.standard_t(3, (40, 5)), 1, seed).p_value for seed in range(60)]
    assert np.mean(np.asarray(p_values) <= 0.05) <= 7 / 60
    assert 0.35 < np.mean(p_values) < 0.65


def test_change_test_finds_the_place() -> None:
    """Three standard deviations from unit 60 of 100 on."""
    scores = np.random.default_rng(100).normal(size=(100, 4))
    scores[60:, 2] += 3.0
    change = find_change(scores, 1, 0)
    assert change.p_value == pytest.approx(0.001)
    assert abs(change.unit - 60) <= 2


def test_constant_scores_do_not_change() -> None:
    assert find_change(np.ones((50, 3)), 1, 0).p_value == 1.0
    assert find_change(np.zeros((50, 0)), 0, 0).p_value == 1.0


@pytest.mark.parametrize("make", [lambda: sample_finite(*make_world()), sample_linear])
def test_nothing_is_found_where_nothing_changed(make: object) -> None:
    drift = find_drift(make(), seed=0)  # type: ignore[operator]
    assert drift.found == ()
    assert drift.since == 0
    assert drift.tested
    assert drift.by_episodes
    assert "no drift" in drift.describe()


@pytest.mark.parametrize("kind", KINDS[:3])
def test_tables(kind: str) -> None:
    """Half-way: rewards + half a standard deviation; all rows of a state moved; another policy."""
    world, policy = make_world()
    before, after = sample_finite(world, policy), sample_finite(world, policy, 101)
    if kind == "rewards":
        after = shift_rewards(after, 0.5)
    elif kind == "dynamics":
        moved = world.transition.copy()
        moved[world.start.argmax()] = np.roll(moved[world.start.argmax()], 1, axis=-1)
        after = sample_finite(dataclasses.replace(world, transition=moved), policy, 101)
    else:
        after = sample_finite(world, 0.5 * policy + 0.5 * random_policy(101, world), 101)
    drift = find_drift(join(before, after), seed=0)
    assert drift.found == (kind,)
    assert abs(drift.since / (before.n_episodes + after.n_episodes) - 0.5) < 0.1
    assert "changed near episode" in drift.describe()
    assert drift.as_json()[kind]["p_value"] <= 0.01 / 4


@pytest.mark.parametrize("kind", KINDS[:3])
def test_vectors(kind: str) -> None:
    """Half-way: rewards + half a standard deviation; a motor with 80 %; a weaker gain."""
    before, after = sample_linear(), sample_linear(seed=101)
    if kind == "rewards":
        after = shift_rewards(after, 0.5)
    elif kind == "dynamics":
        after = sample_linear(seed=101, gain=0.8)
    else:
        after = sample_linear(LinearPolicy(0.6 * STEADY.gain, STEADY.std), 101)
    drift = find_drift(join(before, after), seed=0)
    assert kind in drift.found
    assert abs(drift.changes[kind].unit / 150 - 0.5) < 0.1


def test_starts_of_tables() -> None:
    """Episodes start in other states from the middle on; everything else stays as it is."""
    world, policy = make_world()
    first, second = (
        dataclasses.replace(world, start=np.eye(8)[states].mean(axis=0))
        for states in ([0, 1, 2], [1, 2, 3])
    )
    drift = find_drift(
        join(sample_finite(first, policy), sample_finite(second, policy, 101)), seed=0
    )
    assert drift.found == ("starts",)
    assert "the states in which episodes start changed near" in drift.describe()


def test_starts_of_vectors() -> None:
    """Contexts of one step move by half of their spread; rewards do not depend on them."""
    rng = np.random.default_rng(100)
    n = 600
    contexts = rng.normal(size=(n, 3))
    log = Log.from_arrays(
        contexts + 0.5 * (np.arange(n) >= 300)[:, None] * [1.0, 0.0, 0.0],
        rng.integers(2, size=n),
        rng.normal(size=n),
        np.ones(n, bool),
        next_observations=np.zeros((n, 3)),
        observation_space=Box(-np.inf, np.inf, (3,), np.float32),
        action_space=Discrete(2),
    )
    drift = find_drift(log, seed=0)
    assert drift.found == ("starts",)
    assert abs(drift.since - 300) < 60


def test_times_that_take_turns() -> None:
    """Rewards are high in every other forty episodes: nothing to use since."""
    world, policy = make_world()
    parts = [
        shift_rewards(world.sample_log(policy, 400, seed=100 + turn, horizon=20), turn % 2)
        for turn in range(12)
    ]
    drift = find_drift(join(*parts), seed=0)
    assert drift.found == ("rewards",)
    assert drift.changes["rewards"].alternates
    assert drift.since == 0
    assert "go up and down" in drift.describe()


def test_false_alarms_are_rare() -> None:
    """At 10 % in all, 40 honest logs of many starts: at most 9 alarms, three errors above."""
    world, policy = make_world()
    alarms = 0
    for seed in range(300, 340):
        log = world.sample_log(policy, 600, seed=seed, horizon=8)
        alarms += bool(find_drift(log, level=0.1, seed=seed).found)
    assert alarms <= 9


def test_one_long_episode_is_cut_into_blocks() -> None:
    world, policy = make_world()
    log = world.sample_log(policy, ROWS, seed=100, horizon=ROWS)
    drift = find_drift(log, seed=0)
    assert drift.tested
    assert not drift.by_episodes
    assert drift.found == ()


def test_four_short_episodes_are_not_tested() -> None:
    world, policy = make_world()
    drift = find_drift(world.sample_log(policy, 40, seed=100, horizon=10), seed=0)
    assert not drift.tested
    assert drift.found == ()
    assert "too few" in drift.describe()


def test_bandit_logs() -> None:
    """One-step episodes with vectors and choices; the reward of one action changes."""
    rng = np.random.default_rng(100)
    n = 2000
    contexts, actions = rng.normal(size=(n, 3)), rng.integers(2, size=n)
    rewards = contexts[:, 0] * actions + rng.normal(size=n)
    later = np.arange(n) >= 1200

    def build(rewards: np.ndarray) -> Log:
        return Log.from_arrays(
            contexts,
            actions,
            rewards,
            np.ones(n, bool),
            next_observations=np.zeros((n, 3)),
            observation_space=Box(-np.inf, np.inf, (3,), np.float32),
            action_space=Discrete(2),
        )

    assert find_drift(build(rewards), seed=0).found == ()
    drift = find_drift(build(rewards + later * actions), seed=0)
    assert drift.found == ("rewards",)
    assert abs(drift.since - 1200) < 100


def test_deterministic_worlds_and_constant_rewards() -> None:
    """Nothing varies, nothing drifts."""
    n = 200
    log = Log.from_arrays(
        np.zeros(n, int),
        np.zeros(n, int),
        np.full(n, 0.1),
        np.arange(n) % 4 == 3,
        next_observations=np.zeros(n, int),
        observation_space=Discrete(1),
        action_space=Discrete(1),
    )
    # It ends at every fourth step, which is one state: that is chance as far as anyone can see.
    assert find_drift(log, seed=0).found == ()


def test_same_seed_same_answer() -> None:
    log = sample_linear()
    assert find_drift(log, seed=3).as_json() == find_drift(log, seed=3).as_json()
    with pytest.raises(InputError, match="level"):
        find_drift(log, level=0.0, seed=0)
