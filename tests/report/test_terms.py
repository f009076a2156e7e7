"""The user's own terms in words."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.inference.break_even import NetGainLine
from nacre.report.sections.verdict import state_verdict
from nacre.report.terms import (
    add_unit,
    read_unit,
    state_gain_per_episode,
    state_highest_cost,
    state_payback,
    state_scope,
)

VALUE = {
    "unit": "€",
    "episodes_per_day": 40.0,
    "horizon_days": 365.0,
    "episodes": 14_600.0,
    "gain_per_episode": {"mean": 1.5, "low": 1.0, "high": 2.0},
    "payback_days": {"mean": 20.0, "low": 15.0, "high": 30.0},
}


def _with(document: dict[str, Any], **changed: Any) -> DecisionRecord:
    document["value"] = VALUE | changed
    return check_decision(document)


def _plain(text: str | None) -> str:
    return str(text).replace("\u00a0", " ")


def test_the_horizon_is_said(document: dict[str, Any]) -> None:
    record = _with(document)
    assert _plain(state_scope(record)) == (
        "All figures are for 365 days with 40 episodes a day: 14,600 episodes, in €. The cost is "
        "paid once."
    )
    assert "€ in 365 days" in _plain(state_verdict(record))
    assert "Before the cost, one episode gains 1.50 € (1.00 to 2.00)." in _plain(
        state_gain_per_episode(record)
    )


def test_without_terms_it_is_one_episode(record: DecisionRecord) -> None:
    assert state_scope(record).startswith("All figures are for one episode, in units of disc")
    assert read_unit(record) == ""
    assert state_payback(record) is None
    assert state_gain_per_episode(record) is None
    assert state_highest_cost(NetGainLine(3.0, 1.0, 5.0, 0.0, 0.0), record) is None
    assert add_unit("3", "") == "3"


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ({}, "after 20.0 days, between 15.0 days and 30.0 days."),
        ({"high": None}, "at best after 15 days; that it is ever paid back is not proven."),
        ({"mean": None, "high": None}, "not expected to be paid back at all"),
        ({"low": None, "high": None}, "paid back after 20 days."),
        ({"mean": "<b>"}, "not expected to be paid back at all"),
    ],
)
def test_payback_in_words(document: dict[str, Any], days: dict[str, Any], words: str) -> None:
    known = VALUE["payback_days"] | days  # type: ignore[operator]
    assert words in _plain(state_payback(_with(document, payback_days=known)))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ((3.0, 1.0, 5.0), "proven to pay up to a cost of 1 €, and expected to pay up to 3 €."),
        ((3.0, -1.0, 5.0), "expected to pay up to a cost of 3 €; not proven."),
        ((-3.0, -5.0, 1.0), "not even a free switch is expected to pay"),
        ((math.nan, -math.inf, math.inf), "not even a free switch is expected to pay"),
    ],
)
def test_break_even_in_words(
    document: dict[str, Any], line: tuple[float, float, float], words: str
) -> None:
    said = state_highest_cost(NetGainLine(*line, 0.0, 0.0), _with(document))
    assert words in _plain(said)


def test_terms_that_are_no_terms_are_passed_over(document: dict[str, Any]) -> None:
    document["value"] = {"unit": 3, "episodes": "many", "payback_days": 4}
    record = check_decision(document)
    assert state_scope(record).startswith("All figures are for one episode")
    assert state_payback(record) is None
