"""A last candidate where only the price stands against the others: one that moves less.

What is learned is proposed with part of its noise, and whoever takes noise away moves mass between
the groups. Where switching is cheap that is worth it. Where the price eats the gain, a policy is
learned that begins as the old one itself and not as a copy of it, is held closer to it, and keeps
all of its noise: its price was counted at every step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Executor

from nacre.advice.config import AdviceConfig, Lesson
from nacre.advice.court import JUDGING_OLD, Court
from nacre.advice.findings import Heard, Judged
from nacre.advice.school import STAGES, School
from nacre.diagnostics.on_policy import Behaviour
from nacre.inference.gain import Gain
from nacre.logs import Log

REASON = "because only the price stood against the others"


def find_thrift(
    judged: Sequence[Judged], behaviour: Behaviour, config: AdviceConfig
) -> Lesson | None:
    """The last lesson, if only the price stands against the candidates.

    Nobody is expected to gain after the price, and somebody has proven to gain before it, as far as
    the spread of the judges goes.
    """
    lesson = config.thrift
    if lesson is None or lesson in config.lessons or not config.lessons:
        return None
    if config.rule != "bounds" or not behaviour.on_policy:
        return None
    gains = [one.assessment.gain for one in judged if one.assessment.trusted]
    dear = all(gain.mean <= 0 for gain in gains)
    return lesson if dear and any(_gains_for_free(one, config) for one in gains) else None


def _gains_for_free(gain: Gain, config: AdviceConfig) -> bool:
    free = dataclasses.replace(gain, cost=0.0, cost_error=0.0, pessimistic=None)
    return free.bound(config.confidence) > 0


def hear_thrifty(
    court: Court,
    school: School,
    lesson: Lesson,
    heard: Heard,
    log: Log,
    threads: Executor,
) -> Heard:
    """Learn the last lesson, and let patient judges say what it and the old policy are worth.

    Candidates that were searched for are doubted: critics agree where nothing checks them. Here
    weighted episodes may check them, and then the worst to be feared is what those prove.

    Args:
        court: The first panel.
        school: Where it is learned.
        lesson: The last one.
        heard: What is known so far.
        log: The whole log.
        threads: Where things are done at the same time.

    Returns:
        What is known then; the old policy is the one that the patient judges know.
    """
    config, incumbent = court.config, heard.incumbent
    judges = dataclasses.replace(config.judges, epochs=config.patience * config.judges.epochs)
    learning, judging, doubting = (f"{stage} {lesson.name}" for stage in STAGES)
    again = f"{JUDGING_OLD}, for longer"
    patient = float(judges.epochs * judges.steps_per_epoch)
    court.report.extend(
        {
            learning: float(config.learner.epochs * config.learner.steps_per_epoch),
            again: patient,
            judging: patient,
            doubting: patient / config.patience if config.doubt_share > 0 else 0.0,
        }
    )
    hearing = threads.submit(court.evaluate, incumbent.policy, again, judges)
    # Not from the copy: what it misses of the old policy is mass that is moved for nothing.
    learned = threads.submit(school.learn, lesson, None).result()
    curves = heard.learned | {lesson.name: learned}
    if not learned.healthy:
        court.report.finish(judging, doubting)
        return heard._replace(learned=curves)
    candidate = school.propose(lesson, learned, noise=1.0)
    candidate = dataclasses.replace(candidate, origin=f"{candidate.origin}, {REASON}")
    new = threads.submit(court.evaluate, candidate.policy, judging, judges)
    worst = threads.submit(court.doubt, candidate, incumbent.policy, log)
    old = hearing.result()
    value, missed = court.value_old(log, heard.behaviour, incumbent.policy, old)
    now = dataclasses.replace(incumbent, evaluation=old, missed=missed)
    doubted = dataclasses.replace(worst.result(), checked=True)
    found = court.assess(candidate, new.result(), now, doubted, school.cost, log)
    return Heard(heard.behaviour, now, value, curves, [*heard.judged, found])
