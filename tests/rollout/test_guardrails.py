"""Guardrails: how they are written, and what they read of an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacre.advice.record import GuardrailEntry, Interval
from nacre.errors import InputError
from nacre.rollout.guardrails import parse_guardrail, read_outcomes, take_over
from tests.support.logs import make_log


def test_guardrails_are_read_as_people_write_them() -> None:
    rail = parse_guardrail(" queue:max - old <= 2.5 ")
    assert (rail.name, rail.reduction, rail.relative, rail.at_most) == ("queue", "max", True, True)
    assert rail.limit == 2.5
    plain = parse_guardrail("length>=1e2")
    assert (plain.name, plain.relative, plain.at_most, plain.limit) == ("length", False, False, 100)


@pytest.mark.parametrize("text", ["", "queue", "queue < 3", "queue <= high", "a:median <= 1"])
def test_what_is_no_guardrail_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected NAME"):
        parse_guardrail(text)


def test_an_episode_becomes_one_number() -> None:
    log = make_log((3, 1, 4), further=True)
    chance = log.columns["chance"]
    parts = np.split(chance, [3, 4])
    for reduction in ("mean", "sum", "max", "min"):
        rail = parse_guardrail(f"chance:{reduction} <= 1")
        expected = [getattr(np, reduction)(part) for part in parts]
        np.testing.assert_allclose(read_outcomes(log, rail, 0.9), expected)
    weighted = read_outcomes(log, parse_guardrail("chance:discounted <= 1"), 0.9)
    expected = [part @ 0.9 ** np.arange(len(part)) for part in parts]
    np.testing.assert_allclose(weighted, expected)
    last = read_outcomes(log, parse_guardrail("chance:last <= 1"), 0.9)
    np.testing.assert_array_equal(last, [part[-1] for part in parts])
    length = read_outcomes(log, parse_guardrail("length >= 1"), 0.9)
    np.testing.assert_array_equal(length, [3, 1, 4])
    ended = read_outcomes(log, parse_guardrail("terminated <= 1"), 0.9)
    np.testing.assert_array_equal(ended, [1, 0, 1])
    returns = read_outcomes(log, parse_guardrail("return >= 1"), 0.9)
    np.testing.assert_allclose(returns, log.returns(0.9))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no column 'queue' of single numbers; it has 'return'"):
        read_outcomes(make_log(further=True), parse_guardrail("queue <= 1"), 0.9)
    with pytest.raises(InputError, match="no column 'mean'"):
        read_outcomes(make_log(further=True), parse_guardrail("mean <= 1"), 0.9)


def enter(column: str, **facts: Any) -> GuardrailEntry:
    known: dict[str, Any] = {"allowed": 0.02, "held": True, "broken": False}
    return GuardrailEntry(column=column, change=Interval.of(), **(known | facts))


def test_guardrails_of_a_decision_are_taken_over() -> None:
    entries = [
        enter("reopened"),
        enter("calls answered", better="higher", allowed=1.5),
        enter("same", better="higher", allowed=0.0),
        enter("minutes"),
        enter("unknown", allowed=None),
        enter('"'),
    ]
    texts = take_over(entries, ["minutes:max <= 90"])
    assert texts == (
        "reopened:discounted - old <= 0.02",
        '"calls answered":discounted - old >= -1.5',
        "same:discounted - old >= 0",
    )
    rail = parse_guardrail(texts[1])
    assert (rail.name, rail.reduction) == ("calls answered", "discounted")
    assert (rail.relative, rail.at_most, rail.limit) == (True, False, -1.5)
    with pytest.raises(InputError, match="expected NAME"):
        take_over(entries, ["minutes < 90"])
