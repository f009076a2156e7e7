"""The answer, in words: what to do, how sure that is, and what would settle it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import DecisionRecord
from nacre.report.sections.base import Context
from nacre.report.sentences import HEADLINES, capitalise, state_level
from nacre.report.templates import render
from nacre.report.text import clean, format_level, format_number, format_percent, half_width

LONGEST_NAME = 60
LONGEST_REMEDY = 1000
HIGHEST = 0.999
"""No higher confidence is told as a number."""


@dataclass(frozen=True)
class Verdict:
    """The first thing on the page."""

    name: str = "verdict"

    def render(self, context: Context) -> Markup:
        """Always there."""
        record = context.record
        return render(
            "sections/verdict.html",
            verdict=record.verdict,
            headline=HEADLINES[record.verdict],
            answer=state_verdict(record),
            reason=capitalise(clean(record.reason)),
            remedy=state_remedy(record),
            interval=state_bounds(record),
            confidence=state_confidence(record),
            basis=state_basis(record),
            notes=context.chosen.notes[: context.drawing.most_notes],
        )


def state_verdict(record: DecisionRecord) -> str:
    """What to do, in one or two sentences."""
    name = f"“{clean(record.chosen, LONGEST_NAME)}”"
    mean = record.net_gain.mean
    gain = format_number(mean, half_width(record.net_gain.low, record.net_gain.high))
    if record.verdict == "switch":
        return (
            f"Replace the old policy by {name}. After the switching cost it is expected to gain "
            f"{gain}."
        )
    if record.verdict == "keep":
        if mean is None:
            return "Keep the old policy: no candidate could be evaluated."
        return (
            "Keep the old policy: no candidate gains more than the switch costs. The best of them, "
            f"{name}, has a net gain of {gain}."
        )
    start = "Keep the old policy for now"
    if record.forbidden:
        return f"{start}: this log allows no switch."
    if mean is None:
        return f"{start}: this log cannot tell what {name} gains."
    if mean > 0:
        expected = f"{name} is expected to gain {gain} after the switching cost"
        return f"{start}: {expected}, but this is not proven."
    return f"{start}: no gain is expected of any candidate, but a gain is not ruled out."


def state_bounds(record: DecisionRecord) -> str:
    """The interval, and with which confidence it holds."""
    low, high = record.net_gain.low, record.net_gain.high
    spread = half_width(low, high)
    if spread is None:
        return "The log gives no bounds of the net gain."
    words = (
        f"The net gain lies between {format_number(low, spread)} and "
        f"{format_number(high, spread)}: {state_level(record)}."
    )
    if record.interval_level > record.confidence_level + 1e-9:
        shared = "finalists" if len(record.candidates) > 1 else "looks at the log"
        words += (
            f" The whole decision has {format_level(record.confidence_level)} confidence, "
            f"shared by all {shared}."
        )
    if record.rule == "paper":
        words += (
            " The rule of the paper decides by the net gain in one number, not by these bounds."
        )
    return words


def state_confidence(record: DecisionRecord) -> str | None:
    """The confidence at which this would just be a switch, where it agrees with the interval."""
    proven = record.net_gain.low is not None and record.net_gain.low > 0
    agrees = (record.probability > record.confidence_level) == proven
    if record.rule != "bounds" or record.forbidden or record.probability <= 0.5 or not agrees:
        return None
    surest = record.probability > HIGHEST
    most = f"{format_level(HIGHEST)} and more" if surest else format_percent(record.probability)
    return (
        f"It would be a switch at any confidence up to {most}; "
        f"{format_level(record.confidence_level)} was asked for."
    )


def state_remedy(record: DecisionRecord) -> str | None:
    """What would settle an answer that is open."""
    if record.verdict == "switch":
        return None
    if record.remedy:
        return capitalise(clean(record.remedy, LONGEST_REMEDY))
    if record.more_episodes is not None:
        return f"About {record.more_episodes:,} further episodes could settle it."
    return None


def state_basis(record: DecisionRecord) -> str | None:
    """Which estimators count."""
    if not record.basis:
        return None
    names = ", ".join(clean(one, LONGEST_NAME) for one in record.basis[:10])
    only = " Only one estimator counts: no other one confirms it." if len(record.basis) == 1 else ""
    return f"Estimators that count: {names}.{only}"
