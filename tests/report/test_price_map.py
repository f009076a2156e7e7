"""The map shows the regions that the decisions have."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.price_map import BOTTOM, LEFT, RIGHT, TOP, draw_map, find_reach
from nacre.report.prices import build_prices


def _corners(root: ElementTree.Element, name: str) -> list[tuple[float, float]]:
    shape = next(e for e in root.iter("polygon") if e.get("class") == name)
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", str(shape.get("points")))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _is_inside(corners: list[tuple[float, float]], x: float, y: float) -> bool:
    inside = False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
            inside = not inside
    return inside


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, {"switch", "undecided", "keep"}),
        ({"rule": "paper"}, {"switch", "keep"}),
        ({"forbidden": "because"}, {"undecided", "keep"}),
        ({"forbidden": "because", "rule": "paper"}, {"undecided", "keep"}),
    ],
)
def test_the_map_agrees_with_the_verdicts(
    document: dict[str, Any], changed: dict[str, Any], verdicts: set[str]
) -> None:
    prices = build_prices(check_decision(document | changed))
    reach = find_reach(prices)
    root = ElementTree.fromstring(str(draw_map(prices, reach)))  # noqa: S314 - our own drawing
    areas = {name: _corners(root, name) for name in ("switch", "undecided")}

    def decide(across: float, up: float) -> str:
        return prices.decide_at(across * reach.learning, max(up, 0.0) * reach.transaction).verdict

    seen = set()
    for i in range(1, 24):
        for j in range(1, 24):
            across, up = i / 24, j / 24
            # Half a drawn point beside an edge nothing is asked.
            near = {decide(across + step, up + step) for step in (-0.005, 0.0, 0.005)}
            if len(near) > 1:
                continue
            x, y = LEFT + across * (RIGHT - LEFT), BOTTOM + up * (TOP - BOTTOM)
            drawn = next(
                (name for name in ("switch", "undecided") if _is_inside(areas[name], x, y)), "keep"
            )
            assert drawn == decide(across, up)
            seen.add(drawn)
    assert seen == verdicts


def test_sliders_reach_beyond_today_and_beyond_break_even(record: DecisionRecord) -> None:
    prices = build_prices(record)
    reach = find_reach(prices)
    assert reach.learning >= 2 * prices.weights[0]
    assert prices.decide_at(reach.learning, prices.weights[1]).verdict == "keep"


def test_sliders_have_a_length_where_nothing_is_paid_and_nothing_gained(
    document: dict[str, Any],
) -> None:
    for entry in document["candidates"]:
        entry["price"] |= {"learning_weight": 0.0, "transaction_weight": 0.0}
        entry["estimates"] = []
    reach = find_reach(build_prices(check_decision(document)))
    assert (reach.learning, reach.transaction) == (1.0, 1.0)
