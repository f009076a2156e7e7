"""What the rule sees of a finalist, out of the results of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nacre.advice.guardrails import Outcome
from nacre.advice.own_terms import scale_estimate
from nacre.advice.plan import name_guardrail
from nacre.advice.setting import Setting
from nacre.advice.tasks import charge_discount, charge_overlap
from nacre.diagnostics.overlap import Overlap
from nacre.estimators.base import Estimate
from nacre.inference.evidence import Evidence
from nacre.logs import Log


def gather_evidence(setting: Setting, results: Mapping[str, Any], place: int) -> Evidence:
    """What every estimator says of one finalist, less what lies outside of the log.

    Over all episodes of the horizon, as the cost is paid for all of them; guardrails are about one
    episode.
    """
    overlap, episodes = results[f"overlap {place}"], setting.cost.terms.episodes
    guardrails = []
    for number in range(len(setting.cost.terms.guardrails)):
        name = name_guardrail(number)
        outcome: Outcome = results[name]
        adapted = outcome.adapt(overlap)
        charged = _charge(setting, results, place, adapted, outcome.test, f"{name} ")
        guardrails.append(outcome.as_evidence(charged))
    charged = _charge(setting, results, place, overlap, results["split"].test)
    return Evidence(
        tuple(scale_estimate(one, episodes) for one in charged),
        results["costs"][place].price,
        tuple(guardrails),
    )


def _charge(
    setting: Setting,
    results: Mapping[str, Any],
    place: int,
    overlap: Overlap,
    test: Log,
    prefix: str = "",
) -> Iterator[Estimate]:
    for estimator in setting.config.estimators:
        estimate = results[f"{prefix}estimate {estimator.name} {place}"]
        if estimate is not None:
            yield charge_discount(setting, charge_overlap(estimate, estimator, overlap), test)
