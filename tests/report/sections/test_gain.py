"""Gain and values with their bounds."""

from __future__ import annotations

from nacre.advice.record import Interval
from nacre.report.sections.base import Context
from nacre.report.sections.gain import Gain, shift


def test_the_net_gain_and_its_level_are_shown(context: Context) -> None:
    page = str(Gain().render(context)).replace("\u00a0", " ")
    assert "6.0 (3.6 to 8.0)" in page
    assert "each bound holds with 98.33 % confidence" in page


def test_intervals_can_be_moved() -> None:
    moved = shift(Interval(mean=1.0, low=None, high=3.0), 2.0)
    assert (moved.mean, moved.low, moved.high) == (3.0, None, 5.0)
