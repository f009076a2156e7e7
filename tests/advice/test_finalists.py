"""Which candidates are tested: few, with smaller steps beside them, and the test part closed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from nacre.advice import finalists, tasks
from nacre.advice.finalists import MOST_FINALISTS, choose_finalists, make_steps
from nacre.advice.setting import Split
from nacre.learners.base import Candidate
from nacre.policies.blackbox import BlackBox
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
    """Of all candidates and steps those that gain most, as far as the learning part shows it."""
    split = dataclasses.replace(split_rooms(), test=CLOSED)
    heard: list[ProgressEvent] = []
    chosen = choose_finalists(
        make_setting(), make_five(), split=split, report=heard.append, learner_0=()
    )
    assert [one.name for one in chosen] == ["share 1.0", "share 0.6", "share 0.8"]
    assert [tick.epoch for tick in heard] == list(range(15))


def test_one_candidate_is_tested_with_its_steps_and_nothing_is_compared() -> None:
    split = Split(CLOSED, CLOSED, make_policy(OLD))
    best = make_candidate("best", BEST)
    chosen = choose_finalists(make_setting(), [best], split=split, report=NoProgress())
    assert [one.name for one in chosen] == ["best", "best-step0.5", "best-step0.2"]
    tables = [np.asarray(one.policy.table) for one in chosen]  # type: ignore[attr-defined]
    np.testing.assert_allclose(tables[2], 0.8 * OLD + 0.2 * BEST, atol=1e-6)
    assert chosen[1].origin.endswith("in 50 % of all steps, else the old policy")
    (alone,) = choose_finalists(make_setting(), (), split=split, report=NoProgress())
    assert alone.name == "unchanged"
    assert alone.policy is split.old_policy


def test_no_steps_where_a_policy_cannot_be_asked_anywhere() -> None:
    policy = make_policy(OLD)
    box = BlackBox(lambda rows: np.zeros((len(rows), 4)), policy.signature, "logits", "a function")
    assert make_steps(Candidate("box", box, "given"), policy) == []


def test_where_nobody_can_tell_them_apart_the_first_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalists, "RANKING", ())
    setting = make_setting(GIVEN_ALONE)
    chosen = choose_finalists(setting, make_five(), split=split_rooms(), report=NoProgress())
    assert [one.name for one in chosen] == ["share 0.2", "share 1.0", "share 0.0"]
    assert len(chosen) == MOST_FINALISTS
