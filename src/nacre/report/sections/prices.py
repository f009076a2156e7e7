"""Try other weights of the cost: sliders, and the map of where the answer changes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nacre.inference.break_even import Limits
from nacre.inference.price import LEAST_MASS
from nacre.report.charts import LEFT, RIGHT, draw_tried
from nacre.report.price_map import FRAME, draw_map, find_reach
from nacre.report.prices import Prices
from nacre.report.sections.base import Context
from nacre.report.sentences import HEADLINES
from nacre.report.svg import Axis
from nacre.report.templates import render
from nacre.report.terms import add_unit
from nacre.report.text import format_number

NAMES = ("learning", "transaction")
REASONS = {
    "above": "The lower bound of the net gain is above zero.",
    "below": "The upper bounds of all tested candidates are below zero.",
    "both": "The bounds lie on both sides of zero.",
    "other": "The upper bound of this candidate is below zero, but another one may still gain.",
    "unknown": "The log gives no bounds of the net gain.",
    "forbidden": "This log allows no switch at any weight; see the checks of the log.",
    "guardrail": "The net gain is proven, but not that all guardrails hold; see the guardrails.",
    "ruled_out": "Every tested candidate has an upper bound below zero, or breaks a guardrail.",
}
POINTS = REASONS | {
    "above": "The net gain is above zero; the rule compares point estimates.",
    "below": "The net gain is not above zero; the rule compares point estimates.",
    "unknown": "No tested candidate could be evaluated.",
    "guardrail": "A net gain is expected, but not all guardrails are proven; see the guardrails.",
    "ruled_out": "Every tested candidate is expected to gain nothing, or breaks a guardrail.",
}
TOLERANCE = 1e-4
"""As a share of the interval: recorded and tried bounds that differ less are the same."""


@dataclass(frozen=True)
class OtherPrices:
    """The map and the sliders."""

    name: str = "prices"

    def render(self, context: Context) -> Markup:
        """Sliders only where the cost is linear in its weights and the rule is known here."""
        prices = context.prices
        tryable = prices.can_be_tried
        reach = find_reach(prices) if tryable else None
        return render(
            "sections/prices.html",
            sentences=state_break_even(prices) if tryable else [],
            map_chart=draw_map(prices, reach) if reach is not None else None,
            tried_chart=draw_tried(find_axis(prices)),
            reach=reach,
            weights=prices.weights,
            unit=prices.unit,
            two_weights=prices.has_two_weights,
            points=prices.rule == "paper",
            asked=None if prices.ladder is None else prices.ladder.asked,
            shows_confidence=prices.rule == "bounds" and not prices.forbidden,
            differs=tryable and not agrees(context),
        )


def describe_for_script(prices: Prices) -> dict[str, Any]:
    """All that the page's script is given."""
    document = prices.as_json()
    if not prices.can_be_tried:
        return document
    return document | {
        "headlines": HEADLINES,
        "reasons": POINTS if prices.rule == "paper" else REASONS,
        "reach": dataclasses.asdict(find_reach(prices)),
        "map": FRAME,
        "interval_axis": dataclasses.asdict(find_axis(prices)),
    }


def find_axis(prices: Prices) -> Axis:
    """Room for the net gain from no cost at all to one as large as all that could be gained."""
    highs = [abs(line.gain_high) for line in prices.lines if math.isfinite(line.gain_high)]
    most = max(highs, default=1.0) or 1.0
    return Axis(-most, most, LEFT, RIGHT)


def agrees(context: Context) -> bool:
    """Whether the record's own bounds are found at its own weights; not so for older records."""
    tried, recorded = context.prices.decide_at(*context.prices.weights), context.record.net_gain
    if tried.verdict != context.record.verdict:
        return False
    if recorded.low is None or recorded.high is None:
        return not (math.isfinite(tried.low) and math.isfinite(tried.high))
    room = TOLERANCE * max(abs(recorded.high - recorded.low), 1e-9)
    return abs(tried.low - recorded.low) <= room and abs(tried.high - recorded.high) <= room


def state_break_even(prices: Prices) -> list[str]:
    """Up to which weights the answer holds, one sentence for each weight."""
    sentences = []
    for index, name in enumerate(NAMES):
        if not any(line.masses[index] >= LEAST_MASS for line in prices.lines):
            continue
        ends = prices.find_ends(index, prices.weights[1 - index])
        sentences.append(
            f"Break-even of the {name} weight, now "
            f"{add_unit(format_number(prices.weights[index]), prices.unit)}, the other weight "
            f"kept: {_word_ends(ends, prices.unit)}."
        )
    return sentences


def _word_ends(ends: Limits, unit: str) -> str:
    parts: list[str] = []
    for verdict, end, before in (
        ("switch", ends.proven, 0.0),
        ("undecided", ends.possible, ends.proven),
    ):
        if math.isinf(end):
            return ", ".join([*parts, f"{verdict} at any {'higher ' if parts else ''}weight"])
        if end > before:
            parts.append(f"{verdict} up to {add_unit(format_number(end), unit)}")
    words = ", ".join([*parts, "keep beyond that"]) if parts else "keep at any weight"
    if ends.proven < ends.expected < ends.possible and math.isfinite(ends.expected):
        zero = add_unit(format_number(ends.expected), unit)
        words += f"; the expected net gain is zero at {zero}"
    return words
