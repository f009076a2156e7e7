"""Segments on the page and in terminals: a row each, with both bounds or no gain at all."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.display import format_decision
from nacre.report.sections.base import build_context
from nacre.report.sections.segments import Segments
from nacre.report.segments import state_segments


def add_segments(document: dict[str, Any], label: str = "north") -> DecisionRecord:
    rows = [
        (label, 0.5, {"mean": 2.0, "low": 1.0, "high": 3.0}, ""),
        ("south", 0.3, {"mean": -2.0, "low": -3.0, "high": -1.0}, ""),
        ("east", 0.2, {"mean": 1.0, "low": None, "high": None}, "too <few>"),
    ]
    for entry in document["candidates"]:
        entry["segments"] = [
            {"column": "region", "label": name, "episodes": 9, "share": share, "gain": gain}
            | {"reason": reason}
            for name, share, gain, reason in rows
        ]
    return check_decision(document)


def show(record: DecisionRecord) -> str:
    return str(Segments().render(build_context(record))).replace("\u00a0", " ")


def test_a_row_each(document: dict[str, Any]) -> None:
    record = add_segments(document)
    page = show(record)
    assert "region: north</bdi></th><td>50 %</td><td><bdi>2.0 (1.0 to 3.0)</bdi></td>" in page
    assert "<td>better</td>" in page
    assert "not known: too &lt;few&gt;" in page
    said = "1 of 3 segments proven better, 1 proven worse; between 30 % and 50 % of the"
    assert said in page
    assert said in format_decision(record).replace("\u00a0", " ")
    (line,) = state_segments(record.chosen_entry)
    assert line.startswith("segments    region: 1 of 3 segments")


def test_names_from_outside_are_escaped(document: dict[str, Any]) -> None:
    page = show(add_segments(document, "<b>\u202e"))
    assert "<b>" not in page
    assert "\u202e" not in page


def test_start_states_are_called_so(document: dict[str, Any]) -> None:
    add_segments(document)
    for entry in document["candidates"]:
        for one in entry["segments"]:
            one["column"] = ""
    assert "start states: north" in show(check_decision(document))


def test_nothing_without_segments(record: DecisionRecord) -> None:
    assert Segments().render(build_context(record)) is None
    assert state_segments(record.chosen_entry) == []
