"""Guardrails in words: what an outcome is, how it changes, what is allowed, and the answer."""

from __future__ import annotations

from nacre.advice.record import CandidateEntry, GuardrailEntry
from nacre.report.sentences import state_interval
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number, format_share

LONGEST_UNIT = 24


def name_outcome(entry: GuardrailEntry) -> str:
    """The column, and which way is better."""
    return f"{clean(entry.column)} ({entry.better} is better)"


def state_old(entry: GuardrailEntry) -> str:
    """The old policy's outcome."""
    return add_unit(format_number(entry.old_value, entry.old_error), _clean_unit(entry))


def state_change(entry: GuardrailEntry) -> str:
    """The outcome's change in one episode, with its bounds."""
    return state_interval(entry.change, _clean_unit(entry))


def state_allowed(entry: GuardrailEntry) -> str:
    """What it may get worse by."""
    way = "more" if entry.better == "lower" else "less"
    unit = _clean_unit(entry)
    if entry.allowed is None:
        return f"not known, {way}"
    if entry.worst == 0.0:
        return f"not {way}"
    amount = add_unit(format_number(entry.allowed), unit)
    if not entry.relative:
        return f"{amount} {way}"
    return f"{amount} {way} ({format_share(entry.worst)})"


def state_answer(entry: GuardrailEntry) -> str:
    """Whether it holds."""
    if entry.held:
        return "holds"
    return "does not hold" if entry.broken else "not proven"


def state_guardrails(candidate: CandidateEntry) -> list[str]:
    """A line each, for terminals."""
    return [
        f"guardrail   {state_answer(one)}: {clean(one.column)} changes by {state_change(one)}, "
        f"allowed {state_allowed(one)}".replace("\u00a0", " ")
        for one in candidate.guardrails
    ]


def _clean_unit(entry: GuardrailEntry) -> str:
    return clean(entry.unit, LONGEST_UNIT)
