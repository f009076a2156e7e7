"""Drawings of the optional arrays: returns, learning, and where the change happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nacre.report.charts import LEFT, RIGHT, draw_scale
from nacre.report.document import Decision
from nacre.report.evidence import Evidence
from nacre.report.svg import Axis, element, fit_axis, fit_text, line, picture, text
from nacre.report.text import clean, format_number, format_share

BARS = 24
HEIGHT = 130.0
MOST_CURVES = 4


@dataclass(frozen=True)
class Drawings:
    """What could be drawn; None where its arrays are missing."""

    returns: Markup | None
    has_members: bool
    curves: Markup | None
    stop_reasons: list[tuple[str, str]]
    states: list[tuple[str, str, Markup]]
    concentration: str | None


def draw_evidence(evidence: Evidence, decision: Decision) -> Drawings:
    """Everything that the arrays allow."""
    reasons = zip(evidence.curve_names, evidence.stop_reasons, strict=False)
    return Drawings(
        _draw_returns(evidence, decision),
        bool(evidence.old_members.size),
        _draw_curves(evidence, decision),
        [(clean(name), clean(reason)) for name, reason in reasons],
        [_draw_state(evidence, index) for index in range(len(evidence.state_names))]
        if evidence.old_actions.size
        else [],
        " ".join(_tell_concentrations(evidence)) or None,
    )


def _draw_returns(evidence: Evidence, decision: Decision) -> Markup | None:
    """Histogram of the old policy's returns, with its value and the critics'."""
    returns = evidence.returns[np.isfinite(evidence.returns)]
    if len(returns) < 2:
        return None
    fitted = [float(v) for v in evidence.old_members if np.isfinite(v)]
    spread = [float(returns.min()), float(returns.max()), *fitted]
    low, high = min(spread), max(spread)
    room = 0.04 * (high - low) or 1.0
    axis = Axis(low - room, high + room, LEFT, RIGHT)
    counts, edges = np.histogram(returns, BARS, (low - room, high + room))
    unit = (HEIGHT - 24) / counts.max()
    parts = draw_scale(axis, HEIGHT)
    for count, start, end in zip(counts, edges[:-1], edges[1:], strict=True):
        x, height = axis.place(float(start)), float(count * unit)
        width = axis.place(float(end)) - x - 1
        parts.append(
            element("rect", x=x, y=HEIGHT - height, width=width, height=height, class_="old-bar")
        )
    if decision.old_value.mean is not None:
        x = axis.place(decision.old_value.mean)
        parts.append(line(x, 10, x, HEIGHT, "whisker old"))
    parts += [
        element("circle", cx=axis.place(value), cy=12.0, r=3.0, class_="point new")
        for value in fitted
    ]
    return picture("Returns of the old policy in the log", HEIGHT + 22, *parts)


def _draw_curves(evidence: Evidence, decision: Decision) -> Markup | None:
    """Estimated net value while learning; a dashed line is the old policy's value."""
    if not evidence.curves.size or not np.isfinite(evidence.curves).any():
        return None
    known = evidence.curves[np.isfinite(evidence.curves)]
    up = fit_axis([*map(float, known), decision.old_value.mean], HEIGHT, 8.0)
    across = Axis(1.0, max(2.0, float(evidence.curves.shape[1])), LEFT + 34, RIGHT)
    parts = []
    for tick in up.ticks:
        y = up.place(tick)
        parts.append(line(across.first, y, RIGHT, y, "zero" if abs(tick) < 1e-12 else "grid"))
        parts.append(text(across.first - 5, y + 4, up.label(tick), anchor="end", class_="tick"))
    if decision.old_value.mean is not None:
        y = up.place(decision.old_value.mean)
        parts.append(line(across.first, y, RIGHT, y, "dashed old"))
    for index, values in enumerate(evidence.curves[:MOST_CURVES]):
        places = [
            (across.place(epoch + 1.0), up.place(float(value)))
            for epoch, value in enumerate(values)
            if np.isfinite(value)
        ]
        written = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
        kind = "new" if evidence.curve_names[index] == decision.chosen else "other"
        parts.append(element("polyline", points=written, class_=f"curve {kind}"))
    ends = f"epochs 1 to {evidence.curves.shape[1]}"
    parts.append(
        text((across.first + RIGHT) / 2, HEIGHT + 16, ends, anchor="middle", class_="tick")
    )
    return picture("Estimated net value while learning", HEIGHT + 22, *parts)


def _draw_state(evidence: Evidence, index: int) -> tuple[str, str, Markup]:
    """Name, cost and gain, and action probabilities of one state, old above new."""
    row, label = 30.0, 104.0
    parts = []
    for place, name in enumerate(evidence.action_names):
        y = row * place
        parts.append(text(label - 6, y + 17, fit_text(clean(name), label - 8), anchor="end"))
        for shift, kind, table in (
            (4, "old", evidence.old_actions),
            (14, "new", evidence.new_actions),
        ):
            share = float(np.clip(np.nan_to_num(table[index, place]), 0.0, 1.0))
            width = share * (RIGHT - label - 44)
            parts.append(
                element(
                    "rect",
                    x=label,
                    y=y + shift,
                    width=max(width, 0.5),
                    height=9.0,
                    class_=f"{kind}-bar",
                )
            )
            parts.append(
                text(
                    label + width + 4,
                    y + shift + 9,
                    format_share(share),
                    class_=f"tick {kind}-text",
                )
            )
    parts.append(line(label, 0, label, row * len(evidence.action_names), "axis"))
    name = clean(evidence.state_names[index])
    chart = picture(
        f"Actions of both policies, {name}", row * len(evidence.action_names) + 4, *parts
    )
    facts = f"cost {format_number(float(evidence.state_costs[index]))}"
    if evidence.state_gains.size:
        facts += f", gain {format_number(float(evidence.state_gains[index]))}"
    return name, facts, chart


def _tell_concentrations(evidence: Evidence) -> list[str]:
    """How much of the cost, and of the gain, lies in a tenth of the states."""
    told = []
    for shares, sentence in (
        (evidence.concentration, "The dearest tenth of the states bears {} of the cost."),
        (
            evidence.gain_concentration,
            "The tenth that gains most brings {} of what first actions gain.",
        ),
    ):
        if len(shares) < 3 or not np.isfinite(shares).all() or shares[-1] <= 0:
            continue
        steps = len(shares) - 1
        tenth = float(np.interp(0.1 * steps, np.arange(steps + 1), shares))
        told.append(sentence.format(format_share(tenth)))
    return told
