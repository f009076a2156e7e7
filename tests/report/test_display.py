"""What a notebook shows of a decision: the answer in words, escaped."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.display import format_decision


def test_the_answer_comes_first(record: DecisionRecord) -> None:
    html = format_decision(record)
    assert html.count("<table>") == html.count("</table>") == 2
    assert html.startswith("<h3>Switch</h3>\n<p>Replace the old policy by “nac-0.3”.")
    for entry in record.candidates:
        assert entry.name in html


def test_texts_are_escaped(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["name"] = "<script>"
    document["chosen"] = "<script>"
    assert "<script>" not in format_decision(check_decision(document))
