"""A row for each column of the table that a log was read from."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import check_decision
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.columns import Columns


def test_each_column_has_a_row(document: dict[str, Any]) -> None:
    row = {"column": "<b>", "meaning": "observation", "type": "category", "missing": 3}
    document["log"] = {**document["log"], "columns": [row]}
    page = str(Columns().render(build_context(check_decision(document))))
    assert "&lt;b&gt;" in page
    assert "observation" in page
    assert "<bdi>3</bdi>" in page


def test_logs_of_numbers_have_no_such_section(context: Context) -> None:
    assert Columns().render(context) is None
