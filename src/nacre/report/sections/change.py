"""Where the change happens: what both policies do in a few states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nacre.report.charts import RIGHT
from nacre.report.evidence import Evidence
from nacre.report.sections.base import Context
from nacre.report.svg import element, fit_text, line, picture, text
from nacre.report.templates import render
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number, format_share

ROW, LABEL = 30.0, 104.0


@dataclass(frozen=True)
class Change:
    """Action probabilities of both policies, state by state."""

    name: str = "change"

    def render(self, context: Context) -> Markup | None:
        """Nothing where no states were kept."""
        evidence = context.evidence
        if not (evidence.old_actions.size and evidence.new_actions.size):
            return None
        return render(
            "sections/change.html",
            concentration=state_concentration(evidence),
            states=[
                (
                    clean(name),
                    _state_cost(evidence, index, context.unit),
                    draw_state(evidence, index),
                )
                for index, name in enumerate(evidence.state_names)
            ],
        )


def state_concentration(evidence: Evidence) -> str | None:
    """How much of the cost lies in a tenth of the states."""
    shares = evidence.concentration
    if len(shares) < 3 or not np.isfinite(shares).all() or shares[-1] <= 0:
        return None
    steps = len(shares) - 1
    tenth = float(np.interp(0.1 * steps, np.arange(steps + 1), shares))
    return (
        "The tenth of the states with the highest switching cost has "
        f"{format_share(tenth)} of the whole cost."
    )


def draw_state(evidence: Evidence, index: int) -> Markup:
    """Action probabilities in one state, old above new."""
    parts = []
    for place, name in enumerate(evidence.action_names):
        y = ROW * place
        parts.append(text(LABEL - 6, y + 17, fit_text(clean(name), LABEL - 8), anchor="end"))
        for shift, kind, table in (
            (4, "old", evidence.old_actions),
            (14, "new", evidence.new_actions),
        ):
            share = float(np.clip(np.nan_to_num(table[index, place]), 0.0, 1.0))
            parts += _draw_bar(y + shift, share, kind)
    height = ROW * len(evidence.action_names)
    parts.append(line(LABEL, 0, LABEL, height, "axis"))
    name = clean(evidence.state_names[index])
    return picture(f"Actions of both policies, {name}", height + 4, *parts)


def _draw_bar(y: float, share: float, kind: str) -> list[Markup]:
    width = share * (RIGHT - LABEL - 44)
    return [
        element("rect", x=LABEL, y=y, width=max(width, 0.5), height=9.0, class_=f"{kind}-bar"),
        text(LABEL + width + 4, y + 9, format_share(share), class_=f"tick {kind}-text"),
    ]


def _state_cost(evidence: Evidence, index: int, unit: str) -> str | None:
    if not evidence.state_costs.size:
        return None
    return f"cost {add_unit(format_number(float(evidence.state_costs[index])), unit)}"
