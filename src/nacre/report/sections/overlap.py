"""What the log lacks: how far the candidate leaves it, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.advice.names import Names
from nacre.report.sections.base import Context
from nacre.report.sentences import capitalise
from nacre.report.templates import render
from nacre.report.terms import add_unit, read_unit
from nacre.report.text import clean, format_number, format_share

LONGEST_STATE = 120


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
            penalty=state_penalty(context),
            missing=list_missing(overlap, context.names)[: context.drawing.most_notes],
            note=capitalise(clean(note)) if isinstance(note, str) else "",
        )


def read_share(facts: Mapping[str, Any], name: str) -> str | None:
    """A share in words, or None where the record holds something else."""
    share = _read_number(facts, name)
    return None if share is None or not 0 <= share <= 1 else format_share(share)


def list_missing(
    overlap: Mapping[str, Any], names: Names | None = None
) -> list[tuple[str, str, str]]:
    """State, action and share of typical cases that the log does not hold."""
    called = names or Names()
    cases = overlap.get("missing")
    if not isinstance(cases, list | tuple):
        return []
    return [
        (
            clean(called.name_state(one.get("state")), LONGEST_STATE),
            clean(called.name_action(one.get("action")), LONGEST_STATE),
            read_share(one, "share") or "unknown",
        )
        for one in cases
        if isinstance(one, Mapping)
    ]


def state_penalty(context: Context) -> str:
    """By how much the largest penalty of an estimator that counts lowers the lower bound."""
    usable = [one for one in context.chosen.estimates if one.informative]
    penalties = [one.overlap_penalty for one in usable]
    if not penalties or any(penalty is None for penalty in penalties):
        return "without a limit"
    most = max(penalty for penalty in penalties if penalty is not None)
    if most == 0:
        return "by nothing"
    return f"by {add_unit(format_number(most), read_unit(context.record))}"


def _read_number(facts: Mapping[str, Any], name: str) -> float | None:
    number = facts.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number)
