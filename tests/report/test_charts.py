"""Drawings say what the numbers say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from nacre.report.charts import MOST_GROUPS, Row, draw_cost, draw_flows, draw_rows, merge_groups


def _parse(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(str(drawing))  # noqa: S314 - our own drawing


def test_intervals_lie_where_their_numbers_are() -> None:
    rows = [Row("one", "new", 2.0, 1.0, 4.0, note="2"), Row("none", "old", None)]
    root = _parse(draw_rows("title", rows))
    bars = [e for e in root.iter("line") if "whisker" in str(e.get("class"))]
    ends = [float(str(bars[0].get(name))) for name in ("x1", "x2")]
    middle = next(float(str(e.get("cx"))) for e in root.iter("circle"))
    caps = [str(e.get("points")) for e in root.iter("polyline")]
    # Straight lines across both ends.
    assert [{pair.split(",")[0] for pair in cap.split()} for cap in caps] == [
        {f"{end:.2f}"} for end in ends
    ]
    assert len(bars) == 1
    assert (middle - ends[0]) / (ends[1] - ends[0]) == pytest.approx(1 / 3, abs=1e-3)


def test_a_mark_lies_where_its_number_is() -> None:
    root = _parse(draw_rows("title", [Row("one", "new", 2.0, mark=2.0)]))
    mark = next(e for e in root.iter("line") if e.get("class") == "mark")
    assert mark.get("x1") == next(e.get("cx") for e in root.iter("circle"))


def test_what_is_not_used_does_not_stretch_the_axis() -> None:
    used = Row("one", "new", 2.0, 1.0, 4.0)
    alone = _parse(draw_rows("title", [used]))
    both = _parse(draw_rows("title", [used, Row("two", "unused", 1e6, -1e6, 1e9)]))
    first = [next(root.iter("circle")).get("cx") for root in (alone, both)]
    assert first[0] == first[1]
    # Its ends are arrows at the edges, and its mean is not drawn.
    assert len(list(both.iter("circle"))) == 1
    left, right = [str(e.get("points")).split() for e in both.iter("polyline")][-2:]
    assert [pair.split(",")[0] for pair in left] == ["14.00", "8.00", "14.00"]
    assert [pair.split(",")[0] for pair in right] == ["346.00", "352.00", "346.00"]


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
