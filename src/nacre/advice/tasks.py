"""The tasks of the advice graph: each a pure function of plain inputs, none waits for another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nacre.advice.setting import Setting, Split
from nacre.diagnostics import log_checks
from nacre.diagnostics.log_checks import LogChecks
from nacre.diagnostics.overlap import Overlap, measure_overlap
from nacre.estimators.base import Estimate, Estimator, Problem
from nacre.estimators.fitted_q import FittedQ
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.inference.intervals import find_centre
from nacre.learners.base import Candidate, Learner, LearningProblem
from nacre.logs import Log
from nacre.training.progress import Progress, ProgressEvent

MOST_FINALISTS = 3
"""Candidates that compete on the test part: each one more costs power."""
RANKING: tuple[Estimator, ...] = (Tabular(), OneStep(), FittedQ(sets=2, sizes=(128,)))
"""The first that applies puts the candidates in order; the test part is judged by others."""


def check_log(setting: Setting, *, report: Any) -> LogChecks:
    """Whether the log is what it is taken for."""
    return log_checks.check_log(
        setting.log, setting.old_policy, setting.config.checks, seed=setting.seed
    )


def split_log(setting: Setting, *, checks: LogChecks, report: Any) -> Split:
    """Whole episodes, once; repeated ones count once, so that none lands in both parts.

    Foreign episodes are left out. Where too few are left, or most are foreign, no switch is
    possible: then the log is split as it is, to have numbers at all.
    """
    keep = checks.find_usable()
    whole = checks.forbids_switch or len(keep) == setting.log.n_episodes
    log = setting.log if whole else setting.log.select(keep)
    parts = log.split(setting.config.learning_share, seed=setting.seed)
    return Split(*parts, checks.old_policy)


def find_overlap(
    setting: Setting,
    number: int,
    *,
    split: Split,
    finalists: tuple[Candidate, ...],
    report: Any,
) -> Overlap | None:
    """How much of what a finalist does lies outside of the test part."""
    if number >= len(finalists):
        return None
    return measure_overlap(
        setting.key(f"overlap {finalists[number].name}"),
        split.test,
        split.old_policy,
        finalists[number].policy,
        setting.find_start(split.test),
        setting.config.discount,
    )


def learn_candidates(
    setting: Setting, learner: Learner, *, split: Split, report: Progress
) -> tuple[Candidate, ...]:
    """What one learner proposes; it starts from the policy as given, without exploration."""
    problem = LearningProblem(
        split.learning,
        setting.old_policy,
        setting.cost,
        setting.find_start(split.learning),
        setting.config.discount,
    )
    if learner.applies(problem):
        return ()

    def tell(event: ProgressEvent) -> None:
        report(dataclasses.replace(event, stage=f"{event.stage}: {learner.name}"))

    return tuple(learner.learn(setting.key(learner.name), problem, tell))


def choose_finalists(
    setting: Setting, given: Sequence[Candidate], *, split: Split, report: Any, **learned: Any
) -> tuple[Candidate, ...]:
    """At most three candidates, by their net value on the learning part; the old policy if none.

    Nothing here sees the test part. Up to three are not compared at all.
    """
    candidates = [*given, *(one for some in learned.values() for one in some)]
    if not candidates:
        return (Candidate("unchanged", split.old_policy, "nothing else was found"),)
    if len(candidates) <= MOST_FINALISTS:
        return tuple(candidates)
    problem = _pose(setting, split, split.learning)
    usable = [one for one in RANKING if not one.applies(problem)]
    if not usable:
        # Nobody can tell them apart: those of the user first, then in the order of the learners.
        return tuple(candidates[:MOST_FINALISTS])
    estimator = usable[0]
    prepared = estimator.prepare(setting.key("rank"), problem, lambda share: None)
    scores = []
    for number, candidate in enumerate(candidates):
        estimate = estimator.estimate(
            setting.key(f"rank {candidate.name}"),
            problem,
            prepared,
            candidate.policy,
            lambda share: None,
        )
        cost = setting.cost.evaluate(
            split.old_policy, candidate.policy, split.learning, seed=setting.seed
        )
        scores.append(find_centre([estimate]) - estimate.overlap_penalty - cost.total)
        report(_count("ranking candidates", number, len(candidates)))
    order = np.argsort([-np.inf if np.isnan(score) else score for score in scores])[::-1]
    best = sorted(int(index) for index in order[:MOST_FINALISTS])
    return tuple(candidates[index] for index in best)


def prepare_estimator(
    setting: Setting, estimator: Estimator, *, split: Split, report: Callable[[ProgressEvent], None]
) -> Any:
    """What an estimator does once for all finalists; None where it does not apply."""
    problem = _pose(setting, split, split.test)
    if estimator.applies(problem):
        return None
    name = f"{estimator.name}: old policy"
    return estimator.prepare(setting.key(estimator.name), problem, _as_share(report, name))


def estimate_gain(
    setting: Setting,
    estimator: Estimator,
    number: int,
    *,
    split: Split,
    finalists: tuple[Candidate, ...],
    prepared: Any,
    report: Callable[[ProgressEvent], None],
) -> Estimate | None:
    """What one estimator says of one finalist; None if it does not apply, or nobody is there."""
    problem = _pose(setting, split, split.test)
    if number >= len(finalists) or estimator.applies(problem):
        return None
    candidate = finalists[number]
    name = f"{estimator.name}: {candidate.name}"
    return estimator.estimate(
        setting.key(f"{estimator.name} {candidate.name}"),
        problem,
        prepared,
        candidate.policy,
        _as_share(report, name),
    )


def list_inapplicable(setting: Setting, split: Split) -> dict[str, str]:
    """Estimators that have nothing to say about such a log, and why."""
    problem = _pose(setting, split, split.test)
    reasons = {one.name: one.applies(problem) for one in setting.config.estimators}
    return {name: reason for name, reason in reasons.items() if reason}


def charge_overlap(estimate: Estimate, estimator: Estimator, overlap: Overlap) -> Estimate:
    """What lies outside of the log, charged on every estimator that extrapolates."""
    if not estimator.extrapolates or not estimate.informative:
        return estimate
    penalty, allowance = overlap.charge(estimate.gain)
    return dataclasses.replace(estimate, overlap_penalty=penalty, overlap_allowance=allowance)


def _pose(setting: Setting, split: Split, log: Log) -> Problem:
    return Problem(log, split.old_policy, setting.find_start(log), setting.config.discount)


def _as_share(report: Callable[[ProgressEvent], None], name: str) -> Callable[[float], None]:
    """Shares of work as events that people see."""

    def tell(share: float) -> None:
        report(ProgressEvent(name, max(0, round(100 * share) - 1), 100, 0))

    return tell


def _count(name: str, number: int, total: int) -> ProgressEvent:
    return ProgressEvent(name, number, total, 0)
