"""Candidates in one drawing: gain against cost, with intervals and the frontier."""

from __future__ import annotations

import itertools
import math

from markupsafe import Markup

from nacre.report.prices import Line
from nacre.report.sections.base import Context
from nacre.report.svg import (
    WIDTH,
    Axis,
    draw_axes,
    element,
    fit_axis,
    fit_text,
    line,
    picture,
    text,
)
from nacre.report.text import clean

HEIGHT = 210.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, WIDTH - 8.0, 8.0, HEIGHT - 40.0
MOST = 8
ARM = 4.0


def draw_frontier(context: Context) -> Markup | None:
    """Nothing where no candidate has bounds."""
    weights = context.prices.weights
    drawn = [
        (one, one.cost_at(*weights))
        for one in context.prices.lines
        if math.isfinite(one.gain + one.gain_low + one.gain_high)
    ][:MOST]
    if not drawn:
        return None
    across = fit_axis([cost for _, cost in drawn], LEFT, RIGHT)
    up = fit_axis([n for one, _ in drawn for n in (one.gain_low, one.gain_high)], BOTTOM, TOP)
    heights = [(up.place(tick), "zero" if abs(tick) < 1e-12 else "grid") for tick in up.ticks]
    parts = [line(LEFT, y, RIGHT, y, class_) for y, class_ in heights]
    parts += draw_axes(across, up, ("cost", "gain"))
    # Gain = cost: the part of that line that lies in the drawing.
    start, end = max(0.0, up.low), min(across.high, up.high)
    if end > start:
        ends = (across.place(start), up.place(start), across.place(end), up.place(end))
        parts.append(line(*ends, "expected"))
    best = [(across.place(cost), up.place(one.gain)) for one, cost in find_frontier(drawn)]
    written = " ".join(f"{x:.2f},{y:.2f}" for x, y in best)
    parts.append(element("polyline", points=written, class_="curve other"))
    shown = spread_out([up.place(one.gain) for one, _ in drawn])
    for (one, cost), height in zip(drawn, shown, strict=True):
        kind = "new" if one is context.line else "other"
        parts += _draw_candidate(one, across.place(cost), up, kind, height)
    return picture("Gain of each candidate against its cost", HEIGHT, *parts)


def find_frontier(drawn: list[tuple[Line, float]]) -> list[tuple[Line, float]]:
    """By rising cost, those that gain more than every cheaper one."""
    kept: list[tuple[Line, float]] = []
    for one, cost in sorted(drawn, key=lambda pair: (pair[1], -pair[0].gain)):
        if not kept or one.gain > kept[-1][0].gain:
            kept.append((one, cost))
    return kept


def spread_out(places: list[float], room: float = 15.0) -> list[float]:
    """Places for words near these, at least so far apart."""
    moved = list(places)
    order = sorted(range(len(places)), key=lambda index: places[index])
    for before, index in itertools.pairwise(order):
        moved[index] = max(moved[index], moved[before] + room)
    # As far up as they had to go down, on average, and within the drawing.
    shift = sum(moved) / len(moved) - sum(places) / len(places)
    shift = min(max(shift, max(moved) - BOTTOM), min(moved) - TOP)
    return [place - shift for place in moved]


def _draw_candidate(one: Line, x: float, up: Axis, kind: str, height: float) -> list[Markup]:
    low, high, middle = (up.place(number) for number in (one.gain_low, one.gain_high, one.gain))
    left = x > (LEFT + RIGHT) / 2
    name = fit_text(clean(one.name, 60), (x - LEFT if left else RIGHT - x) - 12)
    return [
        line(x, low, x, high, f"whisker {kind}"),
        *(line(x - ARM, end, x + ARM, end, f"whisker {kind}") for end in (low, high)),
        element("circle", cx=x, cy=middle, r=5.0, class_=f"mean {kind}"),
        text(x - 9 if left else x + 9, height + 4, name, anchor="end" if left else "start"),
    ]
