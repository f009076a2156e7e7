"""What a policy is worth by a log: returns where they are its own, critics for the rest."""

from __future__ import annotations

import dataclasses
import functools
import json

import numpy as np
import pytest

from nacre import examples
from nacre.advice.config import stand_for_one
from nacre.advice.evaluate import Valuation, default_evaluation, evaluate
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import TabularPolicy
from nacre.training.fitted_evaluation import EvaluationConfig
from nacre.training.progress import ProgressEvent
from nacre.training.returns import value_from_returns

DISCOUNT = 0.9


def few() -> EvaluationConfig:
    """Critics with a few updates: their figures mean little, their way is the same."""
    config = default_evaluation()
    critics = dataclasses.replace(config.critics, hidden=(8,), n_critics=3, batch_size=16)
    return dataclasses.replace(
        config, critics=critics, epochs=1, steps_per_epoch=4, prefit_steps=4, n_actions=64
    )


@functools.cache
def compare() -> tuple[Valuation, list[ProgressEvent]]:
    example = examples.load()
    heard: list[ProgressEvent] = []

    def listen(event: ProgressEvent) -> None:
        heard.append(event)

    found = evaluate(
        example.log,
        example.new_policy,
        old_policy=example.old_policy,
        discount=DISCOUNT,
        config=few(),
        seed=2,
        progress=listen,
    )
    return found, heard


def test_the_log_s_own_policy_is_worth_its_returns() -> None:
    example = examples.load()
    found = evaluate(example.log, example.old_policy, discount=DISCOUNT, config=few(), seed=2)
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
    # The same critics, batches and noise whether a policy is asked for or compared with.
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
    stages = ["evaluating the policy", "evaluating the old policy"]
    assert [event.stage for event in heard] == stages
    assert found.record["seed"] == 2
    assert found.record["policy"] != found.record["old_policy"]


def test_another_start_has_no_returns() -> None:
    example = examples.load()
    found = evaluate(example.log, example.old_policy, start=np.array([1.0, 0.0]), config=few())
    assert found.behaviour.on_policy
    assert found.returns is None
    assert "own starts" in found.notes[1]


def test_files_are_taken_where_objects_are() -> None:
    sources, example = examples.find_sources("cart"), examples.load()
    by_file = evaluate(sources.log, sources.policy, discount=DISCOUNT, config=few(), seed=2)
    by_object = evaluate(example.log, example.old_policy, discount=DISCOUNT, config=few(), seed=2)
    assert by_file.value == by_object.value
    assert by_file.fitted == by_object.fitted
    assert by_file.record["log"] == by_object.record["log"]


def test_critics_that_break_down_are_told_of() -> None:
    config = few()
    wild = dataclasses.replace(config.critics, learning_rate=1e30)
    example = examples.load()
    found = evaluate(
        example.log, example.old_policy, config=dataclasses.replace(config, critics=wild)
    )
    assert not found.healthy
    assert any("broke down" in note for note in found.notes)


def test_without_a_discount_returns_are_whole_and_fitted_intervals_wider() -> None:
    rng = np.random.default_rng(0)
    ends = np.arange(300) % 3 == 2
    log = Log.from_arrays(
        np.zeros(300, int),
        rng.integers(0, 2, 300),
        rewards=rng.uniform(size=300),
        terminated=ends,
        truncated=np.zeros(300, bool),
        next_observations=np.zeros(300, int),
    )
    coin, other = (TabularPolicy.from_probabilities([[p, 1.0 - p]]) for p in (0.5, 0.4))
    found = evaluate(log, coin, old_policy=other, discount=1.0, config=few())
    assert found.returns is not None
    assert found.returns.mean == pytest.approx(log.returns(1.0).mean())
    near_one = stand_for_one(log)
    plain = evaluate(log, coin, old_policy=other, discount=near_one, config=few())
    room = float(np.mean(log.returns(1.0) - log.returns(near_one)))
    assert room > 0.0
    pairs = ((found.fitted, plain.fitted, 1), (found.difference, plain.difference, 2))
    for value, less, times in pairs:
        assert value is not None
        assert less is not None
        assert value.mean == less.mean
        wider = np.array([less.low, value.high], float) - np.array([value.low, less.high], float)
        assert wider == pytest.approx(times * room, rel=1e-4)
    assert "critics take a discount of 0.9" in found.notes[1]
    assert found.record["discount"] == 1.0


@pytest.mark.parametrize("change", [{"confidence": 1.0}, {"discount": 1.0}, {"discount": -0.1}])
def test_impossible_questions_are_refused(change: dict[str, float]) -> None:
    (name,), example = change, examples.load()
    asked = {"discount": 0.99, "confidence": 0.95} | change
    with pytest.raises(InputError, match=f"{name} = "):
        evaluate(
            example.log,
            example.old_policy,
            discount=asked["discount"],
            confidence=asked["confidence"],
        )


def test_a_policy_of_other_spaces_is_refused() -> None:
    other = TabularPolicy.from_probabilities([[0.5, 0.5]])
    with pytest.raises(InputError, match="the old policy"):
        evaluate(examples.load().log, examples.load().new_policy, old_policy=other)
