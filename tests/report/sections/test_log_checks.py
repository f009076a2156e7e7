"""What the checks found is said once; the numbers follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.evidence import Evidence
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.log_checks import LogChecks, draw_returns, list_notes


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


def test_returns_are_drawn_as_bars(record: DecisionRecord) -> None:
    drawn = draw_returns(Evidence(returns=np.asarray([1.0, 2.0, 4.0, np.nan])), record)
    assert str(drawn).count("<rect") == 24
    assert draw_returns(Evidence(returns=np.ones(5)), record) is not None
    assert draw_returns(Evidence(), record) is None
