"""The tasks one by one: what they see and what they may not see."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.advice import tasks
from nacre.advice.setting import Split
from nacre.diagnostics.log_checks import LogChecks
from nacre.diagnostics.overlap import Overlap
from nacre.estimators.base import Estimate, Problem, Report
from nacre.learners.base import Candidate, LearningProblem
from nacre.training.progress import NoProgress, Progress
from tests.support.estimates import make_estimate
from tests.support.rooms import (
    BEST,
    CONFIG,
    GIVEN_ALONE,
    WORSE,
    make_candidate,
    make_rooms_log,
    make_setting,
)


class Closed:
    """Nobody may look at it."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the test part was opened: {name}")


CLOSED: Any = Closed()


def check() -> LogChecks:
    return tasks.check_log(make_setting(), report=NoProgress())


def split_rooms() -> Split:
    return tasks.split_log(make_setting(), checks=check(), report=NoProgress())


def list_episodes(log: Any) -> set[bytes]:
    return {one.actions.tobytes() + one.observations.tobytes() for one in log.episodes()}


def test_the_split_is_of_whole_episodes_and_nothing_is_in_both_parts() -> None:
    split = split_rooms()
    learning, test = list_episodes(split.learning), list_episodes(split.test)
    assert (len(learning), len(test)) == (15, 15)
    assert not learning & test
    assert learning | test == list_episodes(make_rooms_log())
    again = split_rooms()
    assert again.test.fingerprint() == split.test.fingerprint()


def test_repeated_episodes_are_split_once() -> None:
    log = make_rooms_log()
    order = np.concatenate([np.arange(30), np.arange(30)])
    setting = make_setting(log=log.select(order))
    checks = tasks.check_log(setting, report=NoProgress())
    split = tasks.split_log(setting, checks=checks, report=NoProgress())
    assert split.learning.n_episodes + split.test.n_episodes == 30
    assert not list_episodes(split.learning) & list_episodes(split.test)


@dataclasses.dataclass(frozen=True)
class Useless:
    """An estimator that applies to nothing."""

    name: str = "useless"
    extrapolates: bool = False

    def applies(self, problem: Problem) -> str:
        return "it never applies"

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Any:
        raise AssertionError("it does not apply")

    def estimate(
        self, key: PRNGKeyArray, problem: Problem, prepared: Any, candidate: Any, report: Report
    ) -> Estimate:
        raise AssertionError("it does not apply")


def test_an_estimator_that_does_not_apply_is_not_asked_and_the_record_says_why() -> None:
    split, setting = split_rooms(), make_setting()
    assert tasks.prepare_estimator(setting, Useless(), split=split, report=NoProgress()) is None
    given: dict[str, Any] = {"split": split, "prepared": None, "report": NoProgress()}
    finalists = (make_candidate("best", BEST),)
    assert tasks.estimate_gain(setting, Useless(), 0, finalists=finalists, **given) is None
    setting = make_setting(dataclasses.replace(GIVEN_ALONE, estimators=(Useless(),)))
    assert tasks.list_inapplicable(setting, split) == {"useless": "it never applies"}


@dataclasses.dataclass(frozen=True)
class Watches:
    """A learner that shows what it was given."""

    seen: list[LearningProblem]
    reason: str = ""
    name: str = "watches"

    def applies(self, problem: LearningProblem) -> str:
        return self.reason

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> list[Candidate]:
        self.seen.append(problem)
        return [make_candidate("found", BEST)]


def test_learners_see_the_learning_part_only() -> None:
    seen: list[LearningProblem] = []
    split = dataclasses.replace(split_rooms(), test=CLOSED)
    posed = tasks.pose_learning(make_setting(), split=split, report=NoProgress())
    given: dict[str, Any] = {"problem": posed, "report": NoProgress()}
    found = tasks.learn_candidates(make_setting(), Watches(seen), **given)
    assert [one.name for one in found] == ["found"]
    (problem,) = seen
    assert problem.log is split.learning
    assert problem.discount == CONFIG.discount
    why = Watches(seen, "nothing to learn")
    assert tasks.learn_candidates(make_setting(), why, **given) == ()
    assert len(seen) == 1


def test_what_lies_outside_is_charged_on_estimators_that_extrapolate() -> None:
    """Worth 5 by the estimate, a quarter of it outside, where it is worth 1 to 7."""
    overlap = Overlap(0.25, 0.0, 0.0, 0.25, 1.0, 7.0, 4.0, saw_ends=True)
    estimate = make_estimate(1.0)
    charged = tasks.charge_overlap(
        estimate, dataclasses.replace(Useless(), extrapolates=True), overlap
    )
    assert (charged.overlap_penalty, charged.allowance) == (1.0, 0.5)
    assert tasks.charge_overlap(estimate, Useless(), overlap) is estimate


def test_overlap_is_measured_on_the_test_part() -> None:
    split = dataclasses.replace(split_rooms(), learning=CLOSED)
    finalists = (make_candidate("worse", WORSE),)
    meter = tasks.prepare_overlap(make_setting(), split=split, report=NoProgress())
    given: dict[str, Any] = {"meter": meter, "finalists": finalists, "report": NoProgress()}
    overlap = tasks.find_overlap(make_setting(), 0, **given)
    assert overlap is not None
    assert 0.0 <= overlap.excess <= 1.0
    assert tasks.find_overlap(make_setting(), 1, **given) is None
