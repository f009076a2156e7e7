"""The index of a log: own rows are inside, far ones outside, nearest rows are the nearest."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.diagnostics.log_index import NEIGHBOURS, THINNED, Half, LogIndex
from nacre.logs import Log


def make_vectors(n_episodes: int = 40, scale: float = 1.0) -> Log:
    """States in the plane, an action vector; 25 rows an episode."""
    rng = np.random.default_rng(100)
    n = 25 * n_episodes
    states = rng.normal(size=(n, 2)) * [1.0, scale]
    return Log.from_arrays(
        states,
        0.5 * rng.normal(size=(n, 1)),
        np.zeros(n),
        np.zeros(n, bool),
        np.arange(n) % 25 == 24,
        np.roll(states, -1, axis=0),
        offsets=np.arange(0, n + 1, 25),
    )


def make_table() -> Log:
    return Log.from_arrays(
        np.array([0, 1, 0]),
        np.array([0, 1, 0]),
        np.zeros(3),
        np.array([False, True, True]),
        next_observations=np.array([1, 2, 1]),
        offsets=np.array([0, 2, 3]),
        observation_space=Discrete(4),
        action_space=Discrete(2),
    )


def test_halves_are_whole_episodes_that_do_not_meet() -> None:
    log = make_vectors()
    index = LogIndex(log, np.random.default_rng(0))
    first, second = (set(log.episode_ids[half.rows].tolist()) for half in index.halves)
    assert not first & second
    assert first | second == set(range(40))


def test_a_hundredth_of_the_rows_of_one_half_is_outside_of_the_other() -> None:
    log = make_vectors()
    index = LogIndex(log, np.random.default_rng(0))
    shares = []
    for half in (0, 1):
        rows = index.halves[1 - half].rows
        outside, _, _ = index.look_up(
            half, log.observations[rows], log.actions[rows], np.zeros(len(rows))
        )
        shares.append(float(np.mean(outside > 0)))
    assert np.mean(shares) == pytest.approx(0.01, abs=0.005)


def test_outside_grows_from_nothing_to_all() -> None:
    index = LogIndex(make_vectors(), np.random.default_rng(0))
    states = np.array([[x, 0.0] for x in (0.0, 4.0, 6.0, 10.0, 100.0)])
    outside, _, shares = index.look_up(0, states, np.zeros((5, 1)), np.zeros(5))
    assert outside[0] == 0.0
    assert outside[-1] == 1.0
    assert np.all(np.diff(outside) >= 0)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # Three coordinates: rows are 16 times thinner at 16^(1/3) limits.
    assert index.reach == pytest.approx(THINNED ** (1 / 3))


def test_units_of_a_coordinate_do_not_matter() -> None:
    plain, wide = make_vectors(), make_vectors(scale=1000.0)
    one, other = (LogIndex(log, np.random.default_rng(0)) for log in (plain, wide))
    assert one.limit == pytest.approx(other.limit, rel=1e-3)
    states = np.random.default_rng(101).normal(size=(50, 2)) * 3.0
    actions, zeros = np.zeros((50, 1)), np.zeros(50)
    np.testing.assert_allclose(
        one.look_up(0, states, actions, zeros)[0],
        other.look_up(0, states * [1.0, 1000.0], actions, zeros)[0],
        atol=1e-2,
    )


def test_pairs_of_a_table_are_there_or_not() -> None:
    index = LogIndex(make_table(), np.random.default_rng(0))
    assert index.tabular
    states, actions = np.array([0, 1, 0, 3]), np.array([0, 1, 1, 0])
    outside, rows, _ = index.look_up(0, states, actions, np.array([0.0, 0.5, 0.5, 0.5]))
    np.testing.assert_array_equal(outside, [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(rows[:2, 0], [0, 1])
    # The pair (0, 0) has rows 0 and 2; a uniform number chooses.
    drawn = index.look_up(0, np.zeros(2, int), np.zeros(2, int), np.array([0.4, 0.6]))[1]
    np.testing.assert_array_equal(drawn[:, 0], [0, 2])


def test_nearest_rows_by_brute_force() -> None:
    rng = np.random.default_rng(102)
    vectors, asked = rng.normal(size=(200, 3)), rng.normal(size=(30, 3))
    groups = rng.integers(0, 2, 200)
    half = Half.build(np.arange(1000, 1200), groups, vectors)
    wanted = np.arange(30) % 2
    distances, rows, weights = half.find(wanted, asked, np.zeros(30))
    far = np.linalg.norm(asked[:, None] - vectors, axis=2)
    far[groups != wanted[:, None]] = np.inf
    nearest = np.argsort(far, axis=1)[:, :NEIGHBOURS]
    np.testing.assert_array_equal(rows, 1000 + nearest)
    np.testing.assert_allclose(distances, far.min(axis=1) / half.radii[nearest[:, 0]])
    assert np.all(np.diff(weights, axis=1) <= 1e-12)
    assert np.isinf(half.find(np.array([5]), asked[:1], np.zeros(1))[0][0])
