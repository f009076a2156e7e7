"""An advice with made-up figures: what is written, tracked and printed of it is known."""

from __future__ import annotations

from typing import Any

from nacre.advice.record import (
    BreakEvenEntry,
    CandidateEntry,
    Cost,
    DecisionRecord,
    EstimateEntry,
    Interval,
    PriceEntry,
    Value,
)
from nacre.advice.result import Advice
from nacre.advice.setting import Setting
from nacre.inference.price import find_price
from nacre.learners.base import Candidate
from tests.support.estimates import make_estimate
from tests.support.rooms import BEST, make_candidate, make_setting

LEVEL = 0.95


def make_entry(candidate: Candidate, setting: Setting, **changes: Any) -> CandidateEntry:
    """A finalist that gains 3 ± 0.5; its cost is the true one."""
    policies = setting.old_policy, candidate.policy
    breakdown = setting.cost.evaluate(*policies, setting.log, seed=0)
    price = find_price(setting.cost, breakdown, *policies, setting.log)
    entry = CandidateEntry(
        name=candidate.name,
        origin=candidate.origin,
        value=Value(mean=5.0, low=4.0, high=6.0, method="old value plus gain"),
        net_gain=Interval(mean=2.5, low=1.5, high=3.5),
        probability=0.97,
        cost=Cost.model_validate(breakdown.as_json()),
        price=PriceEntry.from_price(price),
        estimates=(EstimateEntry.from_estimate(make_estimate(3.0, 0.5), LEVEL),),
        break_even=BreakEvenEntry(learning_weight=5.0, transaction_weight=2.0),
        notes=("a note",),
    )
    return entry.model_copy(update=changes)


def make_advice(
    verdict: str = "switch",
    *candidates: Candidate,
    index: int = 0,
    setting: Setting | None = None,
    **changes: Any,
) -> Advice:
    """An advice about candidates of two rooms; `changes` are fields of its record."""
    setting = setting or make_setting()
    finalists = candidates or (make_candidate("mine", BEST),)
    entries = tuple(make_entry(one, setting) for one in finalists)
    chosen = entries[index]
    record = DecisionRecord(
        verdict=verdict,  # type: ignore[arg-type]
        probability=chosen.probability,
        reason="because",
        net_gain=chosen.net_gain,
        old_value=Value(mean=2.0, low=1.5, high=2.5, method="returns of the log"),
        new_value=chosen.value,
        cost=chosen.cost,
        break_even=chosen.break_even,
        chosen=chosen.name,
        basis=("fitted_q (model)",),
        candidates=entries,
        notes=("a remark",),
        log={"sha256": "abc", "transitions": 1500, "episodes": 30},
        policy={"sha256": "def"},
        seed=7,
    )
    return Advice(
        record.model_copy(update=changes), finalists, setting.old_policy, index, setting, finalists
    )
