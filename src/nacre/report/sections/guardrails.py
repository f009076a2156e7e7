"""Further outcomes that the switch must not make worse by much: a row each."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.guardrails import (
    name_outcome,
    state_allowed,
    state_answer,
    state_change,
    state_old,
)
from nacre.report.sections.base import Context
from nacre.report.sentences import state_level
from nacre.report.templates import render


@dataclass(frozen=True)
class Guardrails:
    """A row for each guardrail of the chosen finalist."""

    name: str = "guardrails"

    def render(self, context: Context) -> Markup | None:
        """Nothing where there are none."""
        # Those that do not hold, or may not, come first.
        entries = sorted(context.chosen.guardrails, key=lambda one: one.held)
        entries = entries[: context.drawing.most_listed]
        if not entries:
            return None
        return render(
            "sections/guardrails.html",
            candidate=context.chosen.name,
            rows=[
                (
                    name_outcome(one),
                    state_old(one),
                    state_change(one),
                    state_allowed(one),
                    state_answer(one),
                )
                for one in entries
            ],
            level=state_level(context.record),
        )
