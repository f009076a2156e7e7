"""Evidence: bounds of the net gain by hand, and what circumstances make of a confidence."""

from __future__ import annotations

import math

import pytest

from nacre.estimators.base import Estimate, abstain
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.price import Price

NORMAL_95 = 1.6448536269514722
FREE = Price(0.0, 0.0, 0.0, 0.0)


def test_bounds_are_those_of_the_gain_less_the_cost_and_its_error() -> None:
    """Gain 10 ± 1, penalty 0.5, cost 2 + 2·1 = 4 ± 0.25."""
    price = Price(2.0, 1.0, 1.0, 2.0, error=0.25)
    evidence = Evidence((Estimate("a", 10.0, 1.0, "data", overlap_penalty=0.5),), price)
    low, high = evidence.bounds(0.95)
    assert low == pytest.approx(10.0 - 0.5 - 4.0 - 1.25 * NORMAL_95)
    assert high == pytest.approx(10.0 + 0.5 - 4.0 + 1.25 * NORMAL_95)
    assert evidence.net_gain == pytest.approx(6.0)


def test_all_informative_estimates_have_to_prove_it() -> None:
    sure, vague = Estimate("a", 3.0, 0.1, "data"), Estimate("b", 1.0, 1.0, "model")
    silent = abstain("c", "data", "too little")
    both = Evidence((sure, vague, silent), FREE)
    assert both.bounds(0.95)[0] == Evidence((vague,), FREE).bounds(0.95)[0]
    assert both.bounds(0.95)[1] == Evidence((sure,), FREE).bounds(0.95)[1]
    assert both.basis == ("a (data)", "b (model)")
    assert 1.0 < both.net_gain < 3.0


def test_bounds_widen_with_the_level() -> None:
    evidence = Evidence((Estimate("a", 1.0, 0.5, "data", degrees=5.0),), FREE)
    bounds = [evidence.bounds(level) for level in (0.5, 0.8, 0.95, 0.99)]
    assert bounds[0] == pytest.approx((1.0, 1.0))
    lows, highs = ([bound[side] for bound in bounds] for side in (0, 1))
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)


def test_without_an_informative_estimate_nothing_is_known() -> None:
    evidence = Evidence((abstain("a", "data", "too little"),), FREE)
    assert evidence.bounds(0.95) == (-math.inf, math.inf)
    assert math.isnan(evidence.net_gain)
    assert evidence.basis == ()


def test_more_finalists_and_later_looks_have_to_prove_more() -> None:
    plain = Circumstances(confidence=0.9)
    assert plain.find_level(1) == pytest.approx(0.9)
    assert plain.find_level(4) == pytest.approx(0.975)
    looks = [Circumstances(0.9, look=look, looks=3).find_level(1) for look in (1, 2, 3)]
    assert all(0.9 < level < 1.0 for level in looks)
