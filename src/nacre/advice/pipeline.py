"""The whole way: log → old value → candidates → evaluation → decision → advice."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike

from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.court import Court
from nacre.advice.findings import Judged
from nacre.advice.hearing import hear_all, plan_work
from nacre.advice.result import Advice, StartVerdict
from nacre.advice.school import School
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost, check_same_spaces
from nacre.diagnostics.on_policy import Behaviour
from nacre.errors import InputError
from nacre.inference.ruling import Circumstances, reach_verdict
from nacre.learners.net_actor_critic.run import Learned, check_fit
from nacre.learners.scale_noise import Candidate, calm_policy
from nacre.logs import Log
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.report import Evidence, examine_change
from nacre.training.fitted_evaluation import as_rows
from nacre.training.progress import Agenda, NoProgress, Progress
from nacre.versions import find_versions

LEAST_EPISODES = 4
MOST_STARTS = 100
"""Of more start states than this, no verdict is given for each."""


def advise(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: ArrayLike | None = None,
    *,
    config: AdviceConfig | None = None,
    candidates: Sequence[Candidate] = (),
    uncertainty: float = 0.0,
    seed: int = 0,
    reporter: Progress | None = None,
) -> Advice:
    """Should we replace the old policy, by what, and how sure is that?

    Args:
        log: Episodes of the old policy.
        old_policy: The policy in force.
        cost: The price of leaving it.
        start: The state or states that the next episode starts from; the log's own if not given.
        config: How advice is found.
        candidates: Policies of your own to be judged with the others.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions, where
            it is a clone of the log: `nacre.policies.find_uncertainty` of its provenance.
        seed: Everything random follows from it.
        reporter: Hears of every epoch of every stage.
    """
    began = time.perf_counter()
    config = config or suggest_config(log)
    check_fit(log, old_policy, cost)
    if log.n_episodes < LEAST_EPISODES:
        raise InputError(
            f"the log has {log.n_episodes} episodes; advice needs at least {LEAST_EPISODES}, some "
            "to learn from and others to judge by"
        )
    if not 0.0 <= uncertainty <= 1.0:
        raise InputError(f"uncertainty = {uncertainty}: a share lies between 0 and 1")
    _check_candidates(candidates, old_policy)
    rows = np.asarray(as_rows(log.starts if start is None else start, old_policy.signature))
    brought = [*candidates, *_calm(old_policy, config)]
    agenda = Agenda(reporter or NoProgress(), plan_work(config, brought))
    learning_log, judging_log = log.split(config.learning_share, seed=seed)
    court = Court(judging_log, rows, config, seed, agenda, uncertainty)
    school = School(learning_log, old_policy, cost, rows, config, seed, agenda)
    behaviour, incumbent, old_value, learned, judged = hear_all(court, school, log, brought)
    fitted_old_value = court.describe(incumbent.evaluation)
    assessments = tuple(one.assessment for one in judged)
    circumstances = Circumstances(
        config.confidence,
        log.n_episodes,
        fitted_old_value.mean,
        config.rule,
        behaviour.on_policy,
        behaviour.describe(),
    )
    judgement = reach_verdict(
        [one.gain for one in assessments],
        [one.value.mean for one in assessments],
        [one.trusted for one in assessments],
        circumstances,
    )
    chosen = judged[judgement.chosen]
    starts = [] if start is None else _judge_starts(court, chosen, old_policy, circumstances)
    evidence = _gather(court, chosen, old_policy, cost, log, behaviour, learned)
    record = {
        "log": {
            "sha256": log.fingerprint(),
            "transitions": len(log),
            "episodes": log.n_episodes,
        },
        "policy": {"sha256": fingerprint(old_policy), "uncertainty": uncertainty},
        "cost_model": describe_cost(cost),
        "config": config.as_json(),
        "confidence_level": config.confidence,
        "seed": seed,
        "versions": find_versions(),
        "wall_seconds": time.perf_counter() - began,
    }
    return Advice(
        judgement,
        assessments,
        old_policy,
        old_value,
        fitted_old_value,
        behaviour,
        config.confidence,
        record,
        _remark(behaviour, uncertainty),
        tuple(starts),
        evidence,
    )


def _remark(behaviour: Behaviour, uncertainty: float) -> tuple[str, ...]:
    """What has to be said of log and policy."""
    told = [behaviour.describe()]
    if uncertainty > 0:
        told.append(
            f"the old policy is a clone of the log: {uncertainty:.1%} of its probability may lie "
            "on the wrong actions, which the interval counts"
        )
    return tuple(told)


def _check_candidates(candidates: Sequence[Candidate], old_policy: Policy) -> None:
    """Before anything is learned: what the user brings has to fit."""
    problems = []
    for candidate in candidates:
        try:
            check_same_spaces(old_policy, candidate.policy)
        except InputError as error:
            problems += [f"candidate {candidate.name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)


def _calm(old_policy: Policy, config: AdviceConfig) -> list[Candidate]:
    """The old policy with less noise, where it has some."""
    found = []
    for factor in config.calm_factors:
        calmer = calm_policy(old_policy, factor)
        if calmer is not None:
            found.append(
                Candidate(
                    f"calm-{factor:g}",
                    calmer,
                    f"the old policy with {factor:g} of its noise",
                    searched=False,
                )
            )
    return found


def _judge_starts(
    court: Court,
    chosen: Judged,
    old_policy: Policy,
    circumstances: Circumstances,
) -> list[StartVerdict]:
    """The verdict for each of several start states: what pays from one may not from another."""
    states = np.unique(court.start, axis=0)
    if not 1 < len(states) <= MOST_STARTS:
        return []
    found = []
    for state in states:
        gain = court.gain_at(state, chosen, old_policy)
        known = float(np.mean(court.read(old_policy, chosen.old.critics, state)))
        here = dataclasses.replace(circumstances, old_value=known)
        values = [known + gain.mean + gain.cost]
        judgement = reach_verdict([gain], values, [chosen.assessment.trusted], here)
        found.append(StartVerdict(state, gain, judgement.verdict))
    return found


def _gather(
    court: Court,
    chosen: Judged,
    old_policy: Policy,
    cost: SwitchingCost,
    log: Log,
    behaviour: Behaviour,
    learned: dict[str, Learned],
) -> Evidence:
    """The arrays behind the decision, for the page."""
    new_policy = chosen.assessment.candidate.policy
    change = examine_change(
        old_policy,
        new_policy,
        cost,
        log,
        advantage=court.advantage(new_policy, old_policy, chosen.old),
        seed=court.seed,
    )
    histories = [[epoch.net_value for epoch in one.history] for one in learned.values()]
    curves = np.full((len(histories), max(map(len, histories), default=0)), np.nan)
    for row, history in zip(curves, histories, strict=True):
        row[: len(history)] = history
    return Evidence(
        returns=np.asarray(log.returns(court.config.learner.discount), float)[behaviour.own],
        old_members=chosen.old.per_critic,
        curve_names=tuple(learned),
        curves=curves,
        stop_reasons=tuple(one.stop_reason for one in learned.values()),
        **change.as_fields(),
    )
