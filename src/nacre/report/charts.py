"""Drawings of the decision: intervals, values, costs, flows of mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.svg import WIDTH, Axis, element, fit_axis, fit_text, line, measure, picture, text
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number, format_share

LEFT, RIGHT = 8.0, WIDTH - 8.0
ROW = 44.0
MOST_GROUPS = 6


@dataclass(frozen=True)
class Row:
    """A number with its interval under a name.

    Args:
        name: Left above the interval.
        kind: How it is coloured.
        mean: The number; None where it is not known.
        low: Lower end of the interval.
        high: Upper end.
        mark: Another number to compare with, drawn as a short line across.
        note: Right above the interval.
    """

    name: str
    kind: str
    mean: float | None
    low: float | None = None
    high: float | None = None
    mark: float | None = None
    note: str = ""


def draw_rows(title: str, rows: Sequence[Row]) -> Markup:
    """Intervals below one another on a common axis that holds zero.

    Rows of the kind "unused" do not stretch it: what lies outside is drawn at the edge.
    """
    fitted = [row for row in rows if row.kind != "unused"] or rows
    numbers = [n for row in fitted for n in (row.mean, row.low, row.high, row.mark)]
    axis = fit_axis(numbers, LEFT, RIGHT)
    bottom = ROW * len(rows) + 6
    # Between the rows' words, not through them.
    bands = [(ROW * index + 20, ROW * index + 40) for index in range(len(rows))]
    parts = draw_scale(axis, bottom, bands)
    for index, row in enumerate(rows):
        parts += _draw_row(row, axis, ROW * index + 16)
    return picture(title, bottom + 22, *parts)


def draw_scale(
    axis: Axis, bottom: float, bands: Sequence[tuple[float, float]] | None = None
) -> list[Markup]:
    """Ticks with numbers at the bottom, and lines in some bands or all the way up."""
    spans = [(4.0, bottom)] if bands is None else [*bands, (bottom - 4, bottom)]
    parts = [line(axis.first, bottom, axis.last, bottom, "axis")]
    for tick in axis.ticks:
        x = axis.place(tick)
        kind = "zero" if abs(tick) < 1e-12 else "grid"
        parts += [line(x, top, x, end, kind) for top, end in spans]
        # Numbers at the edges would be cut off if they were centred.
        anchor = "start" if x < axis.first + 14 else "end" if x > axis.last - 14 else "middle"
        parts.append(text(x, bottom + 15, axis.label(tick), anchor=anchor, class_="tick"))
    return parts


def _draw_row(row: Row, axis: Axis, y: float) -> list[Markup]:
    parts = [
        text(LEFT, y, fit_text(clean(row.name), RIGHT - LEFT - measure(row.note))),
        text(RIGHT, y, row.note, anchor="end", class_="figure"),
    ]
    middle = y + 13
    if row.low is not None and row.high is not None:
        low, high = axis.place(row.low), axis.place(row.high)
        parts.append(line(low, middle, high, middle, f"whisker {row.kind}"))
        parts += [draw_end(end, axis, middle, row.kind) for end in (row.low, row.high)]
    if row.mark is not None:
        x = axis.place(row.mark)
        parts.append(line(x, middle - 8, x, middle + 8, "mark"))
    if row.mean is not None and axis.holds(row.mean):
        x = axis.place(row.mean)
        parts.append(element("circle", cx=x, cy=middle, r=5.5, class_=f"mean {row.kind}"))
    return parts


def draw_end(end: float, axis: Axis, y: float, kind: str) -> Markup:
    """The end of an interval: a line across, or an arrow where it lies outside of the drawing.

    The script of the page has the same lines.
    """
    x = axis.place(end)
    back = 0.0 if axis.holds(end) else 6.0 if end < axis.low else -6.0
    points = f"{x + back:.2f},{y - 5:g} {x:.2f},{y:g} {x + back:.2f},{y + 5:g}"
    return element("polyline", points=points, class_=f"whisker {kind}")


def draw_tried(axis: Axis) -> Markup:
    """The interval that the sliders move; the script puts it in its place."""
    parts = [
        line(axis.first, 13, axis.first, 13, "whisker new"),
        draw_end(axis.low, axis, 13, "new"),
        draw_end(axis.low, axis, 13, "new"),
        element("circle", cx=axis.first, cy=13, r=5.5, class_="mean new"),
    ]
    moved = element("g", *parts, id="tried-interval")
    return picture("Net gain at these weights, against zero", 50, *draw_scale(axis, 28), moved)


def draw_cost(learning: float, transaction: float, unit: str = "") -> Markup:
    """Both parts of the cost as one bar."""
    whole = learning + transaction
    split = LEFT + (RIGHT - LEFT) * (learning / whole if whole > 0 else 0.0)
    shown = [add_unit(format_number(part), unit) for part in (learning, transaction)]
    names = f"learning {shown[0]}", f"transaction {shown[1]}"
    bars = [
        element("rect", x=LEFT, y=22.0, width=split - LEFT, height=22.0, class_="learning"),
        element("rect", x=split, y=22.0, width=RIGHT - split, height=22.0, class_="transaction"),
    ]
    return picture(
        f"Cost: {names[0]}, {names[1]}",
        50,
        text(LEFT, 15, names[0]),
        text(RIGHT, 15, names[1], anchor="end"),
        *(bars if whole > 0 else [line(LEFT, 33, RIGHT, 33, "axis")]),
    )


def draw_flows(groups: Sequence[str], flows: Sequence[Sequence[float]]) -> Markup:
    """Where the mass of each action group goes: old policy left, new policy right."""
    names, table = merge_groups(groups, flows)
    total = sum(map(sum, table)) or 1.0
    n = len(names)
    height, gap = max(150.0, 42.0 * n), 10.0
    unit = (height - gap * (n - 1)) / total
    left = _stack([sum(row) for row in table], unit, gap)
    right = _stack([sum(row[j] for row in table) for j in range(n)], unit, gap)
    x1 = min(146.0, max(116.0, 10.0 + max(map(measure, names), default=0.0)))
    x2 = WIDTH - x1
    parts = [text(x1 + 12, 12, "old policy", anchor="end", class_="label old-text")]
    parts.append(text(x2 - 12, 12, "new policy", class_="label new-text"))
    used_left, used_right = [y for y, _ in left], [y for y, _ in right]
    for i in range(n):
        for j in range(n):
            thick = table[i][j] * unit
            if thick < 0.05:
                continue
            kind = "transaction" if i == j else "learning"
            words = f"{names[i]} → {names[j]}: {format_share(table[i][j] / total)}"
            parts.append(_ribbon(x1 + 12, used_left[i], x2 - 12, used_right[j], thick, kind, words))
            used_left[i] += thick
            used_right[j] += thick
    for stack, x, edge, anchor, kind in (
        (left, x1, x1 - 5, "end", "old-bar"),
        (right, x2 - 12, x2 + 5, "start", "new-bar"),
    ):
        for name, (y, size) in zip(names, stack, strict=True):
            parts.append(element("rect", x=x, y=y, width=12.0, height=max(size, 0.5), class_=kind))
            middle = y + size / 2
            parts.append(text(edge, middle - 1, fit_text(name, x1 - 8), anchor=anchor))
            share = format_share(size / unit / total)
            parts.append(text(edge, middle + 13, share, anchor=anchor, class_="tick"))
    return picture("Flow of mass between action groups", height + 34, *parts)


def _stack(sizes: Sequence[float], unit: float, gap: float) -> list[tuple[float, float]]:
    """Top and height of each bar."""
    tops, y = [], 22.0
    for size in sizes:
        tops.append((y, size * unit))
        y += size * unit + gap
    return tops


def _ribbon(
    x1: float, y1: float, x2: float, y2: float, thick: float, kind: str, words: str
) -> Markup:
    middle = (x1 + x2) / 2
    path = (
        f"M{x1:.2f} {y1:.2f}C{middle:.2f} {y1:.2f} {middle:.2f} {y2:.2f} {x2:.2f} {y2:.2f}"
        f"V{y2 + thick:.2f}C{middle:.2f} {y2 + thick:.2f} {middle:.2f} {y1 + thick:.2f} "
        f"{x1:.2f} {y1 + thick:.2f}Z"
    )
    return element("path", element("title", words), d=path, class_=f"ribbon {kind}")


def merge_groups(
    groups: Sequence[str], flows: Sequence[Sequence[float]]
) -> tuple[list[str], list[list[float]]]:
    """The largest groups; all others together as one, whose inner moves are told by the figures."""
    names = [clean(name, 60) for name in groups]
    table = [list(map(float, row)) for row in flows]
    n = len(names)
    if n <= MOST_GROUPS:
        return names, table
    size = [sum(table[i]) + sum(row[i] for row in table) for i in range(n)]
    kept = sorted(sorted(range(n), key=lambda i: -size[i])[: MOST_GROUPS - 1])
    place = {group: index for index, group in enumerate(kept)}
    merged = [[0.0] * MOST_GROUPS for _ in range(MOST_GROUPS)]
    for i in range(n):
        for j in range(n):
            row, column = place.get(i, MOST_GROUPS - 1), place.get(j, MOST_GROUPS - 1)
            merged[row][column] += table[i][j]
    return [*(names[i] for i in kept), f"{n - MOST_GROUPS + 1} others"], merged
