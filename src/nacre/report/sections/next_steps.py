"""What to do with the answer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import BY_RETURNS, DecisionRecord
from nacre.report.sections.base import Context
from nacre.report.sections.verdict import state_remedy
from nacre.report.templates import render
from nacre.report.terms import add_unit, read_unit
from nacre.report.text import clean, format_number, half_width


@dataclass(frozen=True)
class NextSteps:
    """A short list."""

    name: str = "next_steps"

    def render(self, context: Context) -> Markup:
        """Always there."""
        return render("sections/next_steps.html", steps=list_steps(context.record))


def list_steps(record: DecisionRecord) -> list[str]:
    """What follows from the verdict, in order."""
    if record.verdict == "switch":
        return [*_list_for_switch(record), "Keep the old policy at hand, to go back to it."]
    remedy = state_remedy(record)
    steps = ["Leave the old policy in force."]
    if remedy:
        steps.append(remedy)
    if record.verdict == "keep" and record.chosen_entry.broken:
        names = ", ".join(clean(one) for one in record.chosen_entry.broken)
        steps.append(f"Ask again with a candidate that does not make this worse: {names}.")
    elif record.verdict == "keep":
        steps.append("Ask again if the switch becomes cheaper; the map below says from where on.")
    else:
        steps.append("Then ask again with the longer log, with --look 2 and --looks 2.")
    return steps


def _list_for_switch(record: DecisionRecord) -> list[str]:
    missing = any(note.startswith("no new.safetensors") for note in record.notes)
    where = (
        "Put the new policy in place from where you have it: it could not be written as a file."
        if missing
        else "Take the new policy from policy/ beside this page; its README.md says how."
    )
    steps = [
        where,
        "Run it on a small share of the episodes first, and on all only if these go well.",
    ]
    value, episodes = record.new_value, record.value.get("episodes", 1.0)
    known = value.mean is not None and record.old_value.method == BY_RETURNS
    if known and isinstance(episodes, int | float) and episodes > 0:
        mean, low = value.mean, value.low
        spread = half_width(value.low, value.high)
        shown = format_number((mean or 0.0) / episodes, spread and spread / episodes)
        floor = "" if low is None else format_number(low / episodes, spread and spread / episodes)
        unit = read_unit(record)
        shown, floor = add_unit(shown, unit), floor and add_unit(floor, unit)
        more = f"; stop if it stays below {floor}" if floor else ""
        steps.append(f"Watch the mean discounted return of its episodes: about {shown}{more}.")
    if record.chosen_entry.guardrails:
        names = ", ".join(clean(one.column) for one in record.chosen_entry.guardrails)
        steps.append(f"Watch what the guardrails are about, too: {names}.")
    if clean(record.confounding.get("text", "")):
        steps.append(
            "If you can, let chance decide which episodes it gets: that rules out hidden causes."
        )
    return steps
