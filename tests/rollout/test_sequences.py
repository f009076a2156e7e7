"""Confidence sequences against gbstats 0.8 and against streams whose mean is known."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.rollout.design import choose_design
from nacre.rollout.scores import score_sets
from nacre.rollout.sequences import (
    LEAST_SCORES,
    bound_mean,
    count_needed,
    find_rho,
    long_run_variance,
    one_sided_width,
    running_variance,
    two_sided_width,
)

# What gbstats' SequentialTwoSidedTTest says of two means: its tuning parameter is 500, alpha 0.05.
# Columns: units of both arms, variance of the difference, half of the interval's width.
GBSTATS = (
    (120, 0.016743566992014198, 0.42451839060665105),
    (820, 0.0022265901713027884, 0.14386006640950666),
)


@pytest.mark.parametrize(("n", "variance", "width"), GBSTATS)
def test_the_two_sided_width_is_that_of_gbstats(n: int, variance: float, width: float) -> None:
    rho = find_rho(0.05, 500)
    assert rho == pytest.approx(0.12598535313073156, rel=1e-12)
    assert two_sided_width(variance * n, n, 0.05, rho) == pytest.approx(width, rel=1e-12)


def test_one_side_is_tighter_than_both_at_the_same_error() -> None:
    rho = find_rho(0.1, 100)
    n = np.arange(20, 2000)
    one, both = one_sided_width(1.0, n, 0.05, rho), two_sided_width(1.0, n, 0.05, rho)
    assert np.all(one < both)
    # At twice the error both sides are a little tighter: log(c) against log(1 + c).
    assert np.all(one > two_sided_width(1.0, n, 0.1, rho))


def test_bounds_after_each_score_are_those_of_the_scores_so_far() -> None:
    scores = np.random.default_rng(100).normal(1e6, 1.0, (3, 60))
    whole = bound_mean(scores, 0.05, 50)
    for n in (25, 60):
        part = bound_mean(scores[:, :n], 0.05, 50)
        np.testing.assert_allclose(whole.low[:, n - 1], part.low[:, -1], rtol=1e-12)
    variance = scores.var(axis=-1, ddof=1)
    np.testing.assert_allclose(running_variance(scores)[:, -1], variance, rtol=1e-6)
    width = one_sided_width(variance, 60, 0.05, find_rho(0.1, 50))
    np.testing.assert_allclose(whole.high[:, -1] - whole.mean[:, -1], width, rtol=1e-6)
    assert np.all(np.isinf(whole.low[:, : LEAST_SCORES - 1]))


def test_scores_without_spread_prove_nothing() -> None:
    found = bound_mean(np.ones(100), 0.05, 50)
    assert np.all(np.isinf(found.low))


def test_the_larger_spread_counts() -> None:
    scores = np.random.default_rng(101).normal(size=100)
    plain = bound_mean(scores, 0.05, 50)
    narrow = bound_mean(scores, 0.05, 50, np.full((100, 2), 1e-3))
    wide = bound_mean(scores, 0.05, 50, np.column_stack([np.full(100, 9.0), np.zeros(100)]))
    np.testing.assert_array_equal(plain.low, narrow.low)
    expected = one_sided_width(9.0, 100, 0.05, find_rho(0.1, 50))
    assert wide.high[-1] - wide.mean[-1] == pytest.approx(float(expected))


def test_looking_after_every_score_errs_no_more_than_it_may() -> None:
    scores = np.random.default_rng(102).normal(size=(2000, 400))
    found = bound_mean(scores, 0.05, 100)
    # 5 % of 2,000 streams and two standard errors of that: 6 %.
    assert np.mean((found.low > 0).any(axis=-1)) <= 0.06
    assert np.mean((found.high < 0).any(axis=-1)) <= 0.06


def test_rare_outcomes_need_the_spread_of_the_other_arm() -> None:
    rng = np.random.default_rng(104)
    design = choose_design(0.1, "episode")
    shape = (400, 150, 10)
    outcomes = np.where(rng.random(shape) < 0.03, rng.exponential(10.0, shape), 0.0)
    chosen = rng.random(shape).argsort(axis=-1) < 1
    scores = score_sets(outcomes, chosen, design)
    plain, floored = bound_mean(scores.values, 0.05, 60), scores.bound(0.05, 60)
    assert np.mean((plain.high < 0).any(axis=-1)) > 0.2
    assert np.mean((floored.high < 0).any(axis=-1)) <= 0.05
    assert np.mean((floored.low > 0).any(axis=-1)) <= 0.05


def test_the_number_needed_is_the_first_that_is_enough() -> None:
    rho = find_rho(0.1, 100)
    n = count_needed(0.3, 1.0, 0.05, 100)
    assert n is not None
    assert one_sided_width(1.0, n, 0.05, rho) <= 0.3 < one_sided_width(1.0, n - 1, 0.05, rho)
    assert count_needed(10.0, 1.0, 0.05, 100) == LEAST_SCORES
    assert count_needed(0.0, 1.0, 0.05, 100) is None
    assert count_needed(1e-9, 1.0, 0.05, 100) is None


def test_neighbours_that_depend_on_each_other_make_a_mean_less_certain() -> None:
    rng = np.random.default_rng(103)
    alone = rng.normal(size=20_000)
    walk = np.empty_like(alone)
    walk[0] = alone[0]
    for i in range(1, len(walk)):
        walk[i] = 0.8 * walk[i - 1] + alone[i]
    assert long_run_variance(alone) == pytest.approx(1.0, abs=0.25)
    # (1 / (1 - 0.8))² = 25, of which batches of √n see nearly all.
    assert 15 < long_run_variance(walk) < 30
    assert long_run_variance(alone[:3]) == np.inf
