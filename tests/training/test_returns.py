"""The log's own returns: plain where episodes end, completed where they are only cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import gymnasium
import numpy as np
import pytest

import nacre.training.returns as module
from nacre.errors import InputError
from nacre.estimators.exact import start_value, values
from nacre.logs import Log
from nacre.simulators import LinearPolicy, double_integrator, random_policy, random_world
from nacre.training.returns import (
    bootstrapped_returns_to_go,
    fit_values,
    truncated_tails,
    value_from_returns,
)

DISCOUNT = 0.95


def make_log(
    lengths: Sequence[int], *, terminated: Sequence[bool], seed: int = 0, n_states: int = 4
) -> Log:
    """Episodes of random states and rewards; `terminated` says which of them end by themselves."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    ends = np.cumsum(lengths) - 1
    done = np.zeros(n, dtype=bool)
    done[ends[np.asarray(terminated, dtype=bool)]] = True
    cut = np.zeros(n, dtype=bool)
    cut[ends] = ~done[ends]
    states = rng.integers(0, n_states, n + 1)
    return Log.from_arrays(
        observations=states[:-1],
        actions=rng.integers(0, 2, n),
        rewards=rng.normal(1.0, 1.0, n),
        terminated=done,
        truncated=cut,
        next_observations=states[1:],
        episode=np.repeat(np.arange(len(lengths)), lengths),
    )


def sum_discounted(rewards: Iterable[float], discount: float) -> float:
    return sum(discount**t * float(reward) for t, reward in enumerate(rewards))


def test_plain_returns_where_episodes_terminate() -> None:
    log = make_log([3, 7, 1, 20], terminated=[True] * 4)
    estimate = value_from_returns(log, DISCOUNT)
    expected = [sum_discounted(episode.rewards, DISCOUNT) for episode in log.episodes()]
    np.testing.assert_allclose(estimate.episode_values, expected, rtol=1e-12)
    np.testing.assert_array_equal(estimate.influences, estimate.episode_values)
    np.testing.assert_allclose(estimate.mean, np.mean(expected), rtol=1e-12)
    np.testing.assert_allclose(estimate.standard_error, np.std(expected, ddof=1) / 2, rtol=1e-12)
    assert (estimate.tail, estimate.n_episodes) == (0.0, 4)
    assert min(expected) <= estimate.low <= estimate.mean <= estimate.high <= max(expected)


def test_episodes_that_end_need_no_discount() -> None:
    log = make_log([3, 7], terminated=[True, True])
    np.testing.assert_allclose(
        value_from_returns(log, 1.0).episode_values, log.returns(1.0), rtol=1e-12
    )


def test_tails_of_cut_episodes_by_hand() -> None:
    """One state that pays 2 each step: the tail of H steps is γ^H 2 / (1 - γ)."""
    log = Log.from_arrays(
        observations=np.zeros(9, int),
        actions=np.zeros(9, int),
        rewards=np.full(9, 2.0),
        terminated=np.zeros(9, bool),
        truncated=[False] * 3 + [True] + [False] * 4 + [True],
        next_observations=np.zeros(9, int),
    )
    estimate = value_from_returns(log, 0.9)
    np.testing.assert_allclose(estimate.episode_values, 20.0, rtol=1e-5)
    np.testing.assert_allclose(estimate.tail, 10 * (0.9**4 + 0.9**5), rtol=1e-5)
    np.testing.assert_allclose(truncated_tails(log, 0.9), 20.0, rtol=1e-5)
    np.testing.assert_allclose(bootstrapped_returns_to_go(log, 0.9), 20.0, rtol=1e-5)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_returns_to_go_against_a_loop(discount: float) -> None:
    """Backwards through each episode, from the tail's value or from zero; to 1e-9."""
    log = make_log([5, 1, 40, 12], terminated=[False, True, False, True])
    tails = truncated_tails(log, discount)
    expected = np.zeros(len(log))
    for episode in range(4):
        ahead = tails[episode]
        for row in reversed(range(log.offsets[episode], log.offsets[episode + 1])):
            ahead = float(log.rewards[row]) + discount * ahead
            expected[row] = ahead
    np.testing.assert_allclose(bootstrapped_returns_to_go(log, discount), expected, atol=1e-9)
    assert np.all(tails[[1, 3]] == 0)
    if discount:
        assert np.all(tails[[0, 2]] != 0)


