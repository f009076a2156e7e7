"""Changes of the code are drawn by what they are, so that records outlive moved lines."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

CAMPAIGNS = Path(__file__).resolve().parent.parent / "scripts" / "campaigns"
sys.path.insert(0, str(CAMPAIGNS))
from mutants import NAMES, count_records, list_changes, make_mutant  # noqa: E402

sys.path.remove(str(CAMPAIGNS))
CODE = """
LIMIT = 3

class Sum:
    def add(self, x: int, y: int = 2) -> int:
        if x < LIMIT and not y:
            return x + 1 + 1
        return [x * one for one in (1, 2)][0]
"""


def list_all(code: str) -> dict[tuple[str, str, str, str, int], str]:
    """What every change makes of the code."""
    tree = ast.parse(code)
    return {
        change.identity: ast.unparse(make_mutant(tree, change.number))
        for change in list_changes("a.b", tree)
    }


def test_every_change_is_told_apart_and_does_something() -> None:
    changes = list_all(CODE)
    assert (
        len(changes)
        == len(set(changes.values()))
        == len(list(list_changes("a.b", ast.parse(CODE))))
    )
    assert ast.unparse(ast.parse(CODE)) not in changes.values()
    assert ("a.b", "", "LIMIT = 3", "Constant 3 → 4", 0) in changes
    assert ("a.b", "Sum.add", "def add", "Constant 2 → 3", 0) in changes
    head = "x < LIMIT and (not y)"
    assert ("a.b", "Sum.add", head, "Compare Lt → LtE", 0) in changes
    for place in (0, 1):
        assert ("a.b", "Sum.add", "return x + 1 + 1", "BinOp Add → Sub", place) in changes


def test_other_lines_do_not_change_what_they_are() -> None:
    moved = "# A comment.\n\n\n" + CODE.replace(
        "class Sum", "def first():\n    return 0\n\nclass Sum"
    )
    assert list_all(CODE).keys() <= list_all(moved).keys()
    edited = list_all(CODE.replace("x + 1 + 1", "x + 1"))
    lost = {code for _, _, code, _, _ in list_all(CODE).keys() - edited.keys()}
    assert lost == {"return x + 1 + 1"}


def test_records_are_counted_by_their_last_try() -> None:
    sample = list(list_changes("a.b", ast.parse(CODE)))
    records = [
        {**{name: getattr(change, name) for name in NAMES}, "outcome": outcome}
        for change, outcome in zip(
            [sample[0], sample[0], sample[1], sample[2]],
            ["survived", "killed", "survived", "survived"],
            strict=True,
        )
    ]
    records[-1]["equivalent"] = "why"
    records.append({"module": "a.b", "change": "line 3: Lt → LtE", "outcome": "killed"})
    assert count_records(sample, records) == (
        f"{len(sample)} drawn, 3 with a record: 1 killed, 1 the same to rounding, 1 survived"
    )
