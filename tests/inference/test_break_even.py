"""The weights at which the answer changes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.inference.break_even import NetGainLine, draw_line, find_break_even, find_end
from nacre.inference.evidence import Evidence
from nacre.inference.price import LEAST_MASS, Price
from tests.support.estimates import make_estimate, make_evidence


def test_limits_by_hand() -> None:
    evidence = make_evidence(make_estimate(10.0, 1.0, penalty=2.0), cost=4.0)
    limits = draw_line(evidence, 0.95).limits
    assert (limits.proven, limits.expected, limits.possible) == pytest.approx(
        (8 - 1.64485, 10, 12 + 1.64485), abs=1e-4
    )
    found = find_break_even(evidence, 0.95)
    assert found.learning_weight == pytest.approx(limits.proven)
    assert found.expected_learning_weight == pytest.approx(10.0)
    # Half a unit of mass is rearranged, and learning has cost 4 already.
    assert found.expected_transaction_weight == pytest.approx(12.0)


@given(
    st.floats(-5, 20),
    st.floats(0.1, 3),
    st.floats(0, 2),
    st.floats(0.1, 5),
    st.floats(0, 0.2),
)
def test_at_the_break_even_weight_the_lower_bound_is_zero(
    gain: float, error: float, penalty: float, weight: float, cost_error: float
) -> None:
    price = Price(weight, 0.5, 1.5, 0.3, error=cost_error * (weight * 1.5 + 0.15))
    evidence = Evidence((make_estimate(gain, error, penalty),), price)
    found = find_break_even(evidence, 0.95).learning_weight
    assert found is not None
    moved = Price(found, 0.5, 1.5, 0.3, error=price.relative_error * price.at(found, 0.5))
    low, _ = Evidence(evidence.estimates, moved).bounds(0.95)
    if found > 0:
        assert low == pytest.approx(0.0, abs=1e-6)
    else:
        assert low <= 1e-6


@given(
    st.floats(-5, 20),
    st.floats(0.1, 3),
    st.sampled_from([0.0, 1e-12, 1e-10, 1e-3, 2.0]),
    st.floats(0, 2),
)
def test_the_line_is_the_rule_s_at_today_s_cost(
    gain: float, error: float, weight: float, cost_error: float
) -> None:
    """Also where the cost is next to nothing and has an error all the same."""
    price = Price(weight, 0.0, 1.5, 0.3, error=cost_error)
    evidence = Evidence((make_estimate(gain, error),), price)
    line = draw_line(evidence, 0.95)
    expected = (evidence.net_gain, *evidence.bounds(0.95))
    assert line.bounds_at(price.total) == pytest.approx(expected, abs=1e-9)
    # Today's answer and the weight at which it changes cannot contradict each other.
    found = find_break_even(evidence, 0.95).learning_weight
    assert found is not None
    proven = evidence.bounds(0.95)[0]
    if abs(proven) > 1e-6:
        assert (found > weight) == (proven > 0)


def test_the_error_of_a_cost_of_nothing_counts_in_the_break_even_weight() -> None:
    estimate = make_estimate(10.0, 1.0)
    free = Evidence((estimate,), Price(0.0, 0.0, 2.0, 0.0, error=3.0))
    # (10 - 1.64485 - 1.64485 · 3) / 2
    found = find_break_even(free, 0.95)
    assert found.learning_weight == pytest.approx(1.7103, abs=1e-4)
    assert found.expected_learning_weight == pytest.approx(5.0)
    unsure = Evidence((estimate,), Price(0.0, 0.0, 2.0, 0.0, error=6.0))
    assert unsure.bounds(0.95)[0] < 0
    assert find_break_even(unsure, 0.95).learning_weight == 0.0


def test_the_error_of_the_cost_moves_both_limits_outwards() -> None:
    limits = NetGainLine(2.0, 1.0, 3.0, 0.5, 0.25).limits
    assert (limits.proven, limits.expected, limits.possible) == (0.5, 2.0, 6.5)


def test_an_error_as_large_as_the_cost_rules_no_gain_out() -> None:
    assert NetGainLine(2.0, 1.0, 3.0, 1.0, 0.0).limits.possible == math.inf


def test_an_unknown_error_of_the_cost_leaves_no_weight() -> None:
    for weight in (0.0, 1.0):
        price = Price(weight, 0.0, 1.0, 0.0, error=math.inf)
        found = find_break_even(Evidence((make_estimate(10.0),), price), 0.95)
        assert found.learning_weight is None
        assert found.expected_learning_weight == pytest.approx(10.0)


def test_a_weight_that_moves_nothing_changes_nothing() -> None:
    assert find_end(3.0, 0.0) is None
    assert find_end(3.0, LEAST_MASS) == 3.0 / LEAST_MASS
    assert find_end(3.0, 2.0) == 1.5
    assert find_end(-3.0, 2.0) == 0.0
    unknown = find_break_even(make_evidence(cost=1.0), 0.95)
    assert unknown.learning_weight is None
