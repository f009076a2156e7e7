"""Elements are escaped; axes have round numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from nacre.report.svg import Axis, element, fit_axis, picture, round_up, text


def test_everything_in_an_element_is_escaped() -> None:
    drawn = element("text", "<b>&", x=1.5, class_='a"b', data_name="<")
    assert drawn == '<text x="1.5" class="a&#34;b" data-name="&lt;">&lt;b&gt;&amp;</text>'
    assert element("g", element("rect", width=0.0), id=None) == '<g><rect width="0"></rect></g>'


def test_a_picture_has_a_name() -> None:
    drawn = picture('a "name"', 10, text(1, 2, "word"))
    root = ElementTree.fromstring(str(drawn))  # noqa: S314 - our own drawing
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
