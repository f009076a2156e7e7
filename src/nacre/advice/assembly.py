"""From the results of the graph to an advice: the rule, the record, and the arrays of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacre.advice.entries import enter_finalists
from nacre.advice.further import describe_further
from nacre.advice.gathering import gather_evidence
from nacre.advice.notes import list_notes
from nacre.advice.old_value import value_old_policy
from nacre.advice.provenance import describe_origin
from nacre.advice.record import DecisionRecord
from nacre.advice.result import Advice
from nacre.advice.setting import Setting
from nacre.advice.tasks import list_inapplicable
from nacre.inference.evidence import Circumstances
from nacre.inference.rule import apply_rule


def build_advice(
    setting: Setting, results: Mapping[str, Any], execution: Mapping[str, Any], *, began: float
) -> Advice:
    """Decide, and write down what the decision rests on; "given" are the user's candidates."""
    config, finalists = setting.config, results["finalists"]
    evidence = [gather_evidence(setting, results, place) for place in range(len(finalists))]
    checks = results["log checks"]
    circumstances = Circumstances(
        config.confidence,
        results["split"].test.n_episodes,
        checks.reason,
        " ".join(checks.problems),
        config.look,
        config.looks,
        unit=setting.cost.terms.unit,
    )
    learned = [one for name, some in results.items() if name.startswith("learn ") for one in some]
    decision = apply_rule(config.rule, evidence, circumstances)
    old_value, returns = value_old_policy(setting, results)
    entries = enter_finalists(setting, results, evidence, decision, old_value)
    chosen = entries[decision.chosen]
    record = DecisionRecord(
        verdict=decision.verdict,
        probability=decision.probability,
        reason=decision.reason,
        remedy=decision.remedy,
        more_episodes=decision.more_episodes,
        net_gain=chosen.net_gain,
        old_value=old_value,
        new_value=chosen.value,
        cost=chosen.cost,
        break_even=chosen.break_even,
        chosen=chosen.name,
        basis=decision.basis,
        candidates=tuple(entries),
        log_checks=checks.as_json(),
        not_applicable=list_inapplicable(setting, results["split"]),
        forbidden=checks.reason,
        notes=list_notes(setting, results, learned),
        rule=config.rule.name,
        confidence_level=config.confidence,
        interval_level=decision.level,
        look=config.look,
        looks=config.looks,
        **describe_further(setting, results, decision, evidence),
        **describe_origin(setting, finalists[decision.chosen].policy, began, execution),
    )
    return Advice(
        record, finalists, setting.old_policy, decision.chosen, setting, tuple(learned), returns
    )
