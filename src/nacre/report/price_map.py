"""The break-even map: which verdict holds at which weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.case import Case, Limit, find_end
from nacre.report.svg import WIDTH, Axis, element, line, picture, polygon, round_up, text

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


def find_reach(case: Case) -> Reach:
    """Far enough to see where the answer turns, and twice what is paid today at least."""
    limits = case.find_limits()
    learning, transaction = case.weights
    masses = [(price.learning_mass, price.transaction_mass) for price in case.prices]
    across = _reach(learning, transaction, limits, masses)
    up = _reach(transaction, learning, limits, [mass[::-1] for mass in masses])
    # Transaction dearer than learning is outside of the cost model.
    return Reach(across, max(min(across, up), transaction))


def _reach(
    weight: float, other: float, limits: tuple[Limit, ...], masses: list[tuple[float, float]]
) -> float:
    turns = [
        (limit.expected - other * beside) / mass
        for limit, (mass, beside) in zip(limits, masses, strict=True)
        if mass > 1e-9 and math.isfinite(limit.expected)
    ]
    # A candidate that hardly moves mass turns at an absurd price: it must not hide all the others.
    turns = [turn for turn in turns if turn > 0]
    far = min(max(turns, default=0.0), 5 * min(turns, default=0.0))
    return round_up(max(2 * weight, ROOM * far, 0.2 * other) or 1.0, ENDS)


def draw_map(case: Case, reach: Reach) -> Markup:
    """Regions of switch, undecided and keep; c_l to the right, c_t upwards."""
    across = Axis(0.0, reach.learning, LEFT, RIGHT)
    up = Axis(0.0, reach.transaction, BOTTOM, TOP)
    proven, expected = _edges(case, reach)
    heights = [up.place(reach.transaction * row / (ROWS - 1)) for row in range(ROWS)]
    first = [(across.place(x), y) for x, y in zip(proven, heights, strict=True)]
    second = [(across.place(x), y) for x, y in zip(expected, heights, strict=True)]
    corner = min(reach.learning, reach.transaction)
    x, y = across.place(case.weights[0]), up.place(case.weights[1])
    return picture(
        "Map of verdicts over the weights of learning and transaction",
        HEIGHT,
        _hatch(),
        polygon([(LEFT, BOTTOM), (RIGHT, BOTTOM), (RIGHT, TOP), (LEFT, TOP)], "keep"),
        polygon([(LEFT, BOTTOM), *second, (LEFT, TOP)], "undecided"),
        polygon([(LEFT, BOTTOM), *first, (LEFT, TOP)], "switch"),
        polygon(
            [
                (LEFT, BOTTOM),
                (across.place(corner), up.place(corner)),
                (across.place(corner), TOP),
                (LEFT, TOP),
            ],
            "barred",
        ),
        *_name_regions(proven, expected, reach, heights),
        *_draw_axes(across, up),
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


def _edges(case: Case, reach: Reach) -> tuple[list[float], list[float]]:
    """For rows of growing c_t, up to which c_l it is switched, and a gain expected."""
    limits = case.find_limits()
    edges: tuple[list[float], list[float]] = ([], [])
    for row in range(ROWS):
        transaction = reach.transaction * row / (ROWS - 1)
        for edge, name in zip(edges, ("proven", "expected"), strict=True):
            ends = [
                find_end(
                    getattr(limit, name) - transaction * price.transaction_mass, price.learning_mass
                )
                for limit, price in zip(limits, case.prices, strict=True)
            ]
            edge.append(min(max(0.0, *ends, 0.0), reach.learning))
    return edges


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
    proven: list[float], expected: list[float], reach: Reach, heights: list[float]
) -> list[Markup]:
    """A name in each region, where its widest row has room for it."""
    names = []
    spans = {
        "switch": [(0.0, end) for end in proven],
        "undecided": list(zip(proven, expected, strict=True)),
        "keep": [(start, reach.learning) for start in expected],
    }
    across = Axis(0.0, reach.learning, LEFT, RIGHT)
    for name, rows in spans.items():
        # Not at the very edge, and below the bar of weights that make no sense.
        inner = range(3, ROWS - 3)
        best = max(inner, key=lambda i: (round(rows[i][1] - rows[i][0], 9), -abs(i - ROWS // 3)))
        start, end = (across.place(x) for x in rows[best])
        if end - start > 68:
            names.append(
                text((start + end) / 2, heights[best] + 4, name, anchor="middle", class_="region")
            )
    return names


def _draw_axes(across: Axis, up: Axis) -> list[Markup]:
    parts = [line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis"), line(LEFT, TOP, LEFT, BOTTOM, "axis")]
    for tick in across.ticks:
        x = across.place(tick)
        anchor = "end" if x > RIGHT - 12 else "middle"
        parts.append(text(x, BOTTOM + 15, across.label(tick), anchor=anchor, class_="tick"))
    for tick in up.ticks:
        y = up.place(tick)
        parts.append(
            text(LEFT - 5, max(y + 4, TOP + 8), up.label(tick), anchor="end", class_="tick")
        )
    parts.append(text((LEFT + RIGHT) / 2, HEIGHT - 8, "price of learning, c_l", anchor="middle"))
    turned = element(
        "text",
        "price of transaction, c_t",
        transform=f"translate(11 {(TOP + BOTTOM) / 2:g}) rotate(-90)",
        text_anchor="middle",
        class_="label",
    )
    return [*parts, turned]
