"""Scores of discrete logs: by hand, zero in sum, and blind to what the context explains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.diagnostics.table_scores import MOST_COLUMNS, score_numbers, score_outcomes


def test_numbers_less_their_mean_in_the_context_by_hand() -> None:
    """Context 7 has 0, 2, 4 (mean 2, spread √(8/3)); context 3 has 5 twice."""
    unit = np.array([0, 0, 1, 1, 1])
    context = np.array([7, 3, 7, 3, 7])
    scores = score_numbers(unit, 2, context, np.array([0.0, 5.0, 2.0, 5.0, 4.0]))
    spread = math.sqrt(8 / 3)
    np.testing.assert_allclose(scores, [[-2.0, -2.0 / spread, -2.0], [2.0, 2.0 / spread, 2.0]])


def test_outcomes_less_what_is_expected_by_hand() -> None:
    """One context, outcomes 0, 0, 0, 1: p̂ = 3/4 and 1/4, two rows in each unit."""
    unit = np.array([0, 0, 1, 1])
    pooled, counts = score_outcomes(unit, 2, np.zeros(4, np.int64), np.array([0, 0, 0, 1]))
    surprises = -np.log([0.75, 0.25])
    expected = 0.75 * surprises[0] + 0.25 * surprises[1]
    np.testing.assert_allclose(
        pooled[:, 0], [2 * (surprises[0] - expected), surprises.sum() - 2 * expected]
    )
    # Expected in each unit are 1.5 of the first outcome and 0.5 of the second.
    np.testing.assert_allclose(counts, [[0.5, -0.5], [-0.5, 0.5]])


@pytest.mark.parametrize("seed", [100, 101])
def test_every_column_adds_up_to_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unit = np.sort(rng.integers(0, 9, 400))
    context, outcome = rng.integers(0, 6, 400), rng.integers(0, 4, 400)
    numbers = score_numbers(unit, 9, context, rng.normal(size=400))
    pooled, counts = score_outcomes(unit, 9, context, outcome)
    for scores in (numbers, pooled, counts):
        assert scores.shape[0] == 9
        np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-9)


def test_what_the_context_explains_scores_nothing() -> None:
    """Other contexts in other units, with numbers and outcomes that they determine."""
    unit = np.repeat(np.arange(4), 5)
    context = np.repeat([0, 1, 0, 2], 5)
    numbers = score_numbers(unit, 4, context, 0.1 * context)
    np.testing.assert_array_equal(numbers, 0.0)
    pooled, counts = score_outcomes(unit, 4, context, context)
    np.testing.assert_allclose(pooled, 0.0, atol=1e-12)
    assert counts.shape == (4, 0)


def test_names_of_contexts_do_not_matter_and_columns_are_limited() -> None:
    rng = np.random.default_rng(102)
    unit = np.sort(rng.integers(0, 5, 3000))
    context, numbers = rng.integers(0, 500, 3000), rng.normal(size=3000)
    scores = score_numbers(unit, 5, context, numbers)
    assert scores.shape == (5, 2 + MOST_COLUMNS)
    renamed = score_numbers(unit, 5, 3 * context + 11, numbers)
    np.testing.assert_allclose(renamed, scores)
