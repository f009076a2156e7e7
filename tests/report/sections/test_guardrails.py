"""Guardrails on the page and in sentences: a row each, and nothing that contradicts them."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.guardrails import state_allowed, state_guardrails
from nacre.report.sections.base import build_context
from nacre.report.sections.candidates import Candidates
from nacre.report.sections.guardrails import Guardrails
from nacre.report.sections.next_steps import list_steps
from nacre.report.sections.prices import agrees, state_break_even
from nacre.report.sections.verdict import state_confidence, state_verdict
from tests.support.estimates import add_guardrails


def build(document: dict[str, Any], verdict: str, *gains: float) -> DecisionRecord:
    add_guardrails(document, *gains)
    document["verdict"] = verdict
    return check_decision(document)


def test_a_row_says_what_changes_and_what_is_allowed(document: dict[str, Any]) -> None:
    record = build(document, "switch", 9.0)
    page = str(Guardrails().render(build_context(record))).replace("\u00a0", " ")
    assert (
        "<bdi>complaints (lower is better)</bdi></th>"
        '<td data-label="old policy">4.00 calls</td>'
        '<td data-label="change">\u22129.0 calls (\u221211.0 to \u22127.0)</td>'
        '<td data-label="allowed">1 calls more</td><td data-label="answer">holds</td>'
    ) in page
    (line,) = state_guardrails(record.chosen_entry)
    assert line.startswith("guardrail   holds: complaints changes by")
    assert any("guardrails are about, too: complaints" in one for one in list_steps(record))


def test_nothing_without_guardrails(record: DecisionRecord) -> None:
    assert Guardrails().render(build_context(record)) is None
    assert state_guardrails(record.chosen_entry) == []


def test_a_name_from_outside_is_escaped(document: dict[str, Any]) -> None:
    add_guardrails(document, 9.0)
    for entry in document["candidates"]:
        entry["guardrails"][0] |= {"column": "<b>\u202e", "unit": "<i>"}
    context = build_context(check_decision(document))
    for page in (Guardrails().render(context), Candidates().render(context)):
        assert "<b>" not in str(page)
        assert "<i>" not in str(page)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "1 calls more"),
        ({"better": "higher"}, "1 calls less"),
        ({"worst": 0.0}, "not more"),
        ({"allowed": None}, "not known, more"),
        ({"relative": True, "worst": 0.25}, "1 calls more (25 %)"),
    ],
)
def test_what_is_allowed_in_words(
    document: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    add_guardrails(document, 9.0)
    entry = check_decision(document).chosen_entry.guardrails[0].model_copy(update=change)
    assert state_allowed(entry).replace("\u00a0", " ") == words


def test_an_open_guardrail_is_the_reason_in_every_sentence(document: dict[str, Any]) -> None:
    record = build(document, "undecided", 0.0)
    assert record.net_gain.low is not None
    assert record.net_gain.low > 0
    assert "is proven to gain, but not to keep to all guardrails" in state_verdict(record)
    assert state_confidence(record) is None
    context = build_context(record)
    assert "a guardrail is not proven: complaints" in str(Candidates().render(context)).lower()
    assert not any("switch" in one for one in state_break_even(context.prices))
    tried = context.prices.decide_at(*context.prices.weights)
    assert (tried.verdict, tried.why) == ("undecided", "guardrail")


def test_broken_ones_rule_every_candidate_out(document: dict[str, Any]) -> None:
    record = build(document, "keep", -9.0)
    assert "every tested candidate breaks a guardrail" in state_verdict(record)
    assert list_steps(record)[-1] == (
        "Ask again with a candidate that does not make this worse: complaints."
    )
    context = build_context(record)
    assert all("keep at any weight" in one for one in state_break_even(context.prices))
    assert context.prices.decide_at(0.0, 0.0).why == "ruled_out"
    some = build(document, "keep", -9.0, 9.0)
    assert "no tested candidate that keeps to the guardrails gains" in state_verdict(some)
    assert agrees(build_context(some)) == (
        build_context(some).prices.decide_at(*context.prices.weights).verdict == "keep"
    )
