"""What the switch to each finalist costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacre.advice.setting import Setting, Split
from nacre.costs.breakdown import CostBreakdown
from nacre.inference.price import Price, find_price
from nacre.learners.base import Candidate


@dataclass(frozen=True)
class Charge:
    """What the switch to one finalist costs."""

    breakdown: CostBreakdown
    price: Price


def charge_finalists(
    setting: Setting, *, split: Split, finalists: tuple[Candidate, ...], report: Any
) -> tuple[Charge, ...]:
    """The cost of each finalist, by all that the old policy did: costs need no held-out part."""
    found, log = [], setting.own
    for candidate in finalists:
        policies = split.old_policy, candidate.policy
        breakdown = setting.cost.evaluate(*policies, log, seed=setting.seed)
        price = find_price(
            setting.cost,
            breakdown,
            *policies,
            log,
            uncertainty=setting.uncertainty,
            seed=setting.seed,
        )
        found.append(Charge(breakdown, price))
    return tuple(found)
