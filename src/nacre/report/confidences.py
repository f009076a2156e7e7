"""Up to which confidence a switch is proven, at any weights: lower bounds at a ladder of levels.

The page's script has no quantiles. It is given lower bounds of each finalist's gain at a few
levels, the one that decides among them, and interpolates. So the confidence that it finds is above
the one asked for exactly where the lower bound that decides is above zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacre.advice.record import DecisionRecord
from nacre.inference.intervals import find_hull, find_quantile

STEPS = (
    *(0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.84, 0.88, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97),
    *(0.98, 0.985, 0.99, 0.993, 0.996, 0.998, 0.999),
)
"""Confidences of a whole decision."""


@dataclass(frozen=True)
class Ladder:
    """Lower bounds at rising confidences.

    Args:
        asked: The confidence that the decision was asked for.
        confidences: Of a whole decision, rising; `asked` is one of them.
        stretches: What a bound allows for the cost's error, as a multiple of that at `asked`.
        lows: For each finalist the lower bound of its gain before the cost at each confidence.
        caps: For each finalist the confidence up to which all its guardrails are proven.
    """

    asked: float
    confidences: tuple[float, ...]
    stretches: tuple[float, ...]
    lows: tuple[tuple[float, ...], ...]
    caps: tuple[float, ...]

    def find_confidence(self, finalist: int, cost: float, error: float) -> float:
        """Up to which confidence a switch is proven; the ends of the ladder beyond them.

        Args:
            finalist: Its place.
            cost: What it costs.
            error: What the bound at `asked` allows for the cost's error.
        """
        nets = [
            low - cost - stretch * error
            for low, stretch in zip(self.lows[finalist], self.stretches, strict=True)
        ]
        if not nets[0] > 0:
            return self.confidences[0]
        for step in range(1, len(nets)):
            if not nets[step] > 0:
                share = nets[step - 1] / (nets[step - 1] - nets[step])
                first, last = self.confidences[step - 1 : step + 1]
                return min(first + share * (last - first), self.caps[finalist])
        return self.caps[finalist]


def build_ladder(record: DecisionRecord) -> Ladder:
    """The ladder of a record's finalists."""
    asked = record.confidence_level
    # A bound at level 1 - e·share belongs to a decision with confidence 1 - e.
    share = (1.0 - record.interval_level) / (1.0 - asked)
    confidences = tuple(sorted({*STEPS, asked}))
    levels = [1.0 - share * (1.0 - one) for one in confidences]
    own = find_quantile(record.interval_level)
    evidence = [one.as_evidence() for one in record.candidates]
    caps = [
        min((one.find_probability(share) for one in some.guardrails), default=confidences[-1])
        for some in evidence
    ]
    return Ladder(
        asked,
        confidences,
        tuple(find_quantile(level) / own for level in levels),
        tuple(tuple(find_hull(one.estimates, level)[0] for level in levels) for one in evidence),
        tuple(min(max(cap, confidences[0]), confidences[-1]) for cap in caps),
    )
