"""The permutation test: its level, what it finds, and where."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.change_points import NO_CHANGE, PERMUTATIONS, find_change


def test_a_clear_change_is_found_at_its_place() -> None:
    rng = np.random.default_rng(100)
    scores = rng.normal(size=(60, 3))
    scores[40:, 1] += 3.0
    change = find_change(scores, 1, seed=0)
    assert change.p_value == pytest.approx(1.0 / (PERMUTATIONS + 1))
    assert abs(change.unit - 40) <= 1
    # Three of a spread that the change itself has widened: √(1 + 9 · 2/9) = √3.
    assert change.size == pytest.approx(3.0 / np.sqrt(3.0), rel=0.2)


def test_every_column_that_moves_a_little_adds_up() -> None:
    rng = np.random.default_rng(101)
    scores = rng.normal(size=(100, 60))
    scores[50:] += 0.5 * rng.choice([-1.0, 1.0], 60)
    assert find_change(scores, 0, seed=0).p_value <= 0.01


def test_the_level_holds_where_nothing_changed() -> None:
    """60 series with heavy tails: within three standard errors of the level 0.1."""
    rng = np.random.default_rng(102)
    p_values = np.array(
        [find_change(rng.standard_t(3, size=(24, 4)), 1, seed=i).p_value for i in range(60)]
    )
    assert np.mean(p_values <= 0.1) <= 0.1 + 3.0 * np.sqrt(0.09 / 60)
    assert 0.3 < p_values.mean() < 0.7


def test_a_change_near_either_end_is_found() -> None:
    """The last three, or the first three, of 200 units."""
    rng = np.random.default_rng(105)
    for place in (slice(197, 200), slice(0, 3)):
        scores = rng.normal(size=(200, 4))
        scores[place, 0] += 6.0
        change = find_change(scores, 1, seed=0)
        assert change.p_value <= 0.002
        assert change.unit in (3, 197)
        assert not change.alternates


def test_times_that_take_turns_are_found() -> None:
    """Four good units, four poor ones, and so on; every second unit; no change in between."""
    rng = np.random.default_rng(106)
    for length, sign in ((4, 1.0), (1, -1.0)):
        turns = np.where(np.arange(160) // length % 2, 1.0, -1.0)
        scores = rng.normal(size=(160, 3)) + turns[:, None]
        assert find_change(scores, 1, seed=0).p_value > 0.01
        change = find_change(scores, 1, seed=0, neighbours=True)
        assert change.p_value == pytest.approx(1.0 / (PERMUTATIONS + 1))
        assert change.alternates
        assert change.size * sign > 0.2


def test_a_change_is_not_taken_for_turns() -> None:
    scores = np.random.default_rng(107).normal(size=(100, 3))
    scores[70:] += 2.0
    change = find_change(scores, 1, seed=0, neighbours=True)
    assert not change.alternates
    assert abs(change.unit - 70) <= 2


def test_the_level_holds_with_neighbours_and_ends() -> None:
    """200 series with heavy tails: within three standard errors of the level 0.05."""
    rng = np.random.default_rng(108)
    p_values = np.array(
        [
            find_change(rng.standard_t(2, size=(60, 5)), 2, seed=i, neighbours=True).p_value
            for i in range(200)
        ]
    )
    assert np.mean(p_values <= 0.05) <= 0.05 + 3.0 * np.sqrt(0.0475 / 200)
    assert 0.4 < p_values.mean() < 0.6


def test_neither_scale_nor_shift_of_a_column_matters() -> None:
    scores = np.random.default_rng(103).normal(size=(30, 3))
    change = find_change(scores, 1, seed=0)
    other = find_change(scores * [2.0, 50.0, 0.1] + [1.0, -3.0, 0.5], 1, seed=0)
    assert other.p_value == pytest.approx(change.p_value, abs=0.01)
    assert other.unit == change.unit
    assert other.size == pytest.approx(change.size, rel=1e-6)


def test_reversed_series_change_as_much_at_the_mirrored_place() -> None:
    rng = np.random.default_rng(104)
    scores = rng.normal(size=(50, 2)) + 2.0 * (np.arange(50)[:, None] >= 20)
    there, back = find_change(scores, 1, seed=0), find_change(scores[::-1].copy(), 1, seed=0)
    assert there.p_value == back.p_value
    assert there.unit + back.unit == 50
    assert there.size == pytest.approx(back.size)


@pytest.mark.parametrize(
    "scores", [np.arange(3.0)[:, None], np.ones((30, 2)), np.zeros((30, 0))], ids=str
)
def test_nothing_is_found_where_nothing_can_be(scores: np.ndarray) -> None:
    assert find_change(scores, 1, seed=0) == NO_CHANGE
