"""Drawings of a roll-out: the stairs of a plan, the net curve, and the bounds of a live gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nacre.report.charts import Row, draw_rows
from nacre.report.sentences import state_interval
from nacre.report.svg import Axis, element, fit_axis, line, picture, polygon, text
from nacre.report.text import format_number, format_percent
from nacre.rollout.plan_record import CurvePoint, Plan

LEFT, RIGHT = 44.0, 350.0
TOP, BOTTOM = 14.0, 150.0


def draw_stages(plan: Plan) -> Markup | None:
    """Stairs: the share of the new policy over the episodes that each stage is expected to take."""
    if not plan.stages:
        return None
    lengths = [float(stage.episodes or 0) for stage in plan.stages]
    known = [length for length in lengths if length]
    # A stage of unknown length, as the last one, is drawn as long as the others on average.
    usual = sum(known) / len(known) if known else 1.0
    widths = [length or usual for length in lengths]
    total, x, parts = sum(widths), LEFT, []
    axis = Axis(0.0, 1.0, BOTTOM, TOP)
    for tick in (0.0, 0.5, 1.0):
        y = axis.place(tick)
        parts += [
            line(LEFT, y, RIGHT, y, "axis" if tick == 0 else "grid"),
            text(LEFT - 4, y + 4, format_percent(tick) if 0 < tick < 1 else f"{tick:.0%}",
                 anchor="end", class_="tick"),
        ]  # fmt: skip
    for stage, width in zip(plan.stages, widths, strict=True):
        end = x + (RIGHT - LEFT) * width / total
        y = axis.place(stage.share)
        parts.append(
            element("rect", x=x, y=y, width=max(end - x - 2, 1.0), height=BOTTOM - y,
                    class_="new-bar")
        )  # fmt: skip
        told = f"{stage.episodes:,} ep." if stage.episodes else ("all" if stage.share >= 1 else "?")
        parts.append(text((x + end) / 2, BOTTOM + 15, told, anchor="middle", class_="tick"))
        x = end
    return picture("Share of the new policy, stage by stage", BOTTOM + 22, *parts)


def draw_curve(points: Sequence[CurvePoint]) -> Markup | None:
    """The net gain of each partial switch, with its band."""
    if not points:
        return None
    rows = [
        Row(
            f"{'✓ ' if point.proven else ''}{point.name}",
            "net" if point.informative else "unused",
            point.net_gain.mean,
            point.net_gain.low,
            point.net_gain.high,
            note=state_interval(point.net_gain),
        )
        for point in points[:24]
    ]
    return draw_rows("Net gain of partial switches, against zero", rows)


def draw_path(look: Mapping[str, Any]) -> Markup | None:
    """The bounds of the gain over the sets, against break-even and the promise."""
    path = look["path"]
    known = [i for i, low in enumerate(path["low"]) if low is not None]
    if not known:
        return None
    promised = look["promised"]
    numbers = [path[name][i] for name in ("low", "high", "mean") for i in known]
    marks = {"break-even": look["break_even"], "promised": promised.get("mean")}
    vertical = fit_axis([*numbers, *marks.values()], BOTTOM, TOP)
    last = path["sets"][-1]
    across = Axis(0.0, float(max(last, 1)), LEFT, RIGHT)
    places = [(across.place(path["sets"][i]), i) for i in known]
    band = [(x, vertical.place(path["low"][i])) for x, i in places]
    band += [(x, vertical.place(path["high"][i])) for x, i in reversed(places)]
    parts = [polygon(band, "undecided")]
    for tick in vertical.ticks:
        y = vertical.place(tick)
        parts += [
            line(LEFT, y, RIGHT, y, "zero" if abs(tick) < 1e-12 else "grid"),
            text(LEFT - 4, y + 4, vertical.label(tick), anchor="end", class_="tick"),
        ]
    means = " ".join(f"{x:.2f},{vertical.place(path['mean'][i]):.2f}" for x, i in places)
    parts.append(element("polyline", points=means, class_="curve new"))
    for name, value in marks.items():
        if value is not None and (name != "break-even" or value):
            y = vertical.place(value)
            parts += [
                line(LEFT, y, RIGHT, y, "dashed old"),
                text(LEFT + 4, y - 4, f"{name} {format_number(value)}"),
            ]
    parts.append(text(RIGHT, BOTTOM + 15, f"{last:,} sets", anchor="end", class_="tick"))
    return picture("Bounds of the live gain over the sets", BOTTOM + 22, *parts)
