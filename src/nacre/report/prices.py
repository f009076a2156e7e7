"""The recorded evidence at other weights: the few numbers that the page's script is given.

For each finalist, at the level that decides,

    cost = fixed + c_l · learning_mass + c_t · transaction_mass
    low  = gain_low  - cost - (error_share · cost + error_fixed)
    high = gain_high - cost + (error_share · cost + error_fixed)

The line, its bounds and its limits are those of `nacre.inference.break_even`; the script has only
this arithmetic. Up to which confidence a switch is proven is found in `nacre.report.confidences`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from nacre.advice.record import DecisionRecord, finite
from nacre.inference.break_even import Limits, NetGainLine, draw_line, find_end
from nacre.inference.evidence import Evidence, Verdict
from nacre.inference.price import LEAST_MASS
from nacre.report.confidences import Ladder, build_ladder
from nacre.report.terms import read_unit
from nacre.report.text import clean

RULES = ("bounds", "paper")
"""Rules whose answer follows from these numbers."""
LONGEST_NAME = 80

Why = Literal["above", "below", "both", "other", "unknown", "forbidden", "guardrail", "ruled_out"]
"""Where the bounds lie: all above zero, all below it, on both sides; another finalist may gain; not
known; or the log allows no switch, wherever they lie. Or guardrails: a gain is proven but one of
them is not; a finalist that may gain breaks one."""


@dataclass(frozen=True)
class Tried:
    """The answer at some weights, and the finalist that it is about.

    `confidence` is the one up to which a switch is proven; None where bounds do not decide.
    """

    verdict: Verdict
    chosen: int
    cost: float
    mean: float
    low: float
    high: float
    why: Why
    confidence: float | None


@dataclass(frozen=True)
class Line(NetGainLine):
    """One finalist: its net gain at any cost, and its cost at any weights."""

    name: str
    learning_mass: float
    transaction_mass: float
    fixed: float

    def cost_at(self, learning_weight: float, transaction_weight: float) -> float:
        """The cost at these weights."""
        learning = learning_weight * self.learning_mass
        return self.fixed + learning + transaction_weight * self.transaction_mass

    @property
    def masses(self) -> tuple[float, float]:
        """What one unit of c_l and of c_t adds to the cost."""
        return self.learning_mass, self.transaction_mass


@dataclass(frozen=True)
class Prices:
    """All finalists, the recorded weights, and how the answer follows from the bounds.

    Args:
        lines: The finalists, in the order of the record.
        weights: The recorded c_l and c_t.
        rule: The name of the rule.
        forbidden: Whether the log allows no switch at all.
        ladder: Lower bounds at other levels; without it no confidence is known.
        unit: Of cost and gain, or nothing.
    """

    lines: tuple[Line, ...]
    weights: tuple[float, float]
    rule: str
    forbidden: bool
    ladder: Ladder | None = None
    unit: str = ""

    @property
    def can_be_tried(self) -> bool:
        """Whether other weights lead to another cost, and a rule that is known here decides."""
        return self.rule in RULES and any(max(line.masses) >= LEAST_MASS for line in self.lines)

    @property
    def has_two_weights(self) -> bool:
        """Whether c_t changes a cost, too."""
        return any(line.transaction_mass >= LEAST_MASS for line in self.lines)

    def decide_at(self, learning_weight: float, transaction_weight: float) -> Tried:
        """The answer at other weights; the page's script has the same lines."""
        costs = [line.cost_at(learning_weight, transaction_weight) for line in self.lines]
        found = [line.bounds_at(cost) for line, cost in zip(self.lines, costs, strict=True)]
        means = [-math.inf if math.isnan(mean) else mean for mean, _, _ in found]
        lows = [low for _, low, _ in found]
        gains = means if self.rule == "paper" else lows
        pool = self._find_pool(gains)
        proven = max(gains[place] for place in pool) > 0
        scores = gains if proven else means
        chosen = max(pool, key=lambda place: (scores[place], means[place]))
        ruled_out = not proven and (
            self.rule == "paper" or all(found[place][2] < 0 for place in pool)
        )
        verdict: Verdict = "undecided"
        if proven and self.lines[chosen].held and not self.forbidden:
            verdict = "switch"
        elif ruled_out or self.lines[chosen].broken:
            verdict = "keep"
        return Tried(
            verdict,
            chosen,
            costs[chosen],
            *found[chosen],
            self._explain(verdict, chosen, gains[chosen], *found[chosen]),
            self._find_confidence(chosen, costs[chosen]),
        )

    def _find_pool(self, gains: list[float]) -> list[int]:
        """Those that the answer is about: whose guardrails hold, if one gains; else are not broken.

        Where all finalists break one, it is about all of them.
        """
        every = range(len(self.lines))
        held = [place for place in every if self.lines[place].held]
        if any(gains[place] > 0 for place in held):
            return held
        return [place for place in every if not self.lines[place].broken] or list(every)

    def _explain(
        self, verdict: Verdict, chosen: int, gained: float, mean: float, low: float, high: float
    ) -> Why:
        """Where the bounds lie; for the rule of the paper, where the net gain itself lies."""
        if self.forbidden and verdict == "undecided":
            return "forbidden"
        if verdict == "undecided" and gained > 0 and not self.lines[chosen].held:
            return "guardrail"
        if verdict == "keep" and any(line.broken for line in self.lines):
            return "ruled_out"
        if self.rule == "paper":
            return "unknown" if math.isnan(mean) else "above" if mean > 0 else "below"
        if verdict != "undecided":
            return "above" if verdict == "switch" else "below"
        if not (math.isfinite(low) and math.isfinite(high)):
            return "unknown"
        return "other" if high < 0 else "both"

    def _find_confidence(self, chosen: int, cost: float) -> float | None:
        if self.rule != "bounds" or self.forbidden or self.ladder is None:
            return None
        line = self.lines[chosen]
        error = line.error_share * cost + line.error_fixed
        # An error of the cost that is not known leaves no bound at all.
        if not math.isfinite(line.gain_low):
            return self.ladder.confidences[0]
        return self.ladder.find_confidence(chosen, cost, error)

    def find_ends(self, weight: int, other: float) -> Limits:
        """Up to which weight a switch is proven, a gain expected, and one possible.

        Args:
            weight: 0 for c_l, 1 for c_t.
            other: The other weight, which is kept.
        """
        ends: dict[str, list[float]] = {"proven": [0.0], "expected": [0.0], "possible": [0.0]}
        for line in self.lines:
            mass, beside = line.masses[weight], line.masses[1 - weight]
            limits = self.limit(line)
            for kind, found in ends.items():
                spare = getattr(limits, kind) - line.fixed - other * beside
                found.append(_find_end(spare, mass))
        return Limits(*(max(found) for found in ends.values()))

    def limit(self, line: Line) -> Limits:
        """A line's limits as the rule sees them: one only where points decide."""
        limits = line.limits
        if self.rule == "paper":
            limits = Limits(limits.expected, limits.expected, limits.expected)
        return replace(limits, proven=-math.inf) if self.forbidden else limits

    def as_json(self) -> dict[str, Any]:
        """For the script; null stands for what is not known."""
        lines = [
            {name: _plain_value(value) for name, value in asdict(line).items()}
            for line in self.lines
        ]
        return {
            "rule": self.rule if self.rule in RULES else "",
            "forbidden": self.forbidden,
            "learning_weight": self.weights[0],
            "transaction_weight": self.weights[1],
            "lines": lines,
            "unit": self.unit,
            "ladder": None if self.ladder is None else _plain(asdict(self.ladder)),
        }


