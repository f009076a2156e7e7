"""The words fit the rule."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.words import Words


def test_the_words_fit_the_rule(context: Context, document: dict[str, Any]) -> None:
    assert "lower bound of the net gain is above zero" in str(Words().render(context))
    document["rule"] = "paper"
    page = str(Words().render(build_context(check_decision(document))))
    assert "the rule of the paper" in page
    assert "Undecided" not in page
