"""Side by side or alone, a step has the same outcome; episodes end where they should."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nacre
from nacre.errors import InputError
from nacre.policies.exploring import add_exploration
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.simulators.registry import World
from nacre.simulators.rollouts import draw_actions, run_episodes, run_steps, uniform_actions
from tests.support.simulators import COUNTER, Counter, choose_step, small_policy

WORLD = World("counter", COUNTER, None, 10, 0, 2)


def test_rows_are_each_simulations_steps_together() -> None:
    simulators = [Counter(life=3), Counter(life=100)]
    columns = run_steps(simulators, choose_step, 5, episode_length=4, seed=0)
    # The first one ends its episodes after 3 steps by itself, the second is cut after 4; both are
    # cut after the last step.
    assert columns["rewards"].tolist() == [1, 2, 3, 1, 2, 1, 2, 3, 4, 1]
    assert columns["terminated"].tolist() == [False, False, True] + [False] * 7
    assert np.flatnonzero(columns["truncated"]).tolist() == [4, 8, 9]
    assert columns["episode"].tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]
    assert columns["actions"][:, 0].tolist() == [0, 1, 2, 3, 4] * 2
    assert columns["observations"][:, 1].tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3, 0]
    assert columns["next_observations"][:, 1].tolist() == [1, 2, 3, 1, 2, 1, 2, 3, 4, 1]


def test_a_last_step_that_ends_the_episode_is_not_truncated_too() -> None:
    columns = run_steps([Counter(life=2)], choose_step, 4, episode_length=2, seed=0)
    assert columns["terminated"].tolist() == [False, True, False, True]
    assert not columns["truncated"].any()


def test_resets_follow_from_the_seed_and_are_never_the_same() -> None:
    def seeds(seed: int) -> list[int]:
        simulators = [Counter(life=2), Counter(life=3)]
        run_steps(simulators, choose_step, 6, episode_length=100, seed=seed, nominal=True)
        assert all(nominal for one in simulators for _, nominal in one.resets)
        return [reset for one in simulators for reset, _ in one.resets]

    # No reset after the last step: nobody would see it.
    assert len(seeds(1)) == 3 + 2
    assert len(set(seeds(1))) == 5
    assert seeds(1) == seeds(1)
    assert not set(seeds(1)) & set(seeds(2))


def test_on_step_hears_of_every_step() -> None:
    heard: list[int] = []
    simulators = [Counter(9), Counter(9), Counter(9)]
    run_steps(simulators, choose_step, 4, episode_length=9, seed=0, on_step=heard.append)
    assert heard == [3, 3, 3, 3]


def test_discounted_returns_by_hand() -> None:
    simulators = [Counter(life=2), Counter(life=9)]
    returns = run_episodes(simulators, choose_step, n_steps=3, discount=0.5, seed=0, nominal=False)
    # 1 + 2/2 and 1 + 2/2 + 3/4; the first is left alone after its end.
    assert returns.tolist() == [2.0, 2.75]
    assert simulators[0].actions == [0.0, 1.0]


def test_episodes_that_have_all_ended_stop_the_run() -> None:
    asked: list[int] = []

    def choose(observations: np.ndarray, step: int) -> np.ndarray:
        asked.append(step)
        return choose_step(observations, step)

    run_episodes([Counter(2), Counter(3)], choose, n_steps=50, discount=0.9, seed=0, nominal=False)
    assert asked == [0, 1, 2]


def test_actions_follow_from_seed_and_step() -> None:
    policy = small_policy(WORLD)
    states = np.ones((4, 2), np.float32)
    first, again, other = draw_actions(policy, 7), draw_actions(policy, 7), draw_actions(policy, 8)
    assert first(states, 0).tobytes() == again(states, 0).tobytes()
    assert first(states, 5).tobytes() == again(states, 5).tobytes()
    assert (first(states, 0) != first(states, 1)).all()
    assert (first(states, 0) != other(states, 0)).all()
    assert first(states, 0).dtype == np.float32


def test_actions_have_the_policys_distribution_within_the_bounds() -> None:
    # A normal that is not squashed leaves the bounds; the world gets what lies in them.
    signature = Signature(COUNTER.observation_space, gymnasium.spaces.Box(-0.1, 0.3, (1,)))
    policy = MLPPolicy.init(jax.random.key(0), signature, hidden=(8,), head="gaussian")
    actions = draw_actions(policy, 0)(np.zeros((2000, 2), np.float32), 0)
    assert actions.min() == np.float32(-0.1)
    assert actions.max() == np.float32(0.3)


def test_black_boxes_act_as_the_policy_that_they_are() -> None:
    signature = Signature(COUNTER.observation_space, gymnasium.spaces.Discrete(3))
    policy = MLPPolicy.init(jax.random.key(0), signature, hidden=(8,))

    def ask(rows: np.ndarray) -> np.ndarray:
        said: Any = policy(jnp.asarray(rows, jnp.float32))
        return np.asarray(said.probabilities)

    outside = nacre.read_policy(ask, signature=signature)
    rows = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    for share in (0.0, 0.3):
        ours, theirs = (add_exploration(one, share) for one in (policy, outside))
        drawn = draw_actions(ours, seed=3)(rows, 7)
        assert 0 < drawn.mean() < 2
        np.testing.assert_array_equal(draw_actions(theirs, seed=3)(rows, 7), drawn)


def test_discrete_actions_are_whole_numbers() -> None:
    signature = Signature(COUNTER.observation_space, gymnasium.spaces.Discrete(3))
    policy = MLPPolicy.init(jax.random.key(0), signature, hidden=(8,))
    actions = draw_actions(policy, 0)(np.zeros((200, 2), np.float32), 0)
    assert actions.dtype == np.int32
    assert set(actions.tolist()) == {0, 1, 2}


def test_uniform_actions_cover_the_space() -> None:
    states = np.zeros((4000, 2), np.float32)
    low, high = np.array([-1, 2], np.float32), np.array([1, 4], np.float32)
    box = gymnasium.spaces.Box(low, high)
    actions = uniform_actions(Signature(COUNTER.observation_space, box), 0)(states, 0)
    assert actions.dtype == np.float32
    # 4000 draws from a range of 2: the mean is within 0.05 of the middle (5 standard errors).
    np.testing.assert_allclose(actions.mean(0), [0.0, 3.0], atol=0.05)
    np.testing.assert_allclose(actions.min(0), [-1.0, 2.0], atol=0.01)
    np.testing.assert_allclose(actions.max(0), [1.0, 4.0], atol=0.01)
    numbers = Signature(COUNTER.observation_space, gymnasium.spaces.Discrete(4))
    drawn = uniform_actions(numbers, 0)(states, 0)
    assert drawn.dtype == np.int32
    np.testing.assert_allclose(np.bincount(drawn) / 4000, [0.25] * 4, atol=0.035)


def test_uniform_actions_need_bounds() -> None:
    unbounded = Signature(COUNTER.observation_space, gymnasium.spaces.Box(-np.inf, 1.0, (2,)))
    with pytest.raises(InputError, match="cannot be drawn uniformly"):
        uniform_actions(unbounded, 0)
