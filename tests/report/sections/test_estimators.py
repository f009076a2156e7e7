"""Every estimator has its row, those that do not count are grey and say why."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.sections.base import Context, Drawing, build_context
from nacre.report.sections.estimators import Estimators, list_rows
from tests.support.estimates import add_guardrails


def test_there_is_a_row_for_each_estimator_and_finalist(context: Context) -> None:
    page = str(Estimators().render(context))
    assert page.count("<tr") == 1 + 9
    assert page.count('<tr class="unused">') == 3
    assert page.count("no: <bdi>its error on the old policy is 12 %") == 3
    assert page.count('class="whisker unused"') == 3 * 3
    assert page.count('class="mean unused"') == 3
    assert page.count('class="mark"') == 9


def test_bounds_are_the_recorded_ones(record: DecisionRecord) -> None:
    for entry in record.candidates:
        for row in list_rows(entry, record.interval_level):
            assert row.counts == row.estimate.informative
            if row.counts:
                assert row.interval.low == pytest.approx(row.estimate.low)
                assert row.interval.high == pytest.approx(row.estimate.high)


def test_with_guardrails_the_bounds_are_those_that_decide(document: dict[str, Any]) -> None:
    """Of all estimators that count, the lowest and the highest, as the rule takes them."""
    add_guardrails(document, 9.0)
    context = build_context(check_decision(document))
    rows = [one for one in list_rows(context.chosen, context.record.interval_level) if one.counts]
    lows, highs = ([getattr(row.interval, end) for row in rows] for end in ("low", "high"))
    assert min(lows) == pytest.approx(context.line.gain_low)
    assert max(highs) == pytest.approx(context.line.gain_high)


def test_a_number_that_is_missing_does_not_count(document: dict[str, Any]) -> None:
    document["candidates"][0]["estimates"][0] |= {"gain": None, "reason": ""}
    record = check_decision(document)
    row = list_rows(record.candidates[0], record.interval_level)[0]
    assert not row.counts
    assert row.remark == "no usable number"


def test_who_abstains_has_no_gain(document: dict[str, Any]) -> None:
    abstained = {"gain": 0.0, "standard_error": None, "informative": False, "reason": "too few"}
    document["candidates"][0]["estimates"][0] |= abstained
    record = check_decision(document)
    row = list_rows(record.candidates[0], record.interval_level)[0]
    assert row.interval.mean is None
    assert row.remark == "too few"


def test_only_so_many_are_drawn_and_listed(context: Context) -> None:
    few = Context(context.record, context.evidence, context.prices, Drawing(2, 5))
    page = str(Estimators().render(few))
    assert "(7 more in the table)" in page
    assert "4 more rows stand in decision.json" in page


def test_nothing_is_shown_of_nothing(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["estimates"] = []
    assert Estimators().render(build_context(check_decision(document))) is None
