"""What the log lacks: how far the candidate leaves it, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.report.sections.base import Context
from nacre.report.sentences import capitalise
from nacre.report.templates import render
from nacre.report.text import clean, format_number, format_share

LONGEST_STATE = 120
COORDINATES = 6


@dataclass(frozen=True)
class Overlap:
    """Shares outside of the log, and typical states and actions that are missing in it."""

    name: str = "overlap"

    def render(self, context: Context) -> Markup | None:
        """Nothing where the record does not say it: format 1 does not."""
        overlap = context.chosen.overlap
        shares = [read_share(overlap, name) for name in ("outside", "outside_old")]
        if None in shares:
            return None
        note = overlap.get("note")
        return render(
            "sections/overlap.html",
            candidate=clean(context.chosen.name),
            outside=shares[0],
            outside_old=shares[1],
            penalty=_read_penalty(overlap),
            missing=list_missing(overlap)[: context.drawing.most_notes],
            note=capitalise(clean(note)) if isinstance(note, str) else "",
        )


def read_share(facts: Mapping[str, Any], name: str) -> str | None:
    """A share in words, or None where the record holds something else."""
    share = _read_number(facts, name)
    return None if share is None or not 0 <= share <= 1 else format_share(share)


def list_missing(overlap: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """State, action and share of typical cases that the log does not hold."""
    cases = overlap.get("missing")
    if not isinstance(cases, list | tuple):
        return []
    return [
        (_word(one.get("state")), _word(one.get("action")), read_share(one, "share") or "unknown")
        for one in cases
        if isinstance(one, Mapping)
    ]


def _read_penalty(overlap: Mapping[str, Any]) -> str:
    penalty = _read_number(overlap, "penalty")
    return "without a limit" if penalty is None else f"by {format_number(penalty)}"


def _read_number(facts: Mapping[str, Any], name: str) -> float | None:
    number = facts.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number)


def _word(value: Any) -> str:
    if isinstance(value, list | tuple):
        shown = ", ".join(_word(one) for one in value[:COORDINATES])
        return clean(f"({shown}{', …' if len(value) > COORDINATES else ''})", LONGEST_STATE)
    return f"{value:.3g}" if isinstance(value, float) else clean(value, LONGEST_STATE)
