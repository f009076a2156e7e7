"""What the switch costs."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.cost import Cost


def test_parts_flows_and_error_are_shown(context: Context) -> None:
    page = str(Cost().render(context))
    assert "(standard error 0.15)" in page
    assert page.count("<svg") == 2


def test_flows_and_errors_may_be_missing(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["cost"]["flows"] = None
        entry["price"]["error"] = None
    page = str(Cost().render(build_context(check_decision(document))))
    assert "how exact this is, is not known" in page
    assert page.count("<svg") == 1


def test_the_cost_has_its_unit(document: dict[str, Any]) -> None:
    document["value"] = {"unit": "€"}
    page = str(Cost().render(build_context(check_decision(document))))
    assert "\u00a0€</strong>, once" in page
