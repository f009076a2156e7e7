"""What the answer assumes, in words, whatever the record holds."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.sections import assumptions
from nacre.report.sections.base import Context, build_context


def _change(document: dict[str, Any], **changed: Any) -> Context:
    return build_context(check_decision(document | changed))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"own_share": 1.0, "on_policy": True}, "no episode contradicts it"),
        ({"own_share": 0.9, "on_policy": True}, "90\u00a0% of the episodes agree"),
        ({"own_share": "<b>"}, ""),
    ],
)
def test_whose_log_it_is(document: dict[str, Any], facts: dict[str, Any], words: str) -> None:
    found = assumptions.state_origin(_change(document, log_checks={"on_policy": facts}))
    assert words in found
    assert bool(found) == bool(words)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"tested": False}, "Not checked"),
        ({"tested": True, "found": []}, "do not differ"),
        ({"tested": True, "found": ["rewards"]}, "differ (rewards)"),
        ({}, ""),
    ],
)
def test_whether_it_changes(document: dict[str, Any], facts: dict[str, Any], words: str) -> None:
    assert words in assumptions.state_drift(_change(document, log_checks={"drift": facts}))


def test_hidden_causes_are_said_even_where_nothing_was_computed(document: dict[str, Any]) -> None:
    assert assumptions.state_hidden(_change(document, confounding={})) == "No log can show this."
    said = assumptions.state_hidden(_change(document, confounding={"text": "a factor of 2"}))
    assert said == "No log can show this. A factor of 2."


def test_agreement_counts_only_those_that_count(document: dict[str, Any]) -> None:
    context = build_context(check_decision(document))
    usable = [one for one in context.chosen.estimates if one.informative]
    assert f"{len(usable)} count" in assumptions.state_agreement(context)
    for entry in document["candidates"]:
        entry["estimates"] = entry["estimates"][:1]
    assert "Only one counts" in assumptions.state_agreement(_change(document))
    for entry in document["candidates"]:
        entry["estimates"] = []
    assert "None counts" in assumptions.state_agreement(_change(document))


def test_how_far_the_cost_may_be_wrong(document: dict[str, Any]) -> None:
    context = build_context(check_decision(document))
    end = context.prices.find_ends(0, context.prices.weights[1]).proven
    times = end / context.prices.weights[0]
    assert f"the learning weight {times:.3g}"[:22] in assumptions.state_cost(context)
    assert assumptions.state_cost(_change(document, verdict="keep")) == ""


def test_the_section_says_it_all(context: Context) -> None:
    page = str(assumptions.Assumptions().render(context))
    assert "What if we are wrong?" in page
    assert "No log can show this." in page
