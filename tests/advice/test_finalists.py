"""Which candidates are tested: few, with smaller steps beside them, and the test part closed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from nacre.advice import finalists, tasks
from nacre.advice.finalists import (
    MOST_FINALISTS,
    UNKNOWN,
    Score,
    choose_finalists,
    list_best,
    list_versions,
)
from nacre.advice.setting import Split
from nacre.learners.base import Candidate
from nacre.training.progress import NoProgress, ProgressEvent
from tests.support.rooms import BEST, GIVEN_ALONE, OLD, make_candidate, make_policy, make_setting


class Closed:
    """Nobody may look at it."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"it was opened: {name}")


CLOSED: Any = Closed()


def split_rooms() -> Split:
    checks = tasks.check_log(make_setting(), report=NoProgress())
    return tasks.split_log(make_setting(), checks=checks, report=NoProgress())


def make_five() -> list[Candidate]:
    shares = (0.2, 1.0, 0.0, 0.6, 0.8)
    return [make_candidate(f"share {one}", one * BEST + (1 - one) * OLD) for one in shares]


def test_finalists_are_chosen_with_the_test_part_closed() -> None:
    """Those that gain most, as far as the learning part shows it."""
    split = dataclasses.replace(split_rooms(), test=CLOSED)
    heard: list[ProgressEvent] = []

    def hear(event: ProgressEvent) -> None:
        heard.append(event)

    chosen = choose_finalists(make_setting(), make_five(), split=split, report=hear, learner_0=())
    # The others are worse in every way: their test would take from the level of the best.
    assert [one.name for one in chosen] == ["share 1.0"]
    assert [tick.epoch for tick in heard] == [0, 1, 2, 3, 4]


def test_without_candidates_nothing_is_compared() -> None:
    split = Split(CLOSED, CLOSED, make_policy(OLD))
    (alone,) = choose_finalists(make_setting(), (), split=split, report=NoProgress())
    assert alone.name == "unchanged"
    assert alone.policy is split.old_policy


@pytest.mark.parametrize(
    ("lows", "expected"),
    [
        ({"best": 3.0, "best-step0.5": 2.0, "best-step0.2": 1.0}, [0]),
        ({"best": -math.inf, "best-step0.5": 2.0, "best-step0.2": 1.0}, [1, 0]),
        ({"best": 0.5, "best-step0.5": 1.0, "best-step0.2": 2.0}, [2, 1, 0]),
        ({"best": -9.0, "best-step0.5": -4.0, "best-step0.2": -1.0}, [0]),
    ],
)
def test_a_step_is_tested_beside_its_candidate_where_it_has_more_to_prove(
    lows: dict[str, float], expected: list[int]
) -> None:
    """Where nothing is proven, the candidate is tested as it was given, and alone."""
    best, means = make_candidate("best", BEST), dict(zip(lows, (9.0, 5.0, 2.0), strict=True))
    versions = list_versions(
        best, make_policy(OLD), lambda one: Score(lows[one.name], means[one.name])
    )
    names = [version.name for version, _ in versions]
    tested = list_best([score for _, score in versions])
    assert [names[place] for place in tested] == [list(lows)[place] for place in expected]


def test_what_another_beats_in_both_numbers_is_not_tested() -> None:
    sure, bold, worse = Score(2.0, 3.0), Score(-1.0, 8.0), Score(1.0, 2.0)
    assert list_best([worse, bold, sure]) == [2, 1]
    assert list_best([sure, sure]) == [0]
    # Nobody knows that it gains less.
    assert list_best([UNKNOWN, sure, UNKNOWN, worse]) == [1, 0, 2]
    assert list_best([UNKNOWN]) == [0]


def test_where_nobody_can_tell_them_apart_the_first_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalists, "RANKING", ())
    setting = make_setting(GIVEN_ALONE)
    chosen = choose_finalists(setting, make_five(), split=split_rooms(), report=NoProgress())
    assert [one.name for one in chosen] == ["share 0.2", "share 1.0", "share 0.0"]
    assert len(chosen) == MOST_FINALISTS
