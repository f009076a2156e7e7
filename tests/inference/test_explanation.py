"""What a decision says in words: each kind of answer has its own reason and remedy."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacre.estimators.base import Estimate, abstain
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.explanation import count_more_episodes, explain
from nacre.inference.intervals import find_quantile
from nacre.inference.price import Price

PLAIN = Circumstances(confidence=0.95, n_episodes=100)


def make_evidence(gain: float, error: float, *, cost: float = 0.0, **changes: Any) -> Evidence:
    estimate = Estimate("a", gain, error, "data", **changes)
    return Evidence((estimate,), Price(0.0, 0.0, 0.0, 0.0, fixed=cost))


def test_a_switch_names_the_lower_bound_and_keep_the_upper_one() -> None:
    evidence = make_evidence(10.0, 1.0)
    low, high = evidence.bounds(0.95)
    reason, remedy, more = explain("switch", evidence, 0.95, PLAIN)
    assert f"at least {low:.4g} with 95 % confidence" in reason
    assert (remedy, more) == ("", None)
    assert f"at most {high:.4g} with" in explain("keep", evidence, 0.95, PLAIN)[0]


def test_nobody_informative_lists_every_reason() -> None:
    estimates = abstain("a", "data", "too few"), abstain("b", "model", "too wild")
    evidence = Evidence(estimates, Price(0.0, 0.0, 0.0, 0.0))
    reason, remedy, more = explain("undecided", evidence, 0.95, PLAIN)
    assert "cannot tell" in reason
    assert "a: too few; b: too wild" in reason
    assert "exploration" in remedy
    assert more is None


def test_the_penalty_alone_decides_only_between_gain_and_gain_less_penalty() -> None:
    """Gain 2, penalty 1.5: outside decides from a cost of 0.5 up to one of 2."""
    for cost, outside in ((0.4, False), (0.5, True), (1.9, True), (2.1, False)):
        evidence = make_evidence(2.0, 1.0, cost=cost, overlap_penalty=1.5)
        reason = explain("undecided", evidence, 0.95, PLAIN)[0]
        assert ("outside of the log" in reason) == outside, cost


def test_an_expected_loss_asks_for_nothing() -> None:
    reason, remedy, more = explain("undecided", make_evidence(1.0, 5.0, cost=3.0), 0.95, PLAIN)
    assert "-2 after the cost" in reason
    assert remedy == "keep the old policy for now"
    assert more is None


def test_further_episodes_are_those_that_the_bound_needs() -> None:
    """With n times the episodes the error is 1/√n of it; the bound then reaches zero."""
    evidence = make_evidence(1.0, 2.0)
    factor = (2.0 * find_quantile(0.95)) ** 2
    more = count_more_episodes(evidence, 0.95, 100)
    assert more == math.ceil(100 * (factor - 1.0))
    assert explain("undecided", evidence, 0.95, PLAIN)[2] == more
    for n, proven in ((100 + more, True), (100 + more - 2, False)):
        later = make_evidence(1.0, 2.0 / math.sqrt(n / 100))
        assert (later.bounds(0.95)[0] >= 0) == proven


@pytest.mark.parametrize(
    ("gain", "error", "changes"),
    [(1.0, 100.0, {}), (1.0, 0.5, {"cost": 1.5}), (1.0, 0.5, {"overlap_penalty": 1.0})],
    ids=["hundredfold", "below the cost", "within the penalty"],
)
def test_where_more_of_the_same_would_not_help_no_number_is_given(
    gain: float, error: float, changes: dict[str, float]
) -> None:
    assert count_more_episodes(make_evidence(gain, error, **changes), 0.95, 100) is None


def test_the_estimate_that_knows_least_sets_the_number() -> None:
    good, poor = Estimate("a", 1.0, 1.0, "data"), Estimate("b", 1.0, 3.0, "model")
    price = Price(0.0, 0.0, 0.0, 0.0)
    alone, together = (
        count_more_episodes(Evidence(estimates, price), 0.95, 100)
        for estimates in ((poor,), (good, poor))
    )
    assert alone == together
