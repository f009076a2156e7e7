"""Further panels of judges, for gains that only the spread of the first leaves unproven."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Executor

from nacre.advice.config import AdviceConfig
from nacre.advice.court import JUDGING_OLD, Court
from nacre.advice.findings import Heard, Judged
from nacre.costs.family import SwitchingCost
from nacre.diagnostics.on_policy import Behaviour
from nacre.logs import Log
from nacre.training.fitted_evaluation import Evaluation, join_evaluations, steady

STEADY_EPOCHS = 3
"""Epochs over which judges of an appeal are averaged."""
NOTE = "judged by {} panels, the first left it open"


def find_open(judged: Sequence[Judged], behaviour: Behaviour, config: AdviceConfig) -> list[int]:
    """Which candidates more judges could settle, where nothing is settled yet.

    Few judges know their own spread only so well. Who would be switched to if it was large by mere
    chance is heard again; who is doubted for another reason is not, nor who has been heard by as
    many panels as there are.
    """
    settled = config.rule != "bounds" or not behaviour.on_policy
    if settled or any(one.convinces(config.confidence) for one in judged):
        return []
    most = config.panels * config.judges.critics.n_critics
    return [
        index
        for index, one in enumerate(judged)
        if one.assessment.trusted
        and len(one.new.per_critic) < most
        and one.assessment.gain.is_within_reach(config.confidence)
    ]


def settle(court: Court, heard: Heard, cost: SwitchingCost, log: Log, threads: Executor) -> Heard:
    """Let panel after panel judge what is left open, until nothing is or all have been heard.

    Args:
        court: The first panel.
        heard: What is known so far.
        cost: The price of the switch.
        log: The whole log.
        threads: Where policies are judged at the same time.
    """
    while left := find_open(heard.judged, heard.behaviour, court.config):
        heard = hear_again(court, heard, left, cost, log, threads)
    return heard


def hear_again(
    court: Court,
    heard: Heard,
    left: Sequence[int],
    cost: SwitchingCost,
    log: Log,
    threads: Executor,
) -> Heard:
    """Let a further panel judge the old policy and candidates; all judges count alike.

    It judges for as long as the panels before. Every judge, of those too, now counts with the mean
    of its last epochs.

    Args:
        court: The first panel.
        heard: What is known so far.
        left: Which candidates are to be heard again.
        cost: The price of the switch.
        log: The whole log.
        threads: Where policies are judged at the same time.
    """
    incumbent, judged = heard.incumbent, [heard.judged[index] for index in left]
    before = incumbent.evaluation
    number = 1 + len(before.per_critic) // court.config.judges.critics.n_critics
    panel = court.find_panel(number)
    candidates = [one.assessment.candidate for one in judged]
    policies = [incumbent.policy, *(one.policy for one in candidates)]
    stages = [JUDGING_OLD, *(f"judging {one.name}" for one in candidates)]
    stages = [f"{stage}, panel {number}" for stage in stages]
    judges = dataclasses.replace(court.config.judges, epochs=len(before.curve))
    court.report.extend(dict.fromkeys(stages, float(judges.epochs * judges.steps_per_epoch)))
    panel.prepare(incumbent.policy)
    waiting = [
        threads.submit(panel.evaluate, *one, judges) for one in zip(policies, stages, strict=True)
    ]
    old, *further = (one.result() for one in waiting)
    both = _join(before, old)
    value, missed = court.value_old(log, heard.behaviour, incumbent.policy, both)
    now = dataclasses.replace(incumbent, evaluation=both, missed=missed)
    all_judged = list(heard.judged)
    for index, one, new in zip(left, judged, further, strict=True):
        joined = _join(one.new, new)
        again = court.assess(one.assessment.candidate, joined, now, one.doubted, cost, log)
        notes = (*again.assessment.notes, NOTE.format(number))
        all_judged[index] = dataclasses.replace(
            again, assessment=dataclasses.replace(again.assessment, notes=notes)
        )
    return heard._replace(incumbent=now, old_value=value, judged=all_judged)


def _join(before: Evaluation, further: Evaluation) -> Evaluation:
    return join_evaluations(steady(before, STEADY_EPOCHS), steady(further, STEADY_EPOCHS))