def build_prices(record: DecisionRecord) -> Prices:
    """What a record says of its finalists at other weights."""
    level, price = record.interval_level, record.candidates[0].price
    return Prices(
        tuple(find_line(one.name, one.as_evidence(), level) for one in record.candidates),
        (price.learning_weight, price.transaction_weight),
        record.rule,
        bool(record.forbidden),
        build_ladder(record),
        read_unit(record),
    )


def find_line(name: str, evidence: Evidence, level: float) -> Line:
    """One finalist's numbers at a one-sided level."""
    price = evidence.price
    return Line(
        **asdict(draw_line(evidence, level)),
        name=name,
        learning_mass=price.learning_mass,
        transaction_mass=price.transaction_mass,
        fixed=price.fixed,
    )


def _plain_value(value: str | bool | float) -> str | bool | float | None:
    if isinstance(value, str):
        return clean(value, LONGEST_NAME)
    return value if isinstance(value, bool) else finite(value)


def _plain(part: Any) -> Any:
    """Numbers that JSON can hold, and None for the others."""
    if isinstance(part, dict):
        return {name: _plain(one) for name, one in part.items()}
    return [_plain(one) for one in part] if isinstance(part, tuple) else finite(part)


def _find_end(spare: float, mass: float) -> float:
    """The weight at which what is to spare is used up: infinite where the weight moves nothing."""
    end = find_end(spare, mass)
    if end is None:
        return math.inf if spare > 0 else 0.0
    return end
