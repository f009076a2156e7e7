"""Drawings say what the numbers say."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from nacre.report.case import build_case
from nacre.report.charts import MOST_GROUPS, Row, draw_cost, draw_flows, draw_rows, merge_groups
from nacre.report.document import check_decision
from nacre.report.price_map import BOTTOM, LEFT, RIGHT, TOP, Reach, draw_map, find_reach
from nacre.report.svg import Axis, element, fit_axis, picture, round_up, text


def _parse(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))  # noqa: S314 - our own drawing


def test_everything_in_an_element_is_escaped() -> None:
    drawn = element("text", "<b>&", x=1.5, class_='a"b', data_name="<")
    assert drawn == '<text x="1.5" class="a&#34;b" data-name="&lt;">&lt;b&gt;&amp;</text>'
    assert element("g", element("rect", width=0.0), id=None) == '<g><rect width="0"></rect></g>'


def test_a_picture_has_a_name() -> None:
    root = _parse(picture('a "name"', 10, text(1, 2, "word")))
    assert root.get("aria-label") == 'a "name"'
    assert root.get("role") == "img"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (-3.0, 13.0, ["0", "5", "10"]),
        (-9.0, 3.0, ["−7.5", "−5.0", "−2.5", "0", "2.5"]),
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, 2e4, ["0", "5,000", "10,000", "15,000", "20,000"]),
        (0.0, 4e-5, ["0", "1e−05", "2e−05", "3e−05", "4e−05"]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, shown: list[str]) -> None:
    axis = Axis(low, high, 0.0, 100.0)
    assert [axis.label(tick) for tick in axis.ticks] == shown


def test_numbers_outside_are_drawn_at_the_edge() -> None:
    axis = Axis(0.0, 10.0, 100.0, 0.0)
    assert [axis.place(n) for n in (-5.0, 0.0, 2.5, 99.0)] == [100.0, 100.0, 75.0, 0.0]


@pytest.mark.parametrize("numbers", [[], [None, math.inf], [0.0], [5.0, 9.0], [-1e-12]])
def test_axes_hold_zero_and_have_a_length(numbers: list[float | None]) -> None:
    axis = fit_axis(numbers, 0.0, 1.0)
    assert axis.low < 0 < axis.high
    assert 1 <= len(axis.ticks) <= 8


@pytest.mark.parametrize(("number", "up"), [(1.0, 1.0), (1.01, 2.0), (0.021, 0.025), (700, 1000)])
def test_rounding_up(number: float, up: float) -> None:
    assert round_up(number) == pytest.approx(up)


def test_intervals_lie_where_their_numbers_are() -> None:
    rows = [Row("one", "new", 2.0, 1.0, 4.0, note="2"), Row("none", "old", None)]
    root = _parse(draw_rows("title", rows))
    bars = [e for e in root.iter("line") if "whisker" in str(e.get("class"))]
    ends = [float(str(bars[0].get(name))) for name in ("x1", "x2")]
    middle = next(float(str(e.get("cx"))) for e in root.iter("circle"))
    assert len(bars) == 3
    assert (middle - ends[0]) / (ends[1] - ends[0]) == pytest.approx(1 / 3, abs=1e-3)


def test_parts_of_the_cost_share_the_bar() -> None:
    bars = [float(str(e.get("width"))) for e in _parse(draw_cost(3.0, 1.0)).iter("rect")]
    assert bars[0] / sum(bars) == pytest.approx(0.75, abs=1e-3)
    assert not list(_parse(draw_cost(0.0, 0.0)).iter("rect"))


def test_flows_are_named_and_told_by_their_share() -> None:
    root = _parse(draw_flows(["left", "right"], [[0.5, 0.2], [0.0, 0.3]]))
    told = {str(e.find("title").text): e.get("class") for e in root.iter("path")}  # type: ignore[union-attr]
    assert told == {
        "left → left: 50\u00a0%": "ribbon transaction",
        "left → right: 20\u00a0%": "ribbon learning",
        "right → right: 30\u00a0%": "ribbon transaction",
    }


def test_many_groups_are_merged_without_losing_mass() -> None:
    n = 40
    flows = [[(i + 1) / (j + 1) for j in range(n)] for i in range(n)]
    names, table = merge_groups([f"g{i}" for i in range(n)], flows)
    assert len(names) == len(table) == MOST_GROUPS
    assert names[-1] == f"{n - MOST_GROUPS + 1} others"
    assert sum(map(sum, table)) == pytest.approx(sum(map(sum, flows)))


def test_no_mass_can_be_drawn() -> None:
    assert not list(_parse(draw_flows(["a", "b"], [[0.0, 0.0], [0.0, 0.0]])).iter("path"))


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


def test_the_map_agrees_with_the_verdicts(document: dict[str, Any]) -> None:
    case = build_case(check_decision(document))
    reach = find_reach(case)
    root = _parse(draw_map(case, reach))
    areas = {name: _corners(root, name) for name in ("switch", "undecided")}
    seen = set()
    for i in range(1, 24):
        for j in range(1, 24):
            across, up = i / 24, j / 24
            verdict = case.judge_at(across * reach.learning, up * reach.transaction).verdict
            x, y = LEFT + across * (RIGHT - LEFT), BOTTOM + up * (TOP - BOTTOM)
            # Half a drawn point beside an edge nothing is asked.
            near = {
                case.judge_at(
                    (across + dx) * reach.learning, max(up + dy, 0.0) * reach.transaction
                ).verdict
                for dx, dy in ((0.005, 0.005), (-0.005, -0.005))
            }
            if near != {verdict}:
                continue
            drawn = next((name for name in areas if _is_inside(areas[name], x, y)), "keep")
            assert drawn == verdict
            seen.add(verdict)
    assert seen == {"switch", "undecided", "keep"}


def test_sliders_reach_beyond_today_and_beyond_the_turn(document: dict[str, Any]) -> None:
    case = build_case(check_decision(document))
    reach = find_reach(case)
    assert reach.learning >= 2 * case.weights[0]
    assert case.judge_at(reach.learning, case.weights[1]).verdict == "keep"


def test_sliders_have_a_length_where_nothing_is_paid_and_nothing_moved(
    document: dict[str, Any],
) -> None:
    document["cost_model"] |= {"learning_weight": 0.0, "transaction_weight": 0.0}
    for entry in document["candidates"]:
        entry["cost"] |= {"total": 0.0, "learning": 0.0, "transaction": 0.0}
        entry["cost"] |= {"learning_mass": 0.0, "transaction_mass": 0.0}
    case = build_case(check_decision(document))
    reach = find_reach(case)
    assert reach == Reach(1.0, 1.0)
    root = _parse(draw_map(case, reach))
    assert _is_inside(_corners(root, "switch"), RIGHT - 1, BOTTOM - 1)
