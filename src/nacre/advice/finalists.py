"""Which candidates are tested: at most three, chosen on the learning part only.

A smaller step towards a candidate gains less than the whole way, but it stays nearer to the log, so
that more of it can be proven: steps compete beside the candidates themselves. What another beats
both in what it gains at least, after its cost, and in the expected gain is not tested. Of those
that the test part proves, the one that gains most is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nacre.advice.setting import Setting, Split
from nacre.advice.tasks import charge_overlap
from nacre.diagnostics.overlap import OverlapMeter
from nacre.estimators.base import Estimator, Problem
from nacre.estimators.fitted_q import FittedQ
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.inference.intervals import find_hull
from nacre.learners.base import Candidate
from nacre.learners.steps import make_steps
from nacre.policies.policy import Policy
from nacre.training.progress import Progress, ProgressEvent

MOST_FINALISTS = 3
"""Candidates that compete on the test part: each one more costs power."""
RANKING: tuple[Estimator, ...] = (Tabular(), OneStep(), FittedQ(sets=3, sizes=(128,)))
"""The first that applies puts the candidates in order."""
LEVEL = 0.9
"""Of the bounds by which candidates are put in order."""


class Score(NamedTuple):
    """What the learning part says of a candidate's net gain.

    What it says nothing about may gain anything: low -inf, mean inf.
    """

    low: float
    mean: float


UNKNOWN = Score(-math.inf, math.inf)
Ranking = Callable[[Candidate], Score]


def choose_finalists(
    setting: Setting, given: Sequence[Candidate], *, split: Split, report: Progress, **learned: Any
) -> tuple[Candidate, ...]:
    """At most three candidates, or steps towards them; the old policy if there is none.

    Nothing here sees the test part.
    """
    sound = (one for some in learned.values() for one in some if not one.problem)
    candidates = [*given, *sound]
    if not candidates:
        return (Candidate("unchanged", split.old_policy, "nothing else was found"),)
    find_score = open_ranking(setting, split)
    if find_score is None:
        # Nobody can tell them apart: those of the user first, then in the order of the learners.
        return tuple(candidates[:MOST_FINALISTS])
    versions: list[Candidate] = []
    scores: list[Score] = []
    for number, candidate in enumerate(candidates):
        for version, score in list_versions(candidate, split.old_policy, find_score):
            versions.append(version)
            scores.append(score)
        report(ProgressEvent("ranking candidates", number, len(candidates), 0))
    return tuple(versions[index] for index in sorted(list_best(scores)[:MOST_FINALISTS]))


def list_versions(
    candidate: Candidate, old_policy: Policy, find_score: Ranking
) -> list[tuple[Candidate, Score]]:
    """The candidate, and the steps towards it that the learning part proves to gain."""
    steps = ((step, find_score(step)) for step in make_steps(candidate, old_policy))
    return [(candidate, find_score(candidate)), *(one for one in steps if one[1].low > 0.0)]


def list_best(scores: Sequence[Score]) -> list[int]:
    """Those that no other beats in both numbers, by their lower bounds.

    A test of one that is worse in every way would only take from the level of the others.
    """
    order = sorted(range(len(scores)), key=lambda index: scores[index], reverse=True)
    best: list[int] = []
    for index in order:
        known = [scores[other].mean for other in best if scores[other] != UNKNOWN]
        if scores[index].mean > max(known, default=-math.inf):
            best.append(index)
    return best


def open_ranking(setting: Setting, split: Split) -> Ranking | None:
    """What says how good a candidate is on the learning part; None where nothing can."""
    log, discount = split.learning, setting.config.discount
    problem = Problem(log, split.old_policy, setting.find_start(log), discount, setting.acting)
    usable = [one for one in RANKING if not one.applies(problem)]
    if not usable:
        return None
    estimator = usable[0]
    prepared = estimator.prepare(setting.key("rank"), problem, lambda share: None)
    meter = OverlapMeter.prepare(
        setting.key("rank overlap"), log, split.old_policy, problem.start, discount
    )

    def find_score(candidate: Candidate) -> Score:
        policy = candidate.policy
        estimate = estimator.estimate(
            setting.key(f"rank {candidate.name}"), problem, prepared, policy, lambda share: None
        )
        if estimate.informative and estimator.extrapolates:
            estimate = charge_overlap(estimate, estimator, meter.measure(policy))
        cost = setting.cost.per_episode().evaluate(split.old_policy, policy, log, seed=setting.seed)
        low, _ = find_hull([estimate], LEVEL)
        known = Score(low - cost.total, estimate.gain - cost.total)
        return known if all(map(math.isfinite, known)) else UNKNOWN

    return find_score
