"""Runs of units: found where there are changes, and not where there is chance alone."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.runs import find_runs, widen_score


def test_by_hand() -> None:
    sums = np.array([0.0, 0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0])[:, None]
    assert find_runs(sums, np.ones((8, 1)), 2.5) == [slice(0, 3), slice(3, 5), slice(5, 8)]
    # Three of eight: |0 - 3/8 · 10| / √(8 · 3/8 · 5/8) = 2.74.
    assert find_runs(sums, np.ones((8, 1)), 2.8) == [slice(0, 8)]


def test_runs_cover_everything_once() -> None:
    rng = np.random.default_rng(100)
    sums = rng.normal(size=(300, 3)) + 2.0 * rng.normal(size=(6, 3)).repeat(50, axis=0)
    runs = find_runs(sums, np.ones((300, 3)), 5.0)
    places = np.concatenate([np.arange(300)[run] for run in runs])
    np.testing.assert_array_equal(places, np.arange(300))
    assert len(runs) > 2


def test_chance_makes_no_runs() -> None:
    """One limit for all of the places at which a run may begin and end."""
    rng = np.random.default_rng(101)
    limit = widen_score(3.0, 200)
    alone = [
        len(find_runs(rng.normal(size=(200, 1)), np.ones((200, 1)), limit)) for _ in range(400)
    ]
    assert np.mean(np.array(alone) == 1) > 0.99


@pytest.mark.parametrize("n_units", [0, 1, 2])
def test_nothing_to_cut(n_units: int) -> None:
    runs = find_runs(np.ones((n_units, 2)), np.zeros((n_units, 2)), 3.0)
    assert runs == [slice(0, n_units)]


def test_a_column_without_variance_says_nothing() -> None:
    sums = np.stack([np.zeros(10), np.repeat([0.0, 9.0], 5)], axis=1)
    spread = np.stack([np.ones(10), np.zeros(10)], axis=1)
    assert find_runs(sums, spread, 3.0) == [slice(0, 10)]
