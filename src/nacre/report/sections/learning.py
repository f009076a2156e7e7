"""How the candidates were learned: estimated net values over the epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nacre.advice.record import DecisionRecord
from nacre.report.charts import LEFT, RIGHT
from nacre.report.evidence import Evidence
from nacre.report.sections.base import Context
from nacre.report.svg import Axis, element, fit_axis, line, picture, text
from nacre.report.templates import render
from nacre.report.text import clean

HEIGHT = 130.0
MOST_CURVES = 4


@dataclass(frozen=True)
class Learning:
    """Learning curves, and why learning ended."""

    name: str = "learning"

    def render(self, context: Context) -> Markup | None:
        """Nothing where nothing was learned in epochs."""
        evidence = context.evidence
        chart = draw_curves(evidence, context.record)
        if chart is None:
            return None
        reasons = zip(evidence.curve_names, evidence.stop_reasons, strict=False)
        return render(
            "sections/learning.html",
            chart=chart,
            reasons=[(clean(name), clean(reason)) for name, reason in reasons if reason][
                : context.drawing.most_notes
            ],
        )


def draw_curves(evidence: Evidence, record: DecisionRecord) -> Markup | None:
    """Estimated net value while learning; a dashed line is the old policy's value."""
    if not evidence.curves.size or not np.isfinite(evidence.curves).any():
        return None
    known = evidence.curves[np.isfinite(evidence.curves)]
    up = fit_axis([*map(float, known), record.old_value.mean], HEIGHT, 8.0)
    across = Axis(1.0, max(2.0, float(evidence.curves.shape[1])), LEFT + 34, RIGHT)
    parts = []
    for tick in up.ticks:
        y = up.place(tick)
        parts.append(line(across.first, y, RIGHT, y, "zero" if abs(tick) < 1e-12 else "grid"))
        parts.append(text(across.first - 5, y + 4, up.label(tick), anchor="end", class_="tick"))
    if record.old_value.mean is not None:
        y = up.place(record.old_value.mean)
        parts.append(line(across.first, y, RIGHT, y, "dashed old"))
    for index, values in enumerate(evidence.curves[:MOST_CURVES]):
        places = [
            (across.place(epoch + 1.0), up.place(float(value)))
            for epoch, value in enumerate(values)
            if np.isfinite(value)
        ]
        written = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
        kind = "new" if evidence.curve_names[index] == record.chosen else "other"
        parts.append(element("polyline", points=written, class_=f"curve {kind}"))
    ends = f"epochs 1 to {evidence.curves.shape[1]}"
    middle = (across.first + RIGHT) / 2
    parts.append(text(middle, HEIGHT + 16, ends, anchor="middle", class_="tick"))
    return picture("Estimated net value while learning", HEIGHT + 22, *parts)
