"""The break-even map: which verdict holds at which weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from nacre.inference.price import LEAST_MASS
from nacre.report.prices import Prices
from nacre.report.svg import WIDTH, Axis, draw_axes, element, line, picture, polygon, round_up, text

HEIGHT = 300.0
LEFT, TOP, RIGHT, BOTTOM = 46.0, 10.0, WIDTH - 10.0, HEIGHT - 44.0
FRAME = {"left": LEFT, "top": TOP, "right": RIGHT, "bottom": BOTTOM}
ROWS = 61
ROOM = 1.25
ENDS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Reach:
    """The largest weights that the sliders offer."""

    learning: float
    transaction: float


def find_reach(prices: Prices) -> Reach:
    """Far enough to see where the answer changes, and twice what is paid today at least."""
    across, up = _reach(prices, 0), _reach(prices, 1)
    # A transaction weight above the learning weight is outside of the cost model.
    return Reach(across, max(min(across, up), prices.weights[1]))


def _reach(prices: Prices, weight: int) -> float:
    today, other = prices.weights[weight], prices.weights[1 - weight]
    ends = []
    for one in prices.lines:
        mass, beside = one.masses[weight], one.masses[1 - weight]
        limits = prices.limit(one)
        limit = limits.possible if math.isfinite(limits.possible) else limits.expected
        if mass >= LEAST_MASS and math.isfinite(limit):
            ends.append((limit - one.fixed - other * beside) / mass)
    # A candidate that hardly moves mass ends at an absurd weight: it must not hide all the others.
    ends = [end for end in ends if end > 0]
    far = min(max(ends, default=0.0), 5 * min(ends, default=0.0))
    return round_up(max(2 * today, ROOM * far, 0.2 * other) or 1.0, ENDS)


def draw_map(prices: Prices, reach: Reach) -> Markup:
    """Regions of switch, undecided and keep; c_l to the right, c_t upwards."""
    across = Axis(0.0, reach.learning, LEFT, RIGHT)
    up = Axis(0.0, reach.transaction, BOTTOM, TOP)
    edges = find_edges(prices, reach)
    heights = [up.place(reach.transaction * row / (ROWS - 1)) for row in range(ROWS)]
    drawn = {
        name: [(across.place(x), y) for x, y in zip(edge, heights, strict=True)]
        for name, edge in edges.items()
    }
    corner = min(reach.learning, reach.transaction)
    barred = [
        (LEFT, BOTTOM),
        (across.place(corner), up.place(corner)),
        (across.place(corner), TOP),
        (LEFT, TOP),
    ]
    x, y = across.place(prices.weights[0]), up.place(prices.weights[1])
    return picture(
        "Map of verdicts over the weights of learning and transaction",
        HEIGHT,
        _hatch(),
        polygon([(LEFT, BOTTOM), (RIGHT, BOTTOM), (RIGHT, TOP), (LEFT, TOP)], "keep"),
        polygon([(LEFT, BOTTOM), *drawn["possible"], (LEFT, TOP)], "undecided"),
        polygon([(LEFT, BOTTOM), *drawn["proven"], (LEFT, TOP)], "switch"),
        _draw_expected(drawn["expected"]),
        polygon(barred, "barred"),
        *_name_regions(edges["proven"], edges["possible"], reach, heights),
        *draw_axes(across, up, ("learning weight, c_l", "transaction weight, c_t")),
        element("path", d=f"M{x:.2f} {y - 7:.2f}l7 7l-7 7l-7 -7z", class_="recorded"),
        element(
            "g",
            line(x, TOP, x, BOTTOM, "hair"),
            line(LEFT, y, RIGHT, y, "hair"),
            element("circle", cx=x, cy=y, r=6.0, class_="current"),
            id="map-marker",
        ),
        class_="chart map",
    )


def find_edges(prices: Prices, reach: Reach) -> dict[str, list[float]]:
    """For rows of growing c_t, up to which c_l a gain is proven, expected and possible."""
    edges: dict[str, list[float]] = {"proven": [], "expected": [], "possible": []}
    for row in range(ROWS):
        ends = prices.find_ends(0, reach.transaction * row / (ROWS - 1))
        for name, edge in edges.items():
            edge.append(min(getattr(ends, name), reach.learning))
    return edges


def _draw_expected(points: list[tuple[float, float]]) -> Markup:
    """Where the net gain in one number is nothing; not along the edges of the map."""
    inner = [(x, y) for x, y in points if LEFT < x < RIGHT]
    written = " ".join(f"{x:.2f},{y:.2f}" for x, y in inner)
    return element("polyline", points=written, class_="expected")


def _hatch() -> Markup:
    stripes = element(
        "pattern",
        element("path", d="M0 8L8 0", class_="stripe"),
        id="hatch",
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
    )
    return element("defs", stripes)


def _name_regions(
    proven: list[float], possible: list[float], reach: Reach, heights: list[float]
) -> list[Markup]:
    """A name in each region, where its widest row has room for it."""
    names = []
    spans = {
        "switch": [(0.0, end) for end in proven],
        "undecided": list(zip(proven, possible, strict=True)),
        "keep": [(start, reach.learning) for start in possible],
    }
    across = Axis(0.0, reach.learning, LEFT, RIGHT)
    for name, rows in spans.items():
        # Not at the very edge, and below the region of weights that make no sense.
        inner = range(3, ROWS - 3)
        best = max(inner, key=lambda i: (round(rows[i][1] - rows[i][0], 9), -abs(i - ROWS // 3)))
        start, end = (across.place(x) for x in rows[best])
        if end - start > 68:
            names.append(
                text((start + end) / 2, heights[best] + 4, name, anchor="middle", class_="region")
            )
    return names
