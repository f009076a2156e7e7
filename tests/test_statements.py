"""The page of the paper's statements points to what exists, and leaves no numbered one out."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
CODE = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", PAGE, flags=re.M | re.S))))
NAMES = [code for code in CODE if code.startswith("nacre.")]
TESTS = [code for code in CODE if code.startswith("tests/")]

NUMBERED = (
    *(f"Definition {number}" for number in ("3.1", "3.2", "3.5", "A.1", "A.2")),
    "Assumption 3.3",
    *(f"Proposition {number}" for number in ("3.6", "3.7", "A.3", "A.4", "A.5")),
    *(f"Proposition 3.4 ({part})" for part in "abcd"),
    "Theorem D.1",
    "Lemma D.2",
    *(f"Algorithm {number}" for number in (1, 2, 3)),
    *(f"({number})" for number in (1, 2, 4, 5, 6, 7, 8, "A1", "A2", "A3", "A4", "A5")),
    "Table 1",
    "Tables 2, 3 and 9",
    "Tables 4 to 8",
)


def test_the_page_names_code_and_tests() -> None:
    assert len(NAMES) > 30
    assert len(TESTS) > 35
    assert sorted({*NAMES, *TESTS}) == CODE


@pytest.mark.parametrize("name", NAMES)
def test_what_a_statement_points_to_exists(name: str) -> None:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return
    raise AssertionError(f"{name} is no module")


@pytest.mark.parametrize("test", TESTS)
def test_the_test_that_shows_a_statement_exists(test: str) -> None:
    file, _, name = test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {re.escape(name)}\(", text, flags=re.M), test


@pytest.mark.parametrize("statement", NUMBERED)
def test_every_numbered_statement_has_a_line(statement: str) -> None:
    firsts = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    assert any(re.search(rf"{re.escape(statement)}(?!\d)", first) for first in firsts), statement


def test_every_line_says_where_it_is_shown() -> None:
    for line in PAGE.splitlines():
        if line.startswith("| ") and not line.startswith(("| statement", "| ---")):
            _, _, where, shown, _, _ = line.split("|")
            assert where.strip(), line
            assert "`tests/" in shown or "](#" in shown, line