def test_returns_to_go_where_all_episodes_terminate() -> None:
    log = make_log([5, 9], terminated=[True, True])
    np.testing.assert_array_equal(bootstrapped_returns_to_go(log, 0.9), log.returns_to_go(0.9))


def test_late_rows_of_long_episodes_keep_their_tail() -> None:
    """γ^H is far below rounding at the start; at the last row the tail is nearly everything."""
    log = make_log([400], terminated=[False])
    assert 0.9**400 < 1e-18
    last = bootstrapped_returns_to_go(log, 0.9)[-1]
    tail = truncated_tails(log, 0.9)[0]
    np.testing.assert_allclose(last, log.rewards[-1] + 0.9 * tail, rtol=1e-9)
    assert tail > 5
    assert value_from_returns(log, 0.9).tail == 0.0


def test_counts_make_the_finite_world_they_describe() -> None:
    """Least-squares temporal differences with one-hot states solve V = r + γ P V of the log."""
    log = make_log([30, 50, 20], terminated=[True, False, True])
    n = 4
    moves, earned, visits = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for state, reward, done, ahead in zip(
        log.observations, log.rewards, log.terminated, log.next_observations, strict=True
    ):
        visits[state] += 1
        earned[state] += reward
        moves[state, ahead] += not done
    matrix = np.eye(n) - DISCOUNT * moves / visits[:, None]
    expected = np.linalg.solve(matrix, earned / visits)
    np.testing.assert_allclose(
        fit_values(log, DISCOUNT)(np.arange(n, dtype=np.int32)), expected, rtol=1e-5
    )


def test_states_never_seen_are_worth_nothing_known() -> None:
    log = make_log([30], terminated=[False], n_states=2)
    log = dataclasses.replace(log, observation_space=gymnasium.spaces.Discrete(5))
    found = fit_values(log, DISCOUNT)(np.arange(5, dtype=np.int32))
    np.testing.assert_allclose(found[2:], 0.0, atol=1e-12)
    assert np.all(found[:2] > 0)


def test_cut_episodes_are_completed_to_the_exact_value() -> None:
    """Horizon 20 at γ = 0.95: within 4 standard errors with tails, more than 10 off without."""
    world = random_world(3, 6, 3, discount=DISCOUNT)
    policy = random_policy(3, world)
    exact = float(start_value(world, policy))
    log = world.sample_log(policy, 20_000, seed=0, horizon=20)
    estimate = value_from_returns(log, DISCOUNT)
    naive = log.returns(DISCOUNT)
    assert abs(estimate.mean - exact) < 4 * estimate.standard_error
    assert abs(naive.mean() - exact) > 10 * estimate.standard_error
    np.testing.assert_allclose(estimate.mean - naive.mean(), estimate.tail, rtol=1e-9)
    np.testing.assert_allclose(estimate.influences.mean(), estimate.mean, rtol=1e-4)
    spread = fit_values(log, DISCOUNT)(np.arange(6, dtype=np.int32)) - values(world, policy)
    assert np.abs(spread).max() < 0.1 * np.ptp(values(world, policy)) + 1.0


