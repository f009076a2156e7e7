"""All finalists side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.advice.record import CandidateEntry
from nacre.report.frontier import draw_frontier
from nacre.report.sections.base import Context
from nacre.report.sections.overlap import read_share
from nacre.report.templates import render
from nacre.report.text import clean

MOST_NOTES = 3


@dataclass(frozen=True)
class Candidates:
    """A table of the finalists."""

    name: str = "candidates"

    def render(self, context: Context) -> Markup:
        """Always there."""
        entries = context.record.candidates
        listed = entries[: context.drawing.most_listed]
        return render(
            "sections/candidates.html",
            rows=[(one, state_outside(one.overlap), _list_remarks(one)) for one in listed],
            chosen=context.chosen,
            verdict=context.record.verdict,
            more=len(entries) - len(listed),
            chart=draw_frontier(context),
            unit=context.unit,
        )


def state_outside(overlap: Mapping[str, Any]) -> str:
    """Which share of what a candidate does lies outside of the log."""
    # Format 1 knows only by how much a candidate exceeds the old policy.
    return read_share(overlap, "outside") or read_share(overlap, "excess") or "unknown"


def _list_remarks(entry: CandidateEntry) -> list[str]:
    notes = list(entry.notes[:MOST_NOTES])
    if isinstance(entry.overlap.get("note"), str) and entry.overlap["note"]:
        notes.append(entry.overlap["note"])
    if not any(one.informative for one in entry.estimates):
        notes.insert(0, "no estimator counts; cannot be chosen for a switch")
    if entry.broken:
        notes.insert(0, f"breaks a guardrail: {', '.join(entry.broken)}")
    elif not entry.held:
        open_ones = ", ".join(one.column for one in entry.guardrails if not one.held)
        notes.insert(0, f"a guardrail is not proven: {open_ones}")
    return [clean(note) for note in notes]
