"""One finalist as the record holds it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from nacre.advice.charges import Charge
from nacre.advice.record import (
    BreakEvenEntry,
    CandidateEntry,
    Cost,
    EstimateEntry,
    GuardrailEntry,
    Interval,
    PriceEntry,
    SegmentEntry,
    Value,
    finite,
)
from nacre.advice.segments import enter_segments
from nacre.advice.setting import Setting
from nacre.inference.break_even import find_break_even
from nacre.inference.evidence import Evidence
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.intervals import find_centre
from nacre.inference.rule import Decision, find_probability
from nacre.learners.base import Candidate


def enter_finalists(
    setting: Setting,
    results: Mapping[str, Any],
    evidence: Sequence[Evidence],
    decision: Decision,
    old_value: Value,
) -> list[CandidateEntry]:
    """All finalists, out of the results of the graph."""
    parts = zip(results["finalists"], evidence, results["costs"], strict=True)
    return [
        enter_finalist(
            candidate,
            one,
            charge,
            results[f"overlap {place}"],
            decision,
            old_value,
            setting,
            enter_segments(setting, results, place, decision.level),
        )
        for place, (candidate, one, charge) in enumerate(parts)
    ]


def enter_finalist(
    candidate: Candidate,
    evidence: Evidence,
    charge: Charge,
    overlap: Any,
    decision: Decision,
    old_value: Value,
    setting: Setting,
    segments: tuple[SegmentEntry, ...] = (),
) -> CandidateEntry:
    """One finalist as the record holds it."""
    level = decision.level
    low, high = evidence.bounds(level)
    worth = old_value.mean
    gain_low, gain_high = evidence.gain_bounds(level)
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
        guardrails=tuple(enter_guardrail(one, evidence, level) for one in evidence.guardrails),
        segments=segments,
        overlap=overlap.as_json(),
        break_even=BreakEvenEntry(**dataclasses.asdict(break_even)),
    )


def enter_guardrail(
    guardrail: GuardrailEvidence, evidence: Evidence, level: float
) -> GuardrailEntry:
    """One guardrail of a finalist; the outcome's change in its own sign."""
    low, _ = guardrail.gain_bounds(level)
    _, high = guardrail.gain_bounds(evidence.share_level(level))
    sign = guardrail.terms.sign
    first, last = sorted((sign * low, sign * high))
    return GuardrailEntry(
        **guardrail.terms.as_json(),
        old_value=finite(guardrail.old_mean),
        old_error=finite(guardrail.old_error),
        change=Interval.of(sign * guardrail.gain, first, last),
        allowed=guardrail.allowed(level)[0],
        held=guardrail not in evidence.find_unproven(level),
        broken=guardrail in evidence.find_broken(level),
        estimates=tuple(EstimateEntry.from_estimate(one, level) for one in guardrail.estimates),
    )
