"""Gain against cost: the frontier, and words that do not lie on one another."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.frontier import draw_frontier, find_frontier, spread_out
from nacre.report.prices import Line
from nacre.report.sections.base import Context, build_context


def _line(gain: float) -> Line:
    return Line(gain, gain - 1, gain + 1, 0.0, 0.0, "one", 1.0, 0.0, 0.0)


def test_only_what_gains_more_than_everything_cheaper_is_on_it() -> None:
    lines = [_line(1.0), _line(3.0), _line(2.0), _line(4.0)]
    drawn = list(zip(lines, (1.0, 2.0, 3.0, 4.0), strict=True))
    assert [one.gain for one, _ in find_frontier(drawn)] == [1.0, 3.0, 4.0]


def test_words_are_moved_apart() -> None:
    moved = sorted(spread_out([50.0, 51.0, 52.0, 90.0]))
    assert all(b - a >= 15.0 - 1e-9 for a, b in itertools.pairwise(moved))
    assert sum(moved) == pytest.approx(50.0 + 51.0 + 52.0 + 90.0)


def test_every_candidate_with_bounds_is_drawn(context: Context, document: dict[str, Any]) -> None:
    assert str(draw_frontier(context)).count("<circle") == 3
    for entry in document["candidates"]:
        entry["estimates"] = []
    assert draw_frontier(build_context(check_decision(document))) is None
