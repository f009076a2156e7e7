"""The tasks of the advice graph: each a pure function of plain inputs, none waits for another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nacre.advice.config import find_discounted
from nacre.advice.setting import Setting, Split
from nacre.diagnostics import log_checks
from nacre.diagnostics.log_checks import LogChecks
from nacre.diagnostics.overlap import Overlap, OverlapMeter
from nacre.estimators.base import Estimate, Estimator, Problem
from nacre.learners.base import Candidate, Learner, LearningProblem
from nacre.logs import Log
from nacre.logs.acting import select_own
from nacre.logs.division import divide_episodes
from nacre.training.progress import Progress, ProgressEvent


def check_log(setting: Setting, *, report: Any) -> LogChecks:
    """Whether the log is what it is taken for."""
    return log_checks.check_log(
        setting.log,
        setting.old_policy,
        setting.config.checks,
        seed=setting.seed,
        acting=setting.acting,
        uncertainty=setting.uncertainty,
    )


def split_log(setting: Setting, *, checks: LogChecks, report: Any) -> Split:
    """Whole episodes, once; repeated ones count once, so that none lands in both parts.

    Foreign episodes are left out. Where too few are left, or most are foreign, no switch is
    possible: then the log is split as it is, to have numbers at all. What an earlier advice was
    about is split as it was then, and what came later by itself.
    """
    keep, share = np.asarray(checks.find_usable(), np.int64), setting.config.learning_share
    if checks.forbids_switch:
        keep = np.arange(setting.log.n_episodes)
    parts = [keep[keep < setting.earlier], keep[keep >= setting.earlier]]
    divided = [
        [part[some] for some in divide_episodes(len(part), share, seed=setting.seed)]
        for part in parts
        if len(part) > 1
    ]
    first, second = (np.concatenate(some) for some in zip(*divided, strict=True))
    return Split.take(setting.log, (first, second), checks.old_policy)


def prepare_overlap(setting: Setting, *, split: Split, report: Any) -> OverlapMeter:
    """The test part's states and actions by distance, and the old policy's walk through them."""
    return _make_meter(setting, split, split.test)


def find_overlap(
    setting: Setting,
    number: int,
    *,
    finalists: tuple[Candidate, ...],
    meter: OverlapMeter,
    report: Any,
) -> Overlap | None:
    """How much of what a finalist does lies outside of the test part."""
    return meter.measure(finalists[number].policy) if number < len(finalists) else None


def pose_learning(setting: Setting, *, split: Split, report: Any) -> LearningProblem:
    """What all learners are given; they start from the policy as given, without exploration."""
    return LearningProblem(
        split.learning,
        setting.old_policy,
        setting.cost.per_episode(),
        setting.find_start(split.learning),
        setting.config.discount,
        setting.seed,
        setting.acting,
    )


def learn_candidates(
    setting: Setting, learner: Learner, *, problem: LearningProblem, report: Progress
) -> tuple[Candidate, ...]:
    """What one learner proposes."""
    if learner.applies(problem):
        return ()

    def tell(event: ProgressEvent) -> None:
        report(dataclasses.replace(event, stage=f"{event.stage}: {learner.name}"))

    return tuple(learner.learn(setting.key(learner.name), problem, tell))


def prepare_estimator(
    setting: Setting, estimator: Estimator, *, split: Split, report: Callable[[ProgressEvent], None]
) -> Any:
    """What an estimator does once for all finalists; None where it does not apply."""
    problem = _pose(setting, split, estimator)
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
    problem = _pose(setting, split, estimator)
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


def draw_gains(
    setting: Setting, estimator: Estimator, candidate: Candidate, *, split: Split, prepared: Any
) -> Any:
    """(B,) gains of a candidate in each of an estimator's worlds; None where it has no worlds."""
    draw = getattr(estimator, "draw_gains", None)
    if draw is None or prepared is None:
        return None
    key = setting.key(f"{estimator.name} {candidate.name}")
    return draw(key, _pose(setting, split, estimator), prepared, candidate.policy)


def estimate_candidates(
    setting: Setting,
    split: Split,
    candidates: tuple[Candidate, ...],
    overlaps: Sequence[Overlap],
    *,
    report: Callable[[ProgressEvent], None] = lambda event: None,
    tell: Callable[[str], None] = lambda text: None,
    see: Callable[[Estimator, Any, int, Estimate], None] = lambda *found: None,
) -> list[list[Estimate]]:
    """Of every candidate what every estimator says, less what is charged; one after the other.

    Args:
        setting: The setting.
        split: Its test part is estimated from.
        candidates: Candidates.
        overlaps: How much of each lies outside of the test part.
        report: Hears of each estimator's progress.
        tell: Hears which estimator begins, in words.
        see: Sees each estimate before charges: who says so, what it prepared, and the place.
    """
    estimates: list[list[Estimate]] = [[] for _ in candidates]
    for estimator in setting.config.estimators:
        tell(f"estimating by {estimator.name}")
        prepared = prepare_estimator(setting, estimator, split=split, report=report)
        for place, overlap in enumerate(overlaps):
            found = estimate_gain(
                setting,
                estimator,
                place,
                split=split,
                finalists=candidates,
                prepared=prepared,
                report=report,
            )
            if found is not None:
                see(estimator, prepared, place, found)
                charged = charge_overlap(found, estimator, overlap)
                estimates[place].append(charge_discount(setting, charged, split.test))
    return estimates


def list_inapplicable(setting: Setting, split: Split) -> dict[str, str]:
    """Estimators that have nothing to say about such a log, and why."""
    reasons = {
        one.name: one.applies(_pose(setting, split, one)) for one in setting.config.estimators
    }
    return {name: reason for name, reason in reasons.items() if reason}


def charge_overlap(estimate: Estimate, estimator: Estimator, overlap: Overlap) -> Estimate:
    """What lies outside of the log, charged on every estimator that extrapolates."""
    if not estimator.extrapolates or not estimate.informative:
        return estimate
    penalty, allowance = overlap.charge(estimate.gain)
    return dataclasses.replace(estimate, overlap_penalty=penalty, overlap_allowance=allowance)


def charge_discount(setting: Setting, estimate: Estimate, log: Log) -> Estimate:
    """What a discount near one takes away, where it stands for γ = 1: once for each policy."""
    if not setting.undiscounted:
        return estimate
    room = 2.0 * find_discounted(log, setting.config.discount)
    return dataclasses.replace(
        estimate,
        overlap_penalty=estimate.overlap_penalty + room,
        overlap_allowance=estimate.allowance + room,
    )


def _pose(setting: Setting, split: Split, estimator: Estimator) -> Problem:
    """The test part; only the old policy's episodes for estimators that know of no others."""
    log, acting = split.test, setting.acting
    if acting and not getattr(estimator, "several_policies", False):
        log, acting = select_own(log), ()
    return Problem(log, split.old_policy, setting.find_start(log), setting.config.discount, acting)


def _make_meter(setting: Setting, split: Split, log: Log) -> OverlapMeter:
    return OverlapMeter.prepare(
        setting.key("overlap"),
        log,
        split.old_policy,
        setting.find_start(log),
        setting.config.discount,
    )


def _as_share(report: Callable[[ProgressEvent], None], name: str) -> Callable[[float], None]:
    """Shares of work as events that people see."""

    def tell(share: float) -> None:
        report(ProgressEvent(name, max(0, round(100 * share) - 1), 100, 0))

    return tell
