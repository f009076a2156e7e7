"""What a record says beyond the decision: the user's terms, risk, and hidden confounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.advice.confounding import describe_confounding
from nacre.advice.own_terms import describe_value
from nacre.advice.risk import describe_risk
from nacre.advice.segments import describe_segments, enter_segments
from nacre.advice.setting import Setting
from nacre.inference.evidence import Evidence
from nacre.inference.intervals import find_hull
from nacre.inference.rule import Decision
from nacre.logs.acting import select_own


def describe_further(
    setting: Setting, results: Mapping[str, Any], decision: Decision, evidence: Sequence[Evidence]
) -> dict[str, Any]:
    """Fields of the record."""
    split, chosen = results["split"], evidence[decision.chosen]
    # Both are about the old policy's own episodes.
    test = select_own(split.test)
    policies = split.old_policy, results["finalists"][decision.chosen].policy
    discount, terms = setting.config.discount, setting.cost.terms
    segments = enter_segments(setting, results, decision.chosen, decision.level)
    further: dict[str, Any] = {
        "value": describe_value(terms, chosen, decision.level),
        "risk": describe_risk(test, *policies, discount, decision.level)
        | describe_segments(segments),
    }
    # Only a switch can be turned into something worse.
    if decision.verdict == "switch":
        further["confounding"] = describe_confounding(
            test,
            *policies,
            discount,
            low=find_hull(chosen.estimates, decision.level)[0] / terms.episodes,
            cost=chosen.price.total / terms.episodes,
        )
    return further
