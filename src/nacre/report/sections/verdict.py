"""The answer, in words: what to do, how sure that is, and what would settle it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import CandidateEntry, DecisionRecord, Interval
from nacre.report.sections.base import Context
from nacre.report.sentences import HEADLINES, capitalise, state_interval, state_level
from nacre.report.templates import render
from nacre.report.terms import (
    add_unit,
    read_unit,
    state_gain_per_episode,
    state_highest_cost,
    state_payback,
    state_span,
)
from nacre.report.text import (
    clean,
    format_bound,
    format_confidence,
    format_level,
    format_number,
    half_width,
    spell_numbers,
)

LONGEST_NAME = 60
LONGEST_REMEDY = 1000


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
            terms=[
                sentence
                for sentence in (
                    state_payback(record),
                    state_gain_per_episode(record),
                    state_highest_cost(context.line, record),
                )
                if sentence
            ],
            reason=capitalise(spell_numbers(clean(record.reason))),
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
    gain = add_unit(gain, read_unit(record)) + state_span(record)
    if record.verdict == "switch":
        return (
            f"Replace the old policy by {name}. After the switching cost it is expected to gain "
            f"{gain}."
        )
    if record.verdict == "keep":
        if mean is None:
            return "Keep the old policy: no tested candidate could be evaluated."
        return (
            f"Keep the old policy: {_rule_out(record)}. The best of them, "
            f"{name}, has a net gain of {gain}."
        )
    start = "Keep the old policy for now"
    if record.forbidden:
        return f"{start}: this log allows no switch."
    if mean is None:
        return f"{start}: this log cannot tell what {name} gains."
    if is_proven(record.net_gain) and not record.chosen_entry.held:
        return f"{start}: {name} is proven to gain, but not to keep to all guardrails."
    if mean > 0:
        expected = f"{name} is expected to gain {gain} after the switching cost"
        return f"{start}: {expected}, but this is not proven."
    other = find_possible(record)
    if other is not None:
        return (
            f"{start}: no gain is expected of any tested candidate, and {name} is ruled out, but "
            f"“{clean(other.name, LONGEST_NAME)}” may still gain: "
            f"{state_interval(other.net_gain, read_unit(record))}."
        )
    return f"{start}: no gain is expected of any tested candidate, but a gain is not ruled out."


def _rule_out(record: DecisionRecord) -> str:
    """Why no tested candidate is left."""
    broken = [bool(one.broken) for one in record.candidates]
    if all(broken):
        return "every tested candidate breaks a guardrail"
    which = (
        "no tested candidate that keeps to the guardrails" if any(broken) else "no tested candidate"
    )
    return f"{which} gains more than the switch costs"


def is_proven(net_gain: Interval) -> bool:
    """Whether its lower bound is above zero."""
    return net_gain.low is not None and net_gain.low > 0


def find_possible(record: DecisionRecord) -> CandidateEntry | None:
    """Where the chosen finalist cannot gain: another one that may, and leaves the answer open."""
    high = record.net_gain.high
    if high is None or high >= 0:
        return None
    others = (one for one in record.candidates if one is not record.chosen_entry and not one.broken)
    return next(
        (one for one in others if one.net_gain.high is None or one.net_gain.high >= 0), None
    )


def state_bounds(record: DecisionRecord) -> str:
    """The interval, and with which confidence it holds."""
    low, high = record.net_gain.low, record.net_gain.high
    spread = half_width(low, high)
    if spread is None:
        return "The log gives no bounds of the net gain."
    words = (
        f"The net gain lies between {_bound(low, record)} and {_bound(high, record)}: "
        f"{state_level(record)}."
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


def _bound(bound: float | None, record: DecisionRecord) -> str:
    spread = half_width(record.net_gain.low, record.net_gain.high)
    return add_unit(format_bound(bound, spread), read_unit(record))


def state_confidence(record: DecisionRecord) -> str | None:
    """The confidence at which this would just be a switch, where it agrees with the interval."""
    proven = is_proven(record.net_gain) and record.chosen_entry.held
    agrees = (record.probability > record.confidence_level) == proven
    if record.rule != "bounds" or record.forbidden or record.probability <= 0.5 or not agrees:
        return None
    most = format_confidence(record.probability, record.confidence_level)
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
