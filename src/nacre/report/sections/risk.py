"""How bad an episode may be: the lower end of its returns, old and new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.advice.record import Interval, finite
from nacre.report.sections.base import Context
from nacre.report.sentences import capitalise, state_interval, state_level
from nacre.report.templates import render
from nacre.report.text import UNKNOWN, clean, format_share

FIGURES = {
    "median": "half of the episodes stay below",
    "quantile": "{share} of the episodes stay below",
    "tail_mean": "mean of the worst {share} (CVaR)",
}


@dataclass(frozen=True)
class Risk:
    """A row for each figure."""

    name: str = "risk"

    def render(self, context: Context) -> Markup | None:
        """Nothing where the record does not say it."""
        risk = context.record.risk
        share = risk.get("share")
        if not isinstance(risk.get("old"), Mapping) or not isinstance(share, float):
            return None
        words = format_share(share)
        return render(
            "sections/risk.html",
            rows=[
                (
                    text.format(share=words),
                    read_figure(risk, "old", key, context.unit),
                    read_figure(risk, "new", key, context.unit),
                )
                for key, text in FIGURES.items()
            ],
            reason=capitalise(clean(risk.get("reason", ""))),
            level=state_level(context.record),
        )


def read_figure(risk: Mapping[str, Any], policy: str, name: str, unit: str = "") -> str:
    """One figure with its bounds, or that it is not known."""
    part = risk.get(policy)
    figure = part.get(name) if isinstance(part, Mapping) else None
    if not isinstance(figure, Mapping):
        return UNKNOWN
    numbers = [figure.get(end) for end in ("mean", "low", "high")]
    if not all(one is None or isinstance(one, float) for one in numbers):
        return UNKNOWN
    return state_interval(Interval.of(*(finite(one) for one in numbers)), unit)
