"""What if we are wrong: what the answer assumes, what the log says of it, what would turn it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.inference.price import LEAST_MASS
from nacre.report.sections.base import Context
from nacre.report.sections.estimators import list_rows
from nacre.report.sections.overlap import read_share, state_penalty
from nacre.report.sections.prices import NAMES
from nacre.report.sentences import capitalise
from nacre.report.templates import render
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number, format_share


@dataclass(frozen=True)
class Assumption:
    """One thing that has to be true, and what is known about it."""

    assumed: str
    known: str


@dataclass(frozen=True)
class Assumptions:
    """A table of assumptions."""

    name: str = "assumptions"

    def render(self, context: Context) -> Markup:
        """Always there."""
        rows = [
            Assumption("The log was made by the old policy.", state_origin(context)),
            Assumption("The time to come is like the log.", state_drift(context)),
            Assumption("Nothing hidden moved both actions and rewards.", state_hidden(context)),
            Assumption("The log shows enough of what the candidate does.", state_outside(context)),
            Assumption("The estimators are right.", state_agreement(context)),
            Assumption("The cost is what cost.toml says.", state_cost(context)),
        ]
        return render("sections/assumptions.html", rows=[row for row in rows if row.known])


def state_origin(context: Context) -> str:
    """Whose log it is."""
    facts = _part(context, "on_policy")
    own = facts.get("own_share")
    if not isinstance(own, int | float) or isinstance(own, bool):
        return ""
    if own >= 1.0 and facts.get("on_policy") is not False:
        return "Checked: no episode contradicts it."
    return f"Checked: {format_share(float(own))} of the episodes agree with it."


def state_drift(context: Context) -> str:
    """Whether the log changes on its way."""
    facts = _part(context, "drift")
    found = facts.get("found")
    unseen = "What changes after the log ends, no log shows."
    if facts.get("tested") is False:
        return f"Not checked: the log is too short for it. {unseen}"
    if not isinstance(found, list | tuple):
        return ""
    if found:
        names = ", ".join(clean(one, 40) for one in found[:5])
        return f"Checked: earlier and later episodes differ ({names}). {unseen}"
    return f"Checked: earlier and later episodes do not differ. {unseen}"


def state_hidden(context: Context) -> str:
    """How strong hidden confounding would have to be."""
    said = context.record.confounding.get("text")
    always = "No log can show this."
    return f"{always} {capitalise(clean(said))}" if isinstance(said, str) and said else always


def state_outside(context: Context) -> str:
    """What the log could not show, and what is charged for it."""
    outside = read_share(context.chosen.overlap, "outside")
    if outside is None:
        return ""
    return (
        f"{outside[:1].upper()}{outside[1:]} of what it would do is not in the log. The charge for "
        "that, and for what else the estimates may miss, lowers the lower bound "
        f"{state_penalty(context)}."
    )


def state_agreement(context: Context) -> str:
    """How far the estimators that count lie apart."""
    rows = [one for one in list_rows(context.chosen, context.record.interval_level) if one.counts]
    gains = [row.interval.mean for row in rows if row.interval.mean is not None]
    if not gains:
        return "None counts: no number on this page is to be trusted."
    if len(gains) == 1:
        return "Only one counts, so no other one confirms it. Trust it less."
    spread = max(gains) - min(gains)
    low, high = (add_unit(format_number(n, spread), context.unit) for n in (min(gains), max(gains)))
    return f"{len(gains)} count; before the cost they say {low} to {high}."


def state_cost(context: Context) -> str:
    """By which factor a weight could grow before a switch is no longer proven."""
    prices, record = context.prices, context.record
    if record.verdict != "switch" or not prices.can_be_tried:
        return ""
    factors = []
    for index, name in enumerate(NAMES):
        today = prices.weights[index]
        end = prices.find_ends(index, prices.weights[1 - index]).proven
        moved = any(line.masses[index] >= LEAST_MASS for line in prices.lines)
        if moved and today > 0 and math.isfinite(end):
            factors.append(f"the {name} weight {format_number(end / today)} times as high")
    if not factors:
        return ""
    return f"The answer stays a switch up to {' or '.join(factors)}."


def _part(context: Context, name: str) -> Mapping[str, Any]:
    facts = context.record.log_checks.get(name)
    return facts if isinstance(facts, Mapping) else {}
