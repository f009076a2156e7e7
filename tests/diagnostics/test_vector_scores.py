"""Scores of vector logs: what inputs explain is gone, what is left is summed by unit."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.vector_scores import (
    LARGEST_RESIDUAL,
    MOST_CATEGORIES,
    MOST_COLUMNS,
    find_residuals,
    one_hot,
    score_residuals,
    standardise,
)


def test_standardised_columns() -> None:
    rng = np.random.default_rng(100)
    values = np.stack([3.0 + 2.0 * rng.normal(size=500), np.full(500, 7.0)], axis=1)
    scaled = standardise(values)
    assert scaled.shape == (500, 1)
    assert scaled.mean() == pytest.approx(0.0, abs=1e-9)
    assert scaled.std() == pytest.approx(1.0)
    np.testing.assert_allclose(standardise(100.0 * values - 5.0), scaled)
    outlier = values[:, :1].copy()
    outlier[0] = 1e6
    assert standardise(outlier).max() == LARGEST_RESIDUAL


def test_indicators_of_frequent_values_first() -> None:
    np.testing.assert_array_equal(
        one_hot(np.array([9, 4, 4, 9, 4])), [[0, 1], [1, 0], [1, 0], [0, 1], [1, 0]]
    )
    many = one_hot(np.arange(3 * MOST_CATEGORIES))
    assert many.shape[1] == MOST_CATEGORIES
    np.testing.assert_array_equal(many.sum(axis=1), 1.0)


def test_residuals_are_what_the_inputs_do_not_explain() -> None:
    """A kinked function of the inputs plus noise: the noise is left, and nothing of a line."""
    rng = np.random.default_rng(101)
    inputs, noise = rng.normal(size=(4000, 2)), rng.normal(size=4000)
    targets = np.stack([np.abs(inputs[:, 0]) + inputs[:, 1] + 0.3 * noise, inputs[:, 1]], axis=1)
    residuals = find_residuals(inputs, targets, seed=0)
    assert np.corrcoef(residuals[:, 0], noise)[0, 1] > 0.95
    assert abs(residuals[:, 0].mean()) < 0.01
    assert np.abs(residuals).max() <= LARGEST_RESIDUAL


def test_order_does_not_matter_to_the_fit() -> None:
    rng = np.random.default_rng(102)
    inputs, targets = rng.normal(size=(500, 2)), rng.normal(size=(500, 1))
    order = rng.permutation(500)
    residuals = find_residuals(inputs, targets, seed=0)
    np.testing.assert_allclose(
        find_residuals(inputs[order], targets[order], seed=0), residuals[order], atol=1e-3
    )


def test_sums_by_unit_by_hand() -> None:
    """Plain, and times the input; unit 1 has no row."""
    unit = np.array([0, 0, 2])
    residuals, inputs = np.array([[1.0], [2.0], [-3.0]]), np.array([[10.0], [-1.0], [2.0]])
    scores = score_residuals(unit, 3, residuals, inputs, seed=0)
    np.testing.assert_allclose(scores, [[3.0, 8.0], [0.0, 0.0], [-3.0, -6.0]])
    assert score_residuals(unit, 3, residuals[:, :0], inputs, seed=0).shape == (3, 0)


def test_too_many_products_are_mixed() -> None:
    rng = np.random.default_rng(103)
    unit, residuals = np.repeat(np.arange(4), 10), rng.normal(size=(40, 2))
    inputs = rng.normal(size=(40, 300))
    scores = score_residuals(unit, 4, residuals, inputs, seed=0)
    assert scores.shape == (4, 2 + MOST_COLUMNS)
    np.testing.assert_allclose(scores[:, :2], residuals.reshape(4, 10, 2).sum(axis=1))
