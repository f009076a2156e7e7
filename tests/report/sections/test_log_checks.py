"""What the checks found is said once; the numbers follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.charts import LEFT, RIGHT
from nacre.report.evidence import Evidence
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.log_checks import LogChecks, draw_returns, list_notes, state_returns


def test_notes_are_listed_once(document: dict[str, Any]) -> None:
    document["notes"] = ["repeated episodes.", "<b>"]
    document["log_checks"]["problems"] = ["Repeated episodes"]
    record = check_decision(document)
    assert list_notes(record) == ["Repeated episodes.", "<b>."]
    assert "&lt;b&gt;" in str(LogChecks().render(build_context(record)))


def test_a_log_that_allows_no_switch_is_a_warning(document: dict[str, Any]) -> None:
    document["forbidden"] = "the log drifts"
    page = str(LogChecks().render(build_context(check_decision(document))))
    assert "This log allows no switch: <bdi>The log drifts.</bdi>" in page


def test_a_sound_log_is_said_to_be(document: dict[str, Any]) -> None:
    document["notes"] = []
    page = str(LogChecks().render(build_context(check_decision(document))))
    assert "The checks found no problem." in page
    assert "No check can see what the log does not hold" in page


def test_every_check_shows_its_numbers(context: Context) -> None:
    page = str(LogChecks().render(context))
    assert "<bdi>On policy</bdi>" in page
    assert "<bdi>foreign_episodes</bdi>" in page


def test_problems_that_are_no_list_are_passed_over(document: dict[str, Any]) -> None:
    document["log_checks"] = {"problems": 3, "one": "two"}
    assert "<bdi>one</bdi>" in str(LogChecks().render(build_context(check_decision(document))))


def test_returns_are_drawn_as_bars() -> None:
    drawn = draw_returns(Evidence(returns=np.asarray([1.0, 2.0, 4.0, np.nan])))
    assert str(drawn).count("<rect") == 24
    assert "<polyline" not in str(drawn)
    assert draw_returns(Evidence(returns=np.ones(5))) is not None
    assert draw_returns(Evidence()) is None


def test_what_was_seen_and_what_was_predicted_are_drawn_apart(record: DecisionRecord) -> None:
    evidence = Evidence(returns=np.asarray([1.0, 2.0, 3.0]), tails=np.asarray([4.0, 4.0, 4.0]))
    drawn = str(draw_returns(evidence))
    assert drawn.count("<polyline") == 1
    # The axis reaches from 1 - 0.24 to 7 + 0.24, and the mean of all is 6.
    mean = LEFT + (6.0 - 0.76) / 6.48 * (RIGHT - LEFT)
    assert f'x1="{mean:.2f}"' in drawn
    said = state_returns(build_context(record, evidence))
    assert "6 = 2 seen + 4 predicted" in said
    assert "predict" not in state_returns(build_context(record, Evidence(returns=np.ones(3))))
