"""One finalist as the record holds it."""

from __future__ import annotations

import dataclasses
from typing import Any

from nacre.advice.charges import Charge
from nacre.advice.record import (
    BreakEvenEntry,
    CandidateEntry,
    Cost,
    EstimateEntry,
    Interval,
    PriceEntry,
    Value,
)
from nacre.advice.setting import Setting
from nacre.inference.break_even import find_break_even
from nacre.inference.evidence import Evidence
from nacre.inference.intervals import find_centre, find_hull
from nacre.inference.rule import Decision, find_probability
from nacre.learners.base import Candidate


def enter_finalist(
    candidate: Candidate,
    evidence: Evidence,
    charge: Charge,
    overlap: Any,
    decision: Decision,
    old_value: Value,
    setting: Setting,
) -> CandidateEntry:
    """One finalist as the record holds it."""
    level = decision.level
    low, high = evidence.bounds(level)
    worth = old_value.mean
    gain_low, gain_high = find_hull(evidence.estimates, level)
    gain = find_centre(evidence.estimates)
    gains = (gain, gain_low, gain_high)
    values = () if worth is None else (worth + one for one in gains)
    break_even = find_break_even(evidence, level)
    return CandidateEntry(
        name=candidate.name,
        origin=candidate.origin,
        value=Value.of(*values, method="old value plus gain"),
        net_gain=Interval.of(evidence.net_gain, low, high),
        probability=find_probability(evidence, setting.config.confidence, level),
        cost=Cost.model_validate(charge.breakdown.as_json()),
        price=PriceEntry.from_price(charge.price),
        estimates=tuple(EstimateEntry.from_estimate(one, level) for one in evidence.estimates),
        overlap=overlap.as_json(),
        break_even=BreakEvenEntry(**dataclasses.asdict(break_even)),
    )
