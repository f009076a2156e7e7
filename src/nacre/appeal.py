"""A second panel of judges, for gains that only the spread of the first one leaves unproven."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Executor

from nacre.advice import Estimate
from nacre.advice_config import AdviceConfig
from nacre.costs.family import SwitchingCost
from nacre.court import JUDGING_OLD, Court
from nacre.evaluation.behaviour import Behaviour
from nacre.evaluation.fitted import join_evaluations
from nacre.findings import Incumbent, Judged
from nacre.log import Log

AGAIN = "{} again"
NOTE = "judged by a second panel too, the first left it open"


def find_open(judged: Sequence[Judged], behaviour: Behaviour, config: AdviceConfig) -> list[int]:
    """Which candidates more judges could settle, where nothing is settled yet.

    Few judges know their own spread only so well. Who would be switched to if it was large by mere
    chance is heard again; who is doubted for another reason is not.
    """
    settled = config.rule != "bounds" or not behaviour.on_policy or not config.second_panel
    if settled or any(one.convinces(config.confidence) for one in judged):
        return []
    return [
        index
        for index, one in enumerate(judged)
        if one.assessment.trusted and one.assessment.gain.is_within_reach(config.confidence)
    ]


def hear_again(
    court: Court,
    judged: Sequence[Judged],
    incumbent: Incumbent,
    behaviour: Behaviour,
    cost: SwitchingCost,
    log: Log,
    threads: Executor,
) -> tuple[Incumbent, Estimate, list[Judged]]:
    """Let as many further critics judge the old policy and candidates; all judges count alike.

    Args:
        court: The first panel.
        judged: The candidates that are to be heard again.
        incumbent: The policy in force, by the first panel.
        behaviour: Whose log it is.
        cost: The price of the switch.
        log: The whole log.
        threads: Where policies are judged at the same time.
    """
    panel = court.next_panel()
    panel.prepare(incumbent.policy)
    policies = {JUDGING_OLD: incumbent.policy} | {
        f"judging {one.assessment.candidate.name}": one.assessment.candidate.policy
        for one in judged
    }
    waiting = [
        threads.submit(panel.evaluate, policy, AGAIN.format(stage))
        for stage, policy in policies.items()
    ]
    old, *further = (one.result() for one in waiting)
    both = join_evaluations(incumbent.evaluation, old)
    value, missed = court.value_old(log, behaviour, incumbent.policy, both)
    now = dataclasses.replace(incumbent, evaluation=both, missed=missed)
    found = []
    for one, new in zip(judged, further, strict=True):
        joined = join_evaluations(one.new, new)
        again = court.assess(one.assessment.candidate, joined, now, one.doubted, cost, log)
        notes = (*again.assessment.notes, NOTE)
        found.append(
            dataclasses.replace(
                again, assessment=dataclasses.replace(again.assessment, notes=notes)
            )
        )
    return now, value, found
