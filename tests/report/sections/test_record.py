"""The record on the page is whole, and folded away."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context
from nacre.report.sections.record import Record, list_facts, write_command
from tests.report.conftest import FIRST_DOCUMENT


def test_nothing_is_unfolded(context: Context) -> None:
    page = str(Record().render(context))
    assert page.startswith('<section class="record"')
    assert "<details open" not in page
    assert page.count("<details>") == 1 + 6 + 1


def test_what_a_later_version_adds_comes_last(document: dict[str, Any]) -> None:
    document["weather"] = {"wind": 3.0}
    facts = list_facts(check_decision(document), 10)
    assert facts[-1] == ("Further", [("weather › wind", "3")])


def test_the_command_has_the_same_meaning(document: dict[str, Any]) -> None:
    expected = "nacre advise --log LOG --policy OLD --cost cost.toml --confidence 0.95"
    assert write_command(check_decision(document)) == f"{expected} --discount 0.95 --seed 2"
    assert write_command(check_decision(FIRST_DOCUMENT)).startswith(f"{expected} --discount 0.95")
    without = write_command(check_decision(document | {"undiscounted": True}))
    assert without == f"{expected} --discount 1 --seed 2"
    document["command"] = "nacre advise --log 'my log.csv'"
    assert write_command(check_decision(document)) == document["command"]
