"""Risk is shown where the record holds it."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.sections.base import build_context
from nacre.report.sections.risk import Risk, read_figure

FIGURE = {"mean": 1.0, "low": 0.5, "high": 1.5}
PART = dict.fromkeys(("median", "quantile", "tail_mean"), FIGURE)


def test_old_and_new_stand_side_by_side(document: dict[str, Any]) -> None:
    document["risk"] = {"share": 0.1, "old": PART, "reason": "too <few> episodes"}
    page = str(Risk().render(build_context(check_decision(document)))).replace("\u00a0", " ")
    assert "mean of the worst 10 % (CVaR)</th><td>1.00 (0.50 to 1.50)</td><td>unknown</td>" in page
    assert "Too &lt;few&gt; episodes." in page
    document["risk"]["new"] = PART
    assert "unknown" not in str(Risk().render(build_context(check_decision(document))))


@pytest.mark.parametrize("risk", [{}, {"old": 3, "share": 0.1}, {"old": PART, "share": "<b>"}])
def test_other_things_are_passed_over(document: dict[str, Any], risk: dict[str, Any]) -> None:
    document["risk"] = risk
    assert Risk().render(build_context(check_decision(document))) is None


@pytest.mark.parametrize("part", [None, 3, {"median": 3}, {"median": {"mean": "<b>"}}])
def test_figures_that_are_none_are_unknown(part: Any) -> None:
    assert read_figure({"old": part}, "old", "median") == "unknown"
