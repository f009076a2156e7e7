"""Finite worlds: what they refuse, and that their logs follow their own laws."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.exact import start_value, value_range
from nacre.logs import Log
from nacre.simulators import (
    FiniteWorld,
    random_policy,
    random_world,
    two_state_cost,
    two_state_policies,
    two_state_world,
)


def make_world(**changes: Any) -> FiniteWorld:
    fields: dict[str, Any] = {
        "transition": np.full((2, 3, 2), 0.5),
        "reward": np.zeros((2, 3)),
        "discount": 0.9,
        "start": np.array([1.0, 0.0]),
    }
    return FiniteWorld(**(fields | changes))


def spoiled(shape: tuple[int, ...], value: float) -> NDArray[np.float64]:
    array = np.full(shape, 0.5)
    array[(0,) * len(shape)] = value
    return array


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reward": np.zeros(3)}, r"reward: shape \(3,\), expected \(S, A\)"),
        ({"reward": np.zeros((0, 3))}, "with S, A ≥ 1"),
        (
            {"transition": np.ones((2, 3, 1))},
            r"transition: shape \(2, 3, 1\), expected \(2, 3, 2\)",
        ),
        ({"start": np.ones(3) / 3}, r"start: shape \(3,\), expected \(2,\)"),
        ({"termination": np.zeros((3, 2))}, r"termination: shape \(3, 2\)"),
        ({"state_names": ("a", "b", "c")}, "state_names: 3 names for 2"),
        ({"action_names": ("a",)}, "action_names: 1 names for 3"),
        ({"transition": spoiled((2, 3, 2), 0.7)}, r"transition\[0, 0\]: \[0.7, 0.5\]"),
        ({"transition": spoiled((2, 3, 2), np.nan)}, r"transition\[0, 0\]: \[nan, 0.5\]"),
        ({"start": np.array([1.5, -0.5])}, r"start: \[1.5, -0.5\] is no distribution"),
        ({"reward": spoiled((2, 3), np.inf)}, "reward: holds NaN or infinity"),
        ({"termination": spoiled((2, 3), 1.1)}, r"termination: holds values outside \[0, 1\]"),
        ({"termination": -0.1}, r"termination: holds values outside \[0, 1\]"),
        ({"discount": 1.0}, "discount: 1.0 is outside"),
        ({"reward_noise": -1.0}, "reward_noise: -1.0"),
    ],
)
def test_what_is_no_markov_decision_process_is_refused(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        make_world(**changes)


def test_all_problems_are_named() -> None:
    with pytest.raises(InputError) as caught:
        make_world(discount=-1.0, reward_noise=np.inf, start=np.zeros(2))
    assert [line.split(":")[0] for line in caught.value.problems] == [
        "start",
        "discount",
        "reward_noise",
    ]


def test_arrays_are_copied_and_locked() -> None:
    reward = np.zeros((2, 3))
    world = make_world(reward=reward)
    reward[0, 0] = 1.0
    assert world.reward[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        world.reward[0, 0] = 1.0


def test_one_termination_probability_holds_for_all_pairs() -> None:
    world = make_world(termination=0.25)
    np.testing.assert_array_equal(world.termination, np.full((2, 3), 0.25))
    np.testing.assert_allclose(world.continuation.sum(axis=-1), 0.75, atol=1e-15)


def test_spaces_count_states_and_actions() -> None:
    world = make_world()
    assert (world.n_states, world.n_actions) == (2, 3)
    assert world.observation_space.n == 2
    assert world.action_space.n == 3


def test_start_can_be_moved() -> None:
    world = make_world()
    np.testing.assert_array_equal(world.start_distribution(), [1.0, 0.0])
    np.testing.assert_array_equal(world.starting_at(1).start, [0.0, 1.0])
    np.testing.assert_array_equal(world.starting_at([0.25, 0.75]).start, [0.25, 0.75])


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        (2, r"start: state 2 is not one of 0..1"),
        ([1.0], r"start: shape \(1,\), expected \(2,\)"),
        ([0.3, 0.3], "is no distribution"),
    ],
)
def test_wrong_starts_are_refused(start: int | list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make_world().starting_at(start)


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (np.full((2, 2), 0.5), r"policy: shape \(2, 2\), expected \(2, 3\)"),
        (np.full((2, 3), 0.5), r"policy\[0\]: \[0.5, 0.5, 0.5\] is no distribution"),
    ],
)
def test_wrong_policies_are_refused(policy: NDArray[np.float64], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make_world().check_policy(policy)


def test_a_single_precision_policy_is_made_to_sum_to_one() -> None:
    policy = np.full((2, 3), 1 / 3, dtype=np.float32)
    np.testing.assert_allclose(make_world().check_policy(policy).sum(axis=-1), 1.0, atol=1e-15)


def test_an_exact_policy_is_taken_as_it_is() -> None:
    world = random_world(0, 20, 5)
    policy = random_policy(0, world)
    np.testing.assert_array_equal(world.check_policy(policy), policy)


def discounted_returns(log: Log, discount: float) -> NDArray[np.float64]:
    steps = np.arange(len(log.rewards)) - np.repeat(log.offsets[:-1], np.diff(log.offsets))
    return np.add.reduceat(discount**steps * log.rewards, log.offsets[:-1])


@pytest.mark.parametrize("terminating", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_sampled_returns_agree_with_the_exact_value(seed: int, terminating: bool) -> None:
    """Within 5 standard errors; after 150 steps at γ = 0.9 less than 1e-6 of a return is left."""
    world = random_world(seed, 6, 3, discount=0.9, terminating=terminating)
    world = dataclasses.replace(world, start=np.full(6, 1 / 6), reward_noise=0.5)
    policy = random_policy(seed, world)
    log = world.sample_log(policy, 60_000, seed=seed, horizon=150)
    whole = discounted_returns(log, 0.9)[:-1]
    error = whole.std(ddof=1) / np.sqrt(len(whole))
    assert abs(whole.mean() - start_value(world, policy)) < 5 * error
    low, high = value_range(world)
    assert error < 0.05 * (high - low)


def test_log_frequencies_agree_with_the_world() -> None:
    """Each frequency within 5 standard errors of its probability."""
    world = random_world(3, 4, 2, terminating=True)
    policy = random_policy(4, world)
    log = world.sample_log(policy, 50_000, seed=5, horizon=20)
    for state in range(4):
        here = log.observations == state
        check_frequencies(log.actions[here], policy[state])
        for action in range(2):
            taken = here & (log.actions == action)
            check_frequencies(log.next_observations[taken], world.transition[state, action])
            ends = world.termination[state, action]
            check_frequencies(log.terminated[taken].astype(int), np.array([1 - ends, ends]))
            rewards = np.float32(world.reward[state, action])
            np.testing.assert_array_equal(log.rewards[taken], rewards)
    check_frequencies(log.observations[log.offsets[:-1]], world.start)


def check_frequencies(drawn: NDArray[Any], probabilities: NDArray[np.float64]) -> None:
    observed = np.bincount(drawn, minlength=len(probabilities)) / len(drawn)
    error = np.sqrt(probabilities * (1 - probabilities) / len(drawn))
    assert len(drawn) > 300
    assert np.all(np.abs(observed - probabilities) <= 5 * error)


def test_ends_of_episodes() -> None:
    """Truncated at the horizon or where the log is full, terminated apart, and never both."""
    world = random_world(7, 5, 3, terminating=True)
    log = world.sample_log(random_policy(7, world), 5_000, seed=1, horizon=6)
    lengths, last = np.diff(log.offsets), log.offsets[1:] - 1
    assert len(log.rewards) == 5_000
    assert lengths.max() == 6
    assert not np.any(log.terminated & log.truncated)
    np.testing.assert_array_equal(np.flatnonzero(log.terminated | log.truncated), last)
    assert np.all(lengths[:-1][log.truncated[last][:-1]] == 6)
    assert log.terminated.any()
    inner = np.setdiff1d(np.arange(5_000), last)
    np.testing.assert_array_equal(log.next_observations[inner], log.observations[inner + 1])


def test_a_full_log_is_cut_where_it_is_full() -> None:
    world, policies = two_state_world(), two_state_policies()
    log = world.sample_log(policies["old"], 25, seed=0, horizon=10)
    np.testing.assert_array_equal(np.diff(log.offsets), [10, 10, 5])
    np.testing.assert_array_equal(np.flatnonzero(log.truncated), [9, 19, 24])
    assert not log.terminated.any()


def test_the_same_seed_gives_the_same_log() -> None:
    world = random_world(0, 5, 3, terminating=True)
    policy = random_policy(0, world)
    first, again, other = (
        world.sample_log(policy, 500, seed=seed, horizon=30) for seed in (1, 1, 2)
    )
    for name in ("observations", "actions", "rewards", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.actions, other.actions)


def test_zero_probabilities_are_never_drawn() -> None:
    world = make_world(start=np.array([0.0, 1.0]))
    policy = np.array([[0.0, 0.1, 0.9], [0.3, 0.7, 0.0]])
    log = world.sample_log(policy, 20_000, seed=0, horizon=50)
    seen = np.zeros((2, 3), dtype=bool)
    seen[log.observations, log.actions] = True
    np.testing.assert_array_equal(seen, policy > 0)
    assert np.all(log.observations[log.offsets[:-1]] == 1)


@pytest.mark.parametrize(("n_transitions", "horizon"), [(0, 10), (10, 0)])
def test_a_log_of_nothing_is_refused(n_transitions: int, horizon: int) -> None:
    with pytest.raises(InputError, match="0 is below 1"):
        make_world().sample_log(np.full((2, 3), 1 / 3), n_transitions, seed=0, horizon=horizon)


def test_a_log_of_a_batch_of_policies_is_refused() -> None:
    with pytest.raises(InputError, match="one \\(S, A\\) table"):
        make_world().sample_log(np.full((4, 2, 3), 1 / 3), 10, seed=0, horizon=10)


def test_two_state_world_is_the_paper_s() -> None:
    """The step pays one exactly if it leads to s_α; `self` stays and `alt` moves."""
    world = two_state_world()
    for state in (0, 1):
        for action, target in ((0, state), (1, 1 - state)):
            assert world.transition[state, action, target] == 1.0
            assert world.reward[state, action] == float(target == 0)
    assert world.discount == 0.99
    assert not world.termination.any()


def test_two_state_cost_by_kind_of_policy() -> None:
    policies = two_state_policies()
    old = policies["old"]
    charged = {name: two_state_cost(old, new) for name, new in policies.items()}
    assert charged == {"old": 0.0, "n1": 25.0, "n2": 25.0, "n3": 50.0, "n4": 50.0}
    assert two_state_cost(old, np.array([[1.0, 0.0], [0.5, 0.5]])) == 500.0


def test_random_worlds() -> None:
    world, again = (random_world(3, 12, 4, branching=3, terminating=True) for _ in range(2))
    np.testing.assert_array_equal(world.transition, again.transition)
    np.testing.assert_array_equal((world.transition > 0).sum(axis=-1), 3)
    assert not np.array_equal(world.transition, random_world(4, 12, 4, branching=3).transition)
    assert (world.termination > 0).sum() == 16
    assert not random_world(3, 12, 4).termination.any()
    assert (random_world(0, 1, 2).transition == 1.0).all()
    with pytest.raises(InputError, match=r"branching: 13 is not one of 1..12"):
        random_world(0, 12, 4, branching=13)


def test_random_policies_grow_peaked_with_small_concentration() -> None:
    world = random_world(0, 50, 4)
    peaked = random_policy(0, world, concentration=0.05).max(axis=-1).mean()
    flat = random_policy(0, world, concentration=50.0).max(axis=-1).mean()
    assert peaked > 0.9
    assert flat < 0.4
