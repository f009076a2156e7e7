"""The last lesson: when it is taught, who judges it, and what weighted episodes prove."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from nacre.advice.config import AdviceConfig, Lesson, suggest_config
from nacre.advice.court import Court
from nacre.advice.findings import Incumbent
from nacre.advice.result import Advice, Assessment
from nacre.advice.school import School
from nacre.advice.thrift import REASON
from nacre.learners import ProgressEvent
from nacre.learners.scale_noise import Candidate
from nacre.logs import Log
from nacre.parallel import local as engines
from nacre.training.progress import Agenda, NoProgress
from tests.advice.test_pipeline import (
    CHEAP,
    CONFIG,
    OLD,
    WORLD,
    WORSE,
    ask,
    log_of,
    policy,
    price,
    sample,
)

LESSON = Lesson(0.02, 3.0)
# What is learned at this price hardly differs from the old policy. Without its noise it does, gains
# 3 before the price at most, and pays 4.
PRICE = 8.0
THRIFTY = dataclasses.replace(CONFIG, learned_noise=0.01, calm_factors=(), thrift=LESSON)


@functools.cache
def found() -> Advice:
    return ask(PRICE, config=THRIFTY)


@functools.cache
def before() -> Advice:
    return ask(PRICE, config=dataclasses.replace(THRIFTY, thrift=None))


def test_where_only_the_price_is_in_the_way_somebody_else_is_looked_for() -> None:
    (sharp,) = before().assessments
    assert sharp.gain.mean < 0 < sharp.gain.bound(0.95) + sharp.gain.cost
    same, last = found().assessments
    assert (last.candidate.name, sharp.candidate.name) == ("learned-0.02-cost3", "learned-0.02")
    # It moves less, keeps all of its noise, and says where it comes from.
    assert last.cost.learning_mass < 0.5 * sharp.cost.learning_mass
    assert last.candidate.origin == f"{LESSON.origin}, {REASON}"
    # What was said before still stands.
    assert same.gain.mean == sharp.gain.mean
    assert same.notes == sharp.notes
    assert found().evidence.curve_names == ("learned-0.02", "learned-0.02-cost3")
    assert found().verdict == ("switch" if last.gain.bound(0.95) > 0 else "keep")


def test_its_judges_are_patient_and_judge_the_old_policy_too() -> None:
    heard: list[ProgressEvent] = []
    ask(PRICE, config=THRIFTY, reporter=heard.append)
    epochs = {event.stage: event.epochs for event in heard}
    usual, longer = CONFIG.judges.epochs, 3 * CONFIG.judges.epochs
    assert epochs["judging the old policy"] == epochs["judging learned-0.02"] == usual
    assert epochs["judging the old policy, for longer"] == longer
    assert epochs["judging learned-0.02-cost3"] == longer
    assert heard[-1].share == pytest.approx(1.0)
    config = dataclasses.replace(THRIFTY, judges=dataclasses.replace(CONFIG.judges, epochs=longer))
    alone = ask(PRICE, config=dataclasses.replace(config, patience=1)).assessments[-1]
    assert alone.gain.mean == found().assessments[-1].gain.mean


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, {"weight": CHEAP}),  # a switch
        ({"spread_scale": 1e6}, {}),  # no gain is proven at any price
        ({"rule": "paper"}, {}),  # nobody asks for a proof
        ({"kl_weights": ()}, {}),  # nothing is to be learned
        ({"cost_factors": (1.0, 3.0)}, {}),  # it was taught already
        ({}, {"log": sample(WORSE)}),  # not its log
    ],
)
def test_it_is_not_taught_in_vain(changes: Any, options: Any) -> None:
    config = dataclasses.replace(THRIFTY, **changes)
    brought = [Candidate("changed", policy(np.array([[0.4, 0.6], [0.6, 0.4]])), "brought")]
    advice = ask(**({"weight": PRICE, "config": config, "candidates": brought} | options))
    assert not [one for one in advice.assessments if REASON in one.candidate.origin]


def test_who_breaks_down_while_learning_it_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = School.learn

    def fail(school: Any, lesson: Lesson, first: Any) -> Any:
        learned = real(school, lesson, first)
        return dataclasses.replace(learned, healthy=lesson != LESSON)

    monkeypatch.setattr(School, "learn", fail)
    heard: list[ProgressEvent] = []
    advice = ask(PRICE, config=THRIFTY, reporter=heard.append)
    assert [one.candidate.name for one in advice.assessments] == ["learned-0.02"]
    assert advice.fitted_old_value == before().fitted_old_value
    assert "learned-0.02-cost3" in advice.evidence.curve_names


def test_threads_do_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "count_processors", lambda: 1)
    alone = ask(PRICE, config=THRIFTY).assessments[-1].gain
    np.testing.assert_array_equal(alone.differences, found().assessments[-1].gain.differences)


def test_small_logs_and_tables_do_without() -> None:
    assert suggest_config(log_of()).thrift is None
    assert AdviceConfig().thrift is not None


# What weighted episodes prove


@functools.cache
def long_log() -> Log:
    noisy = dataclasses.replace(WORLD, reward_noise=1.0)
    return noisy.sample_log(OLD, 10_000, seed=1, horizon=50)


def assess(*, checked: bool, table: np.ndarray, share: float = 0.4) -> tuple[Assessment, float]:
    """A searched candidate, and what the worst of the critics says it gains."""
    config = dataclasses.replace(CONFIG, doubt_share=0.4)
    court = Court(long_log(), np.array([0]), config, 3, Agenda(NoProgress(), {}))
    old, candidate = policy(OLD), Candidate("near", policy(table), "brought")
    known, new = (court.evaluate(one, "judging") for one in (old, candidate.policy))
    doubted = court.doubt(candidate, old, long_log())
    assert doubted.worst is not None
    # A worst that is far away, as it is for large networks.
    worst = dataclasses.replace(doubted.worst, value=doubted.worst.value - 5.0)
    doubted = dataclasses.replace(doubted, worst=worst, checked=checked, share=share)
    incumbent = Incumbent(old, known, 0.0, on_policy=True)
    judged = court.assess(candidate, new, incumbent, doubted, price(CHEAP), long_log())
    return judged.assessment, worst.value - float(np.mean(known.per_critic))


NEAR = np.array([[0.45, 0.55], [0.55, 0.45]])


def test_the_worst_is_no_worse_than_what_weighted_episodes_prove() -> None:
    feared, worst = assess(checked=False, table=NEAR)
    checked, _ = assess(checked=True, table=NEAR)
    second, proof = checked.second, checked.proof
    assert second is not None
    assert proof is not None
    assert second.usable
    # By state, more episodes carry the weight and less is left to chance.
    assert proof.effective_episodes > second.effective_episodes
    assert proof.standard_error < second.standard_error
    assert feared.proof is None
    mean = float(np.mean(checked.gain.differences))
    # The log's episodes start where ours do: nothing has to be moved.
    proven = proof.bound(0.95)
    assert worst < proven < mean - 0.01
    assert feared.gain.pessimistic == pytest.approx(0.6 * mean + 0.4 * worst, rel=1e-5)
    assert checked.gain.pessimistic == pytest.approx(0.6 * mean + 0.4 * proven, rel=1e-4)


def test_outside_of_the_logs_actions_the_worst_is_feared_all_the_same() -> None:
    outside, worst = assess(checked=True, table=NEAR, share=1.0)
    assert outside.gain.pessimistic == pytest.approx(worst, rel=1e-5)


def test_few_episodes_prove_nothing() -> None:
    """Whoever does what the log hardly shows is weighed by a few episodes of it."""
    far = np.array([[0.05, 0.95], [0.95, 0.05]])
    feared, checked = (assess(checked=one, table=far)[0] for one in (False, True))
    assert checked.second is not None
    assert not checked.second.usable
    assert checked.proof is None
    assert checked.gain.pessimistic == feared.gain.pessimistic
