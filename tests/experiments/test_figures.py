"""The figure of a table: well-formed, every run in it, the same every time."""

from __future__ import annotations

from xml.etree import ElementTree

from nacre.experiments.figures import draw_table
from nacre.experiments.summary import Summary
from nacre.experiments.tables import TABLES
from tests.support.experiments import MIXED, TWO, make_record

ANT, ANT_OPTIMAL, *_ = TABLES["gymnasium"]
NAMESPACE = "{http://www.w3.org/2000/svg}"


def draw(*summaries: Summary) -> ElementTree.Element:
    return ElementTree.fromstring(draw_table(summaries, "Ants"))  # noqa: S314 - our own


def count(drawn: ElementTree.Element, name: str, kind: str) -> int:
    return sum(part.get("class") == kind for part in drawn.iter(f"{NAMESPACE}{name}"))


def test_every_run_is_drawn_by_both_measures() -> None:
    """Two of `paper` switched; of `default` two of four; the legend adds its own."""
    rows = (
        Summary.from_records(ANT, "paper", TWO),
        Summary.from_records(ANT_OPTIMAL, "default", MIXED),
    )
    drawn, legend = draw(*rows), draw()
    assert drawn.get("aria-label") == "Ants"
    for name, kind, runs in (
        ("circle", "paper switched", 2 + 1),
        ("rect", "paper switched", 2),
        ("circle", "default switched", 2 + 1),
        ("rect", "default", 2),
    ):
        assert count(drawn, name, kind) - count(legend, name, kind) == runs, (name, kind)
    # The published mean of the weak ant; good ones have none.
    assert count(drawn, "line", "published") - count(legend, "line", "published") == 1


def test_places_follow_the_numbers() -> None:
    drawn = draw(Summary.from_records(ANT, "paper", TWO))
    circles = [c for c in drawn.iter(f"{NAMESPACE}circle") if c.get("class") == "paper switched"]
    squares = [r for r in drawn.iter(f"{NAMESPACE}rect") if r.get("class") == "paper switched"]
    first, second = sorted(float(str(circle.get("cx"))) for circle in circles)[-2:]
    assert first < second
    # Published style lies 17 and 16 to the right of the truth, 20 apart: at 77 and 96 of 60 and 80.
    places = sorted(float(str(square.get("x"))) + 3.0 for square in squares)
    unit = (second - first) / 20.0
    assert abs(places[0] - (first + 17 * unit)) < 0.05
    assert abs(places[1] - (second + 16 * unit)) < 0.05


def test_a_run_without_the_published_measure_has_a_circle_alone() -> None:
    summary = Summary.from_records(ANT, "paper", [make_record(4, 1.0, switching_cost={})])
    assert count(draw(summary), "rect", "paper switched") == 0
