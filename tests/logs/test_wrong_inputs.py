"""Every wrong input gets a line that says where, what and what to do; doing it works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.wrong_inputs import CASES, Case, find_lines, format_page

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
LONGEST = 420
"""Characters of one line."""


def name(case: Case) -> str:
    return case.title.replace(" ", "-")


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_line_says_where_what_and_what_to_do(case: Case, tmp_path: Path) -> None:
    lines = find_lines(case, tmp_path)
    assert lines
    for line in lines:
        place, _, rest = line.partition(": ")
        assert place, line
        message, _, remedy = rest.partition("; ")
        assert message, line
        assert remedy, line
        assert "\n" not in line
        assert len(line) <= LONGEST, line
        assert re.search(r"Traceback|Error\b|<class", line) is None


@pytest.mark.parametrize("case", CASES, ids=name)
def test_doing_what_the_line_says_works(case: Case, tmp_path: Path) -> None:
    case.followed.use(tmp_path)


def test_sixty_of_them_are_on_the_page() -> None:
    assert len({case.title for case in CASES}) == len(CASES) >= 60
    assert PAGE.read_text() == format_page(), "run: python -m tests.support.wrong_inputs"