@pytest.mark.parametrize("largest_fit", [200_000, 3000])
def test_cut_episodes_with_vectors(largest_fit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear-quadratic world, closed form, cut after 15 steps: 4 standard errors plus 2 %."""
    monkeypatch.setattr(module, "LARGEST_FIT", largest_fit)
    world = double_integrator()
    policy = LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.6]))
    exact = world.start_value(policy)
    log = world.sample_log(policy, 9000, seed=0, horizon=15)
    estimate = value_from_returns(log, world.discount)
    assert abs(estimate.mean - exact) < 4 * estimate.standard_error + 0.02 * abs(exact)
    assert log.returns(world.discount).mean() - exact > 0.3 * abs(exact)
    assert estimate.low < estimate.mean < estimate.high


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    world = double_integrator()
    policy = LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.6]))
    log = world.sample_log(policy, 500, seed=0, horizon=50)
    whole = value_from_returns(log, world.discount)
    monkeypatch.setattr(module, "CHUNK", 64)
    cut = value_from_returns(log, world.discount)
    np.testing.assert_allclose(cut.influences, whole.influences, rtol=1e-6)


def test_predictions_stay_within_what_rewards_allow() -> None:
    """|V| ≤ max |r| / (1 - γ), however far from the log a state is."""
    world = double_integrator()
    log = world.sample_log(
        LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.6])), 200, seed=0, horizon=20
    )
    bound = np.abs(log.rewards).max() / (1 - world.discount)
    far = np.array([[1e6, -1e6], [-1e3, 0.0]], dtype=np.float32)
    assert np.abs(fit_values(log, world.discount)(far)).max() <= bound


def test_influences_predict_leaving_an_episode_out() -> None:
    """Refitted without episode e the mean moves by -(influence - mean) / (E - 1), to first order.

    Correlation above 0.99, slope within 10 %.
    """
    world = random_world(3, 4, 2, discount=DISCOUNT)
    log = world.sample_log(random_policy(3, world), 800, seed=2, horizon=20)
    whole = value_from_returns(log, DISCOUNT, n_bootstrap=1)
    episodes = np.arange(log.n_episodes)
    refitted = [
        value_from_returns(log.select(episodes[episodes != e]), DISCOUNT, n_bootstrap=1).mean
        for e in episodes
    ]
    moved = np.array(refitted) - whole.mean
    predicted = -(whole.influences - whole.mean) / (log.n_episodes - 1)
    assert np.corrcoef(moved, predicted)[0, 1] > 0.99
    np.testing.assert_allclose(np.polyfit(predicted, moved, 1)[0], 1.0, atol=0.1)


@pytest.mark.parametrize("horizon", [20, 200])
def test_intervals_cover_the_exact_value(horizon: int) -> None:
    """Nominal 95 % over 100 logs of 1000 rows: 88 to 100 covered, mostly cut or hardly ever."""
    world = random_world(3, 6, 3, discount=DISCOUNT, terminating=horizon == 200)
    policy = random_policy(3, world)
    exact = float(start_value(world, policy))
    covered = 0
    for seed in range(100):
        log = world.sample_log(policy, 1000, seed=seed, horizon=horizon)
        estimate = value_from_returns(log, DISCOUNT, n_bootstrap=200, seed=seed)
        covered += estimate.low <= exact <= estimate.high
    assert 88 <= covered <= 100


def test_more_confidence_is_a_wider_interval() -> None:
    log = make_log([5] * 50, terminated=[True] * 50)
    narrow, wide = (value_from_returns(log, DISCOUNT, confidence=c) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high
    np.testing.assert_allclose(wide.high - wide.low, 2 * 2.576 * wide.standard_error, rtol=0.1)


def test_same_seed_same_bits() -> None:
    log = make_log([5] * 20, terminated=[False] * 20)
    first, again = (value_from_returns(log, DISCOUNT, seed=3) for _ in range(2))
    other = value_from_returns(log, DISCOUNT, seed=4)
    assert (first.low, first.high) == (again.low, again.high)
    assert first.low != other.low
    assert first.mean == other.mean


def test_one_episode_says_nothing_of_its_spread() -> None:
    estimate = value_from_returns(make_log([30], terminated=[False]), DISCOUNT)
    assert (estimate.low, estimate.high, estimate.standard_error) == (-np.inf, np.inf, np.inf)
    assert np.isfinite(estimate.mean)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_bad_confidence(confidence: float) -> None:
    with pytest.raises(InputError, match=r"confidence = .*: must lie between 0 and 1"):
        value_from_returns(make_log([3], terminated=[True]), DISCOUNT, confidence=confidence)


def test_other_bad_input() -> None:
    log = make_log([3, 4], terminated=[True, False])
    with pytest.raises(InputError, match="n_bootstrap = 0: at least 1"):
        value_from_returns(log, DISCOUNT, n_bootstrap=0)
    with pytest.raises(InputError, match=r"discount = 1.0: .* a discount in \[0, 1\)"):
        value_from_returns(log, 1.0)
