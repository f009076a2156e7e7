"""What each part of the episodes gains: a row each."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import SegmentEntry
from nacre.report.sections.base import Context
from nacre.report.segments import name_column, state_shares
from nacre.report.sentences import capitalise, state_interval
from nacre.report.templates import render
from nacre.report.text import clean, format_level, format_share


@dataclass(frozen=True)
class Segments:
    """A row for each segment of the chosen finalist."""

    name: str = "segments"

    def render(self, context: Context) -> Markup | None:
        """Nothing where none were asked for."""
        entries = context.chosen.segments[: context.drawing.most_listed]
        if not entries:
            return None
        return render(
            "sections/segments.html",
            candidate=context.chosen.name,
            sentences=[capitalise(one) for one in state_shares(entries)],
            rows=[
                (
                    f"{name_column(one.column)}: {clean(one.label)}",
                    format_share(one.share),
                    _state_gain(one, context.unit),
                    one.answer,
                )
                for one in entries
            ],
            level=format_level(context.record.interval_level),
        )


def _state_gain(entry: SegmentEntry, unit: str) -> str:
    """With both bounds, or not at all."""
    if entry.gain.low is None or entry.gain.high is None:
        return f"not known: {clean(entry.reason)}" if entry.reason else "not known"
    return state_interval(entry.gain, unit)
