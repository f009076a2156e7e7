"""Weighted episodes: equal to a plain loop, exact where critics are, right where they are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.estimators import exact
from nacre.estimators.weighting import (
    Weighted,
    Weights,
    find_effective,
    find_weights,
    weigh_episodes,
)
from nacre.logs import Log
from nacre.policies import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from tests.support.table_critics import TableCritics

DISCOUNT = 0.8
WORLD = random_world(5, 4, 3, discount=DISCOUNT, terminating=True).starting_at(0)
OLD = 0.5 * random_policy(1, WORLD) + 0.5 / 3
NEW = 0.5 * OLD + 0.5 * random_policy(2, WORLD)


def policy(table: np.ndarray) -> TabularPolicy:
    return TabularPolicy.from_probabilities(table)


def weigh(log: Log, new: np.ndarray = NEW, seed: int = 0) -> Weights:
    return find_weights(log, (policy(OLD),), policy(new), discount=DISCOUNT, seed=seed)


def estimate(log: Log, shift: float = 0.0, new: np.ndarray = NEW) -> Weighted:
    """By critics that know the values exactly, but for a shift."""
    return weigh_episodes(
        weigh(log, new),
        policy(OLD),
        policy(new),
        TableCritics.of(WORLD, OLD, shift),
        TableCritics.of(WORLD, new, shift),
        discount=DISCOUNT,
    )


def sample(n: int = 4000, world: FiniteWorld = WORLD) -> Log:
    return world.sample_log(OLD, n, seed=3, horizon=12)


def loop(log: Log, table: np.ndarray, q: np.ndarray) -> float:
    """The formula, an episode and a step at a time."""
    v = (table * q).sum(axis=1)
    episodes = list(log.episodes())
    longest = max(len(one) for one in episodes)
    weights = np.ones((len(episodes), longest + 1))
    for i, one in enumerate(episodes):
        for t in range(longest):
            factor = 1.0
            if t < len(one):
                s, a = int(one.observations[t]), int(one.actions[t])
                factor = table[s, a] / OLD[s, a]
            weights[i, t + 1] = weights[i, t] * factor
    weights /= weights.sum(axis=0)
    total = 0.0
    for i, one in enumerate(episodes):
        for t in range(len(one)):
            s, a = int(one.observations[t]), int(one.actions[t])
            total += DISCOUNT**t * weights[i, t + 1] * (float(one.rewards[t]) - q[s, a])
            total += DISCOUNT**t * weights[i, t] * v[s]
        if not one.terminated[-1]:
            ahead = v[int(one.next_observations[-1])]
            total += DISCOUNT ** len(one) * weights[i, len(one)] * ahead
    return total


def test_it_is_the_formula() -> None:
    log = sample(600)
    wrong = 0.7
    expected = loop(log, NEW, exact.state_action_values(WORLD, NEW) + wrong) - loop(
        log, OLD, exact.state_action_values(WORLD, OLD) + wrong
    )
    assert estimate(log, wrong).gain == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_it_finds_the_exact_gain_even_by_wrong_critics(shift: float) -> None:
    found = estimate(sample(), shift)
    truth = float(exact.start_value(WORLD, NEW) - exact.start_value(WORLD, OLD))
    assert abs(found.gain - truth) < 4 * found.standard_error
    assert found.standard_error < 0.2 * abs(truth)


def test_the_old_policy_itself_gains_nothing_and_every_episode_counts() -> None:
    log = sample(500)
    assert abs(estimate(log, new=OLD).gain) < 1e-5
    assert weigh(log, OLD).effective == pytest.approx(log.n_episodes, rel=1e-6)


def test_weights_are_products_of_ratios() -> None:
    log = sample(300)
    weights = weigh(log)
    for row, one in zip(weights.logs, log.episodes(), strict=True):
        states, actions = (np.asarray(part, int) for part in (one.observations, one.actions))
        ratios = np.log(NEW[states, actions] / OLD[states, actions])
        np.testing.assert_allclose(row[: len(one)], np.cumsum(ratios), atol=1e-4)
        # Where an episode is over its weight stays.
        np.testing.assert_allclose(row[len(one) :], np.sum(ratios), atol=1e-4)


def test_few_episodes_carry_the_weight_of_a_candidate_that_is_far() -> None:
    far = np.eye(3)[np.argmin(OLD, axis=1)]
    lonely = WORLD.sample_log(OLD, 60, seed=1, horizon=12)
    assert weigh(lonely, 0.999 * far + 0.001 / 3).effective < 5


def test_effective_episodes_by_hand() -> None:
    even = np.zeros((8, 3))
    assert find_effective(even) == pytest.approx(8.0)
    # The step at which they are fewest counts: one episode has all of the weight there.
    one = even.copy()
    one[0, 1] = 50.0
    assert find_effective(one) == pytest.approx(1.0)
    # Half of them have none.
    half = even.copy()
    half[:4, 2] = -60.0
    assert find_effective(half) == pytest.approx(4.0 * 0.5, rel=1e-6)


def test_weights_that_all_vanish_are_nobody_s() -> None:
    """A normalised weight of 1/n each would look like all episodes."""
    vanished = np.full((193, 2), -40.0)
    assert find_effective(vanished) < 1e-12
    # Larger ones than one are no reason to count more episodes than there are.
    assert find_effective(np.full((193, 2), 40.0)) == pytest.approx(193.0)


def test_many_rows_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sample(800)
    whole = estimate(log)
    monkeypatch.setattr("nacre.estimators.weighting.CHUNK", 64)
    assert math.isfinite(whole.gain)
    assert estimate(log).gain == pytest.approx(whole.gain, rel=1e-5)
    monkeypatch.setattr("nacre.estimators.weighting.MOST_EPISODES", 30)
    few = weigh(log)
    assert few.log.n_episodes == 30
    assert few.effective <= 30
    assert weigh(log, seed=1).log.fingerprint() != few.log.fingerprint()


def test_without_a_future_one_step_is_weighed() -> None:
    log = sample(300)
    weights = find_weights(log, (policy(OLD),), policy(NEW), discount=0.0)
    assert weights.logs.shape == (log.n_episodes, 1)
