"""Everything that is found out before the verdict, in the order in which nobody waits in vain."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from nacre.advice.appeal import settle
from nacre.advice.config import AdviceConfig, Lesson
from nacre.advice.court import JUDGING_OLD, Court
from nacre.advice.findings import Doubted, Heard, Incumbent, Judged
from nacre.advice.result import Estimate
from nacre.advice.school import COPYING, STAGES, School
from nacre.advice.thrift import find_thrift, hear_thrifty
from nacre.diagnostics.on_policy import Behaviour, examine_behaviour
from nacre.learners.net_actor_critic.run import Learned
from nacre.learners.scale_noise import Candidate
from nacre.logs import Log
from nacre.parallel.local import open_threads, wait_for_all
from nacre.training.fitted_evaluation import Evaluation
from nacre.training.progress import ProgressEvent

EXAMINING = "examining the log"
COMPILING = 2500.0
"""Updates of critics that could be done while a stage is compiled, about."""


def plan_work(config: AdviceConfig, brought: Sequence[Candidate]) -> dict[str, float]:
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


class _Case:
    """A candidate, if one is found, and what is to be found out about it."""

    doubting: Future[Doubted | None]
    judging: Future[Evaluation | None]
    assessing: Future[Judged | None]

    def __init__(self, find: Callable[[], Candidate | None]) -> None:
        self.find = find


def _same(candidate: Candidate) -> Candidate:
    """One who need not be found."""
    return candidate


def hear_all(court: Court, school: School, log: Log, brought: Sequence[Candidate]) -> Heard:
    """Judge the old policy, learn, judge candidates: at the same time where there are processors.

    Nothing depends on what is done when: the same numbers come out of any number of threads.
    """
    old_policy, agenda, config = school.old_policy, school.agenda, school.config

    def examine() -> Behaviour:
        behaviour = examine_behaviour(log, old_policy)
        agenda(ProgressEvent(EXAMINING, 0, 1, 0))
        return behaviour

    def hear_old() -> tuple[Incumbent, Estimate]:
        old, behaviour = court.evaluate(old_policy, JUDGING_OLD), behaving.result()
        value, missed = court.value_old(log, behaviour, old_policy, old)
        return Incumbent(old_policy, old, missed, behaviour.on_policy), value

    def doubt(case: _Case) -> Doubted | None:
        # What is prepared for the old policy serves the others.
        candidate, _ = case.find(), hearing.result()
        if candidate is None:
            return None
        found = court.doubt(candidate, old_policy, log)
        agenda.finish(f"doubting {candidate.name}")
        return found

    def judge(case: _Case) -> Evaluation | None:
        candidate, _ = case.find(), hearing.result()
        if candidate is None:
            return None
        found = court.evaluate(candidate.policy, f"judging {candidate.name}")
        agenda.finish(f"judging {candidate.name}")
        return found

    def assess(case: _Case) -> Judged | None:
        candidate, new, doubted = case.find(), case.judging.result(), case.doubting.result()
        if candidate is None or new is None or doubted is None:
            return None
        return court.assess(candidate, new, hearing.result()[0], doubted, school.cost, log)

    def teach(lesson: Lesson) -> Learned | None:
        earlier = [lessons[one].assessing.result() for one in config.find_earlier(lesson)]
        if any(one is not None and one.convinces(config.confidence) for one in earlier):
            agenda.finish(*(f"{stage} {lesson.name}" for stage in STAGES))
            return None
        return school.learn(lesson, first.result())

    def propose(lesson: Lesson) -> Candidate | None:
        learned = learning[lesson].result()
        # Who broke down on the way is not proposed.
        if learned is None or not learned.healthy:
            return None
        return school.propose(lesson, learned)

    def open_case(find: Callable[[], Candidate | None]) -> _Case:
        case = _Case(find)
        case.doubting, case.judging = pool.submit(doubt, case), pool.submit(judge, case)
        return case

    def close(*cases: _Case) -> None:
        for case in cases:
            case.assessing = pool.submit(assess, case)

    with open_threads(agenda.stop) as pool:
        # In this order nothing waits for what comes after it.
        behaving = pool.submit(examine)
        first = pool.submit(school.find_first)
        hearing = pool.submit(hear_old)
        later = [lesson for lesson in config.lessons if config.find_earlier(lesson)]
        learning = {
            lesson: pool.submit(teach, lesson) for lesson in config.lessons if lesson not in later
        }
        # What is short comes after what is long, so that no processor waits in the end.
        cases = [open_case(functools.partial(_same, one)) for one in brought]
        lessons = {one: open_case(functools.partial(propose, one)) for one in learning}
        close(*cases, *lessons.values())
        for lesson in later:
            learning[lesson] = pool.submit(teach, lesson)
            lessons[lesson] = open_case(functools.partial(propose, lesson))
            close(lessons[lesson])
        cases += [lessons[lesson] for lesson in config.lessons]
        tasks = [task for case in cases for task in (case.doubting, case.judging, case.assessing)]
        wait_for_all([behaving, hearing, first, *learning.values(), *tasks])
        behaviour, (incumbent, value) = behaving.result(), hearing.result()
        judged = [one for case in cases if (one := case.assessing.result()) is not None]
        if not judged:
            same = Candidate("unchanged", old_policy, "the old policy; nothing else was found")
            alone = open_case(functools.partial(_same, same))
            judged = [one for one in [assess(alone)] if one is not None]
        found = {lesson.name: learning[lesson].result() for lesson in config.lessons}
        learned = {name: one for name, one in found.items() if one is not None}
        heard = Heard(behaviour, incumbent, value, learned, judged)
        heard = settle(court, heard, school.cost, log, pool)
        last = find_thrift(heard.judged, behaviour, config)
        if last is not None:
            heard = hear_thrifty(court, school, last, heard, log, pool)
            heard = settle(court, heard, school.cost, log, pool)
    return heard
