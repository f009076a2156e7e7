"""What a policy is worth by a log: returns where they are its own, critics for the rest."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

import numpy as np
import pytest

from nacre import examples
from nacre.advice.evaluate import Question, Valuation, value_policy
from nacre.errors import InputError
from nacre.training.fitted_evaluation import EvaluationConfig
from nacre.training.progress import ProgressEvent
from nacre.training.returns import value_from_returns
from tests.support.advice import make_quick_evaluation

DISCOUNT = 0.9


def few() -> EvaluationConfig:
    """Critics with a few updates: their figures mean little, their way is the same."""
    return make_quick_evaluation(epochs=1)


@functools.cache
def compare() -> tuple[Valuation, list[ProgressEvent]]:
    example = examples.load()
    heard: list[ProgressEvent] = []
    question = Question(DISCOUNT, judges=few(), seed=2)
    found = value_policy(
        example.log,
        example.new_policy,
        question,
        old_policy=example.old_policy,
        reporter=lambda event: heard.append(event),
    )
    return found, heard


def test_the_log_s_own_policy_is_worth_its_returns() -> None:
    example = examples.load()
    found = value_policy(example.log, example.old_policy, Question(DISCOUNT, judges=few(), seed=2))
    expected = value_from_returns(example.log, DISCOUNT, seed=2)
    assert found.returns is not None
    assert found.value is found.returns
    assert (found.returns.mean, found.returns.low) == (expected.mean, expected.low)
    assert found.notes == ("every episode of the log looks like this policy's own",)
    assert found.old is found.difference is None
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert document["value"]["method"] == "returns of the log"
    assert document["on_policy"] is True
    assert document["old_value"] is document["difference"] is document["old_policy"] is None
    # The same critics, batches and noise judge a policy whether it is asked for or compared with.
    (other, _) = compare()
    assert other.old is not None
    assert found.fitted.mean == pytest.approx(other.old.mean, abs=1e-6)


def test_another_policy_is_worth_what_critics_say_and_the_difference_is_paired() -> None:
    found, heard = compare()
    assert found.returns is None
    assert found.value is found.fitted
    assert "not made by this policy" in found.notes[0]
    assert found.old is not None
    assert found.difference is not None
    assert found.fitted.mean is not None
    assert found.old.mean is not None
    gap, paired = found.fitted.mean - found.old.mean, found.difference
    assert paired.mean == pytest.approx(gap, abs=1e-5)
    assert paired.low is not None
    assert paired.high is not None
    assert paired.low < gap < paired.high
    assert [event.stage for event in heard] == ["judging the policy", "judging the old policy"]
    assert found.record["seed"] == 2
    assert found.record["policy"] != found.record["old_policy"]


def test_another_start_has_no_returns() -> None:
    example = examples.load()
    question = Question(DISCOUNT, start=np.array([1.0, 0.0]), judges=few())
    found = value_policy(example.log, example.old_policy, question)
    assert found.behaviour.on_policy
    assert found.returns is None
    assert "own starts" in found.notes[1]


def test_critics_that_break_down_are_told_of() -> None:
    judges = few()
    wild = dataclasses.replace(judges.critics, learning_rate=1e30)
    question = Question(DISCOUNT, judges=dataclasses.replace(judges, critics=wild))
    example = examples.load()
    found = value_policy(example.log, example.old_policy, question)
    assert not found.healthy
    assert any("broke down" in note for note in found.notes)


@pytest.mark.parametrize("change", [{"confidence": 1.0}, {"discount": 1.0}, {"discount": -0.1}])
def test_impossible_questions_are_refused(change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(InputError, match=f"{name} = "):
        Question(**change)
