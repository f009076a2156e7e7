"""The finalists side by side."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.candidates import Candidates, state_outside


def test_the_chosen_one_is_marked(context: Context, document: dict[str, Any]) -> None:
    page = str(Candidates().render(context))
    assert page.count("<tr") == 1 + 3
    assert page.count(">chosen</span>") == 1
    document["verdict"] = "undecided"
    assert ">best</span>" in str(Candidates().render(build_context(check_decision(document))))


@pytest.mark.parametrize(
    ("overlap", "shown"),
    [
        ({"outside": 0.02}, "2\u00a0%"),
        ({"excess": 0.5, "limit": 0.02}, "50\u00a0%"),
        ({"outside": "<b>"}, "unknown"),
        ({"outside": True}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_share_outside_of_the_log(overlap: dict[str, Any], shown: str) -> None:
    assert state_outside(overlap) == shown


def test_a_candidate_without_an_estimate_is_told(document: dict[str, Any]) -> None:
    document["candidates"][0]["estimates"] = []
    document["candidates"][0]["overlap"]["note"] = "its states are unseen"
    page = str(Candidates().render(build_context(check_decision(document))))
    assert page.count("No estimator counts; cannot be chosen for a switch.") == 1
    assert "Its states are unseen." in page
