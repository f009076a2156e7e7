"""What the log lacks is shown, whatever the record holds there."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.overlap import Overlap, list_missing
from tests.report.conftest import FIRST_DOCUMENT

CASE = {"state": [0.5, 1.25, 2.0, 3.0, 4.0, 5.0, 6.0], "action": 2, "share": 0.25}


def _render(document: dict[str, Any], **overlap: Any) -> str:
    for entry in document["candidates"]:
        entry["overlap"] |= overlap
    return str(Overlap().render(build_context(check_decision(document))))


def test_shares_and_penalty_are_said(context: Context) -> None:
    page = str(Overlap().render(context)).replace("\u00a0", " ")
    assert "<strong>1.3 %</strong>" in page
    assert "of what the old policy does, 1 %" in page
    penalties = [one.overlap_penalty or 0.0 for one in context.chosen.estimates if one.informative]
    assert f"lowers the lower bound by {max(penalties):g}." in page
    assert "<table" not in page


def test_an_unknown_penalty_has_no_limit(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["estimates"][0] |= {"overlap_penalty": None, "informative": True}
    assert "lowers the lower bound without a limit." in _render(document)


def test_states_and_actions_have_the_names_of_the_log(document: dict[str, Any]) -> None:
    columns = ["pressure", "age", "<b>", "d", "e", "f", "g"]
    document["names"] = {"actions": ["none", "low", "high"], "state_columns": columns}
    page = _render(document, missing=[CASE])
    assert "<bdi>pressure 0.5, age 1.25, &lt;b&gt; 2, d 3, e 4, f 5, …</bdi>" in page
    assert "<bdi>high</bdi>" in page


def test_missing_states_and_actions_are_listed(document: dict[str, Any]) -> None:
    page = _render(document, missing=[CASE, {"state": "<b>"}], note="no failures")
    assert "<bdi>(0.5, 1.25, 2, 3, 4, 5, …)</bdi>" in page
    assert "<td>25\u00a0%</td>" in page
    assert "&lt;b&gt;" in page
    assert "No failures." in page


@pytest.mark.parametrize("missing", [None, 3, "text", [1, "two"], {"state": 1}])
def test_other_things_are_passed_over(missing: Any) -> None:
    assert list_missing({"missing": missing}) == []


@pytest.mark.parametrize("share", ["<b>", True, -1.0, None])
def test_without_shares_there_is_no_section(document: dict[str, Any], share: Any) -> None:
    assert _render(document, outside=share) == "None"
    assert Overlap().render(build_context(check_decision(FIRST_DOCUMENT))) is None
