"""A row for each start."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.starts import Starts


def test_each_start_has_a_row(document: dict[str, Any]) -> None:
    document["starts"] = [
        {
            "state": [0.0, "<b>"],
            "verdict": "undecided",
            "probability": 0.75,
            "net_gain": {"mean": 1.0, "low": -1.0, "high": 3.0},
        }
    ]
    page = str(Starts().render(build_context(check_decision(document))))
    assert "&lt;b&gt;" in page
    assert "1.0 (−1.0 to 3.0)" in page


def test_without_starts_there_is_no_section(context: Context) -> None:
    assert Starts().render(context) is None
