"""Scores of weighted episodes: parts that add up, limits that pay, spreads that are honest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.estimators.policy_ratios import PolicyRatios
from nacre.estimators.scores import (
    LEAST_DEGREES,
    LIMITS,
    Scores,
    choose_limit,
    find_spread,
    mean_square,
)


def make_ratios(n: int, rare: float, seed: int = 100) -> PolicyRatios:
    """Old (1 - rare, rare), new (1/2, 1/2), at n contexts."""
    taken = (np.random.default_rng(seed).random(n) < rare).astype(int)
    inverse = np.array([2.0 * (1.0 - rare), 2.0 * rare])
    return PolicyRatios(1.0 / inverse[taken], np.full((n, 2), 0.5), np.tile(inverse, (n, 1)))


def make_scores(ratios: np.ndarray, residuals: np.ndarray, baselines: np.ndarray) -> Scores:
    values = baselines + (ratios - 1.0) * residuals
    ones = np.ones(len(values))
    return Scores(values, ratios, residuals, baselines, ones, math.inf, 0.0, 0.0, 0.5 * ones)


def test_split_gives_the_gain_back_where_weights_average_one() -> None:
    rng = np.random.default_rng(100)
    ratios = rng.exponential(size=50)
    scores = make_scores(ratios / ratios.mean(), rng.normal(size=50), rng.normal(size=50))
    weights, outcomes, baselines = scores.split()
    gain = baselines.mean() + weights @ outcomes / weights.sum()
    assert gain == pytest.approx(scores.values.mean())


def test_mean_square_counts_weights_that_the_log_has_not_met() -> None:
    """Taken is only the frequent action; the policies know Σ π_new ρ - 1 = 1/(4 p (1 - p)) - 1."""
    ratios = make_ratios(100, 0.1)
    lucky = PolicyRatios(np.full(100, 1.0 / 1.8), ratios.masses, ratios.inverse)
    expected = 1.0 / (4 * 0.1 * 0.9) - 1.0
    assert mean_square(lucky, np.ones(100), math.inf) == pytest.approx(expected)
    assert mean_square(lucky, 2.0 * np.ones(100), math.inf) == pytest.approx(4.0 * expected)


def test_mild_weights_are_not_clipped_and_wild_ones_are() -> None:
    residuals = np.random.default_rng(101).normal(size=400)
    ones = np.ones(400)
    assert choose_limit(make_ratios(400, 0.4), ones, residuals, 6.0, 1.0) == (math.inf, 0.0)
    ratios = make_ratios(400, 1e-5)
    limit, outside = choose_limit(ratios, ones, residuals, 6.0, 1.0)
    assert limit in LIMITS
    assert math.isfinite(limit)
    assert outside == pytest.approx(ratios.excess(limit).mean())
    assert outside == pytest.approx(0.5, abs=0.01)


def test_neither_sign_nor_size_of_residuals_moves_the_limit() -> None:
    residuals = np.random.default_rng(102).normal(size=400)
    ratios, ones = make_ratios(400, 0.01), np.ones(400)
    found = choose_limit(ratios, ones, residuals, 6.0, 1.0)
    assert choose_limit(ratios, ones, -residuals, 6.0, 1.0) == found
    assert choose_limit(ratios, ones, 10.0 * residuals, 60.0, 1.0) == pytest.approx(found)


def test_spread_is_at_least_that_of_the_scores() -> None:
    rng = np.random.default_rng(103)
    scores = make_scores(np.ones(2000), rng.normal(size=2000), rng.normal(size=2000))
    error, degrees = find_spread(scores, 0.0, 0.0)
    assert error == pytest.approx(scores.values.std(ddof=1) / math.sqrt(2000))
    # Normal scores have κ = 3 and about n degrees; its own error is √(24 / n) = 0.11.
    assert degrees == pytest.approx(2000, rel=0.25)


def test_weights_and_residuals_that_happen_not_to_meet_still_count() -> None:
    """Ten rows of weight 11 without a residual, and a residual where weights are one."""
    ratios, residuals = np.ones(100), np.ones(100)
    ratios[:10], residuals[:10] = 11.0, 0.0
    scores = make_scores(ratios, residuals, np.zeros(100))
    assert np.all(scores.values == 0.0)
    error, degrees = find_spread(scores, 1.0, 0.0)
    assert error == pytest.approx(math.sqrt(10.0 * 0.9 / 100))
    assert degrees == 99.0
    assert find_spread(scores, 1.0, 5.0)[0] > error


def test_wild_scores_leave_few_degrees() -> None:
    baselines = np.zeros(1000)
    baselines[0] = 1.0
    scores = make_scores(np.ones(1000), np.zeros(1000), baselines)
    assert find_spread(scores, 1.0, 0.0)[1] == LEAST_DEGREES
