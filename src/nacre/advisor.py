"""The whole way: log → old value → candidates → evaluation → decision → advice."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike

from nacre.advice import Advice, Estimate, StartVerdict
from nacre.advice_config import AdviceConfig, Lesson, suggest_config
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost, check_same_spaces
from nacre.court import Court
from nacre.decision.ruling import Circumstances, reach_verdict
from nacre.engines import open_threads, wait_for_all
from nacre.errors import InputError
from nacre.evaluation.behaviour import Behaviour, examine_behaviour
from nacre.evaluation.fitted import Evaluation, as_rows
from nacre.findings import Doubted, Incumbent, Judged
from nacre.learning.progress import Agenda, Reporter, Silent, Tick
from nacre.learning.proposals import Candidate, calm_policy
from nacre.learning.run import Learned, check_fit
from nacre.log import Log
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.report import Evidence, examine_change
from nacre.school import COPYING, School
from nacre.versions import find_versions

EXAMINING = "examining the log"
JUDGING_OLD = "judging the old policy"
STAGES = ("learning", "judging", "doubting")
"""What a learned candidate goes through."""
COMPILING = 2500.0
"""Updates of critics that could be done while a stage is compiled, about."""
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
    reporter: Reporter | None = None,
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
    agenda = Agenda(reporter or Silent(), _plan_work(config, brought))
    learning_log, judging_log = log.split(config.learning_share, seed=seed)
    court = Court(judging_log, rows, config, seed, agenda, uncertainty)
    school = School(learning_log, old_policy, cost, rows, config, seed, agenda)
    behaviour, old, old_value, learned, judged = _hear_all(court, school, log, brought)
    assessments = tuple(one.assessment for one in judged)
    circumstances = Circumstances(
        config.confidence,
        log.n_episodes,
        court.describe(old).mean,
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
    starts = [] if start is None else _judge_starts(court, chosen, old_policy, old, circumstances)
    evidence = _gather(court, chosen, old_policy, old, cost, log, behaviour, learned)
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
        court.describe(old),
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


def _plan_work(config: AdviceConfig, brought: Sequence[Candidate]) -> dict[str, float]:
    """How much work every stage is, about, in updates of critics."""
    learner, judges = config.learner, config.judges
    learning = learner.prefit_steps + learner.epochs * learner.steps_per_epoch
    judging = judges.epochs * judges.steps_per_epoch
    names = [lesson.name for lesson in config.lessons]
    stages = {"judging": judging, "doubting": judging if config.doubt_share > 0 else 0}
    return {
        EXAMINING: 0.4 * COMPILING,
        COPYING: COMPILING if names else 0.0,
        JUDGING_OLD: COMPILING + judges.prefit_steps + judging,
        **{f"learning {name}": 0.5 * COMPILING + learning for name in names},
        **{
            f"{stage} {name}": float(work)
            for name in [*(one.name for one in brought), *names]
            for stage, work in stages.items()
        },
    }


class Heard(NamedTuple):
    """Whose log it is, the old policy by critics and its value, what was learned, candidates."""

    behaviour: Behaviour
    old: Evaluation
    old_value: Estimate
    learned: dict[str, Learned]
    judged: list[Judged]


def _hear_all(court: Court, school: School, log: Log, brought: Sequence[Candidate]) -> Heard:
    """Judge the old policy, learn, judge candidates: at the same time where there are processors.

    Nothing depends on what is done when: the same numbers come out of any number of threads.
    """
    old_policy, agenda, config = school.old_policy, school.agenda, school.config

    def examine() -> Behaviour:
        behaviour = examine_behaviour(log, old_policy)
        agenda(Tick(EXAMINING, 0, 1, 0))
        return behaviour

    def hear_old() -> tuple[Incumbent, Estimate]:
        old, behaviour = court.evaluate(old_policy, JUDGING_OLD), behaving.result()
        value, missed = court.value_old(log, behaviour, old_policy, old)
        return Incumbent(old_policy, old, missed, behaviour.on_policy), value

    def doubt(candidate: Candidate) -> Doubted:
        # What is prepared for the old policy serves the others.
        hearing.result()
        found = court.doubt(candidate, old_policy, log)
        agenda.finish(f"doubting {candidate.name}")
        return found

    def assess(candidate: Candidate, doubting: Future[Doubted]) -> Judged:
        incumbent, _ = hearing.result()
        new = court.evaluate(candidate.policy, f"judging {candidate.name}")
        agenda.finish(f"judging {candidate.name}")
        return court.assess(candidate, new, incumbent, doubting.result(), school.cost, log)

    def teach(lesson: Lesson) -> Learned | None:
        if any(_convinces(judging[one].result(), config) for one in config.find_earlier(lesson)):
            agenda.finish(*(f"{stage} {lesson.name}" for stage in STAGES))
            return None
        return school.learn(lesson, first.result())

    def propose(lesson: Lesson) -> Candidate | None:
        learned = learning[lesson].result()
        # Who broke down on the way is not proposed.
        if learned is None or not learned.healthy:
            return None
        return school.propose(lesson, learned)

    def doubt_learned(lesson: Lesson) -> Doubted | None:
        candidate = propose(lesson)
        return None if candidate is None else doubt(candidate)

    def assess_learned(lesson: Lesson) -> Judged | None:
        candidate = propose(lesson)
        return None if candidate is None else assess(candidate, doubting[lesson])

    with open_threads(agenda.stop) as pool:
        # In this order nothing waits for what comes after it.
        behaving = pool.submit(examine)
        first = pool.submit(school.find_first)
        hearing = pool.submit(hear_old)
        later = [lesson for lesson in config.lessons if config.find_earlier(lesson)]
        learning = {
            lesson: pool.submit(teach, lesson) for lesson in config.lessons if lesson not in later
        }
        assessing: list[Future[Any]] = [
            pool.submit(assess, one, pool.submit(doubt, one)) for one in brought
        ]
        doubting: dict[Lesson, Future[Any]] = {}
        judging: dict[Lesson, Future[Judged | None]] = {}
        for lesson in [*learning, *later]:
            if lesson in later:
                learning[lesson] = pool.submit(teach, lesson)
            doubting[lesson] = pool.submit(doubt_learned, lesson)
            judging[lesson] = pool.submit(assess_learned, lesson)
        assessing += [judging[lesson] for lesson in config.lessons]
        wait_for_all([behaving, hearing, first, *learning.values(), *doubting.values(), *assessing])
        judged = [one.result() for one in assessing]
        if not any(judged):
            same = Candidate("unchanged", old_policy, "the old policy; nothing else was found")
            judged = [assess(same, pool.submit(doubt, same))]
    taught = {lesson.name: learning[lesson].result() for lesson in config.lessons}
    learned = {name: one for name, one in taught.items() if one is not None}
    incumbent, value = hearing.result()
    proposed = [one for one in judged if one is not None]
    return Heard(behaving.result(), incumbent.evaluation, value, learned, proposed)


def _convinces(judged: Judged | None, config: AdviceConfig) -> bool:
    """Whether a candidate would be switched to."""
    if judged is None or not judged.assessment.trusted:
        return False
    return judged.assessment.gain.bound(config.confidence) > 0


def _judge_starts(
    court: Court,
    chosen: Judged,
    old_policy: Policy,
    old: Evaluation,
    circumstances: Circumstances,
) -> list[StartVerdict]:
    """The verdict for each of several start states: what pays from one may not from another."""
    states = np.unique(court.start, axis=0)
    if not 1 < len(states) <= MOST_STARTS:
        return []
    found = []
    for state in states:
        gain = court.gain_at(state, chosen, old_policy, old)
        known = float(np.mean(court.read(old_policy, old.critics, state)))
        here = dataclasses.replace(circumstances, old_value=known)
        values = [known + gain.mean + gain.cost]
        judgement = reach_verdict([gain], values, [chosen.assessment.trusted], here)
        found.append(StartVerdict(state, gain, judgement.verdict))
    return found


def _gather(
    court: Court,
    chosen: Judged,
    old_policy: Policy,
    old: Evaluation,
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
        advantage=court.advantage(new_policy, old_policy, old),
        seed=court.seed,
    )
    histories = [[epoch.net_value for epoch in one.history] for one in learned.values()]
    curves = np.full((len(histories), max(map(len, histories), default=0)), np.nan)
    for row, history in zip(curves, histories, strict=True):
        row[: len(history)] = history
    return Evidence(
        returns=np.asarray(log.returns(court.config.learner.discount), float)[behaviour.own],
        old_members=old.per_critic,
        curve_names=tuple(learned),
        curves=curves,
        stop_reasons=tuple(one.stop_reason for one in learned.values()),
        **change.as_fields(),
    )
