"""Bounds of one estimate and of several."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from nacre.estimators.base import Estimate
from nacre.inference.intervals import (
    bound_above,
    bound_below,
    find_centre,
    find_error,
    find_hull,
    find_quantile,
    list_informative,
)
from tests.support.estimates import make_estimate


@pytest.mark.parametrize("degrees", [1.0, 3.5, 7.0, math.inf])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.975])
def test_quantiles_are_those_of_student(level: float, degrees: float) -> None:
    expected = stats.norm.ppf(level) if math.isinf(degrees) else stats.t.ppf(level, degrees)
    assert find_quantile(level, degrees) == pytest.approx(expected, abs=1e-9)


def test_bounds_by_hand() -> None:
    estimate = make_estimate(10.0, 2.0, penalty=1.0)
    z = 1.6448536269514722
    assert bound_below(estimate, 0.95) == pytest.approx(10 - 1 - 2 * z)
    assert bound_above(estimate, 0.95) == pytest.approx(10 + 1 + 2 * z)
    # At one half nothing but the penalty is left.
    assert (bound_below(estimate, 0.5), bound_above(estimate, 0.5)) == pytest.approx((9, 11))


def test_the_hull_holds_every_informative_interval_and_no_other() -> None:
    near, far = make_estimate(1.0), make_estimate(5.0, 0.5)
    silent = make_estimate(100.0, informative=False)
    low, high = find_hull([near, far, silent], 0.9)
    assert low == bound_below(near, 0.9)
    assert high == bound_above(far, 0.9)
    assert find_hull([silent], 0.9) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    "estimate",
    [
        make_estimate(math.nan),
        make_estimate(1.0, 0.0),
        make_estimate(1.0, math.inf),
        make_estimate(1.0, penalty=math.nan),
        make_estimate(1.0, informative=False),
    ],
)
def test_numbers_that_are_none_are_not_informative(estimate: object) -> None:
    assert list_informative([estimate]) == []  # type: ignore[list-item]


def test_the_centre_is_weighted_by_what_is_known_and_lies_in_the_hull() -> None:
    sure, unsure = make_estimate(1.0, 1.0), make_estimate(5.0, 1.0, penalty=math.sqrt(2.0))
    assert find_centre([sure, unsure]) == pytest.approx((1.0 + 5.0 / 3.0) / (1.0 + 1.0 / 3.0))
    low, high = find_hull([sure, unsure], 0.6)
    assert low < find_centre([sure, unsure]) < high
    assert math.isnan(find_centre([]))


@pytest.mark.parametrize("error", [0.5, 2.0, 3.0])
def test_a_known_gain_weighs_as_many_others_as_its_variance_says(error: float) -> None:
    """One over the variance: k² estimates of error k weigh as much as one of error 1."""
    one = make_estimate(1.0, 1.0)
    assert find_centre([one, make_estimate(4.0, error)]) == pytest.approx(
        (1.0 + 4.0 / error**2) / (1.0 + 1.0 / error**2)
    )


@pytest.mark.parametrize(
    "estimates", [[], [make_estimate(math.nan)], [make_estimate(0.1, 0.01, penalty=1.0)]]
)
def test_where_no_bound_reaches_zero_the_error_is_one_half(estimates: list[Estimate]) -> None:
    assert find_error(estimates, 0.0, 0.0) == 0.5


def test_at_the_error_that_is_found_the_lower_bound_is_the_cost_and_its_error() -> None:
    estimates, cost, cost_error = [make_estimate(3.0, 1.0)], 1.0, 0.5
    error = find_error(estimates, cost, cost_error)
    low, _ = find_hull(estimates, 1.0 - error)
    assert low == pytest.approx(cost + find_quantile(1.0 - error) * cost_error)
    assert error > find_error(estimates, cost, 0.0) > 0.0
