"""Further panels of judges: who is heard again, and what all judges say together."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
import pytest

from nacre.advice import appeal
from nacre.advice.appeal import NOTE
from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.court import Court
from nacre.advice.result import Advice
from nacre.estimators import exact
from nacre.learners import ProgressEvent
from nacre.learners.scale_noise import Candidate
from nacre.logs import Log
from nacre.parallel import local as engines
from nacre.training.fitted_evaluation import (
    Evaluation,
    evaluate_policy,
    join_evaluations,
    read_values,
    steady,
)
from tests.advice.test_pipeline import (
    CHEAP,
    CONFIG,
    DEAR,
    OLD,
    WORLD,
    WORSE,
    ask,
    judged_alone,
    policy,
    sample,
)

# Doors that often lead back: what resampled episodes say differs.
DOORS = dataclasses.replace(WORLD, transition=0.6 * WORLD.transition + 0.2)
BETTER = np.array([[0.4, 0.6], [0.6, 0.4]])
ALONE = judged_alone()
N_JUDGES = CONFIG.judges.critics.n_critics


@functools.cache
def log() -> Log:
    return sample(OLD, DOORS)


def ask_about_better(config: AdviceConfig, **options: Any) -> Advice:
    candidates = [Candidate("better", policy(BETTER), "brought")]
    return ask(**({"config": config, "candidates": candidates, "log": log()} | options))


@functools.cache
def open_config() -> AdviceConfig:
    """The spread counts for so much that the first panel just fails to prove a gain."""
    gain = ask_about_better(ALONE).chosen.gain
    assert gain.mean > 0
    # The bound is at nought for a spread of this many standard deviations; a little more.
    scale = gain.mean / gain.quantile(0.95) / float(np.std(gain.differences, ddof=1))
    return dataclasses.replace(ALONE, spread_scale=1.05 * scale, panels=2)


@functools.cache
def once() -> Advice:
    return ask_about_better(dataclasses.replace(open_config(), panels=1))


@functools.cache
def twice() -> Advice:
    return ask_about_better(open_config())


def test_a_gain_that_only_the_spread_leaves_open_is_heard_again() -> None:
    first, both = once().chosen, twice().chosen
    assert once().verdict == "undecided"
    assert first.notes == ()
    assert both.notes == (NOTE.format(2),)
    # All judges count alike, the first ones say about what they said, the others something else.
    assert both.gain.differences.shape == (2 * N_JUDGES,)
    np.testing.assert_allclose(both.gain.differences[:N_JUDGES], first.gain.differences, rtol=0.1)
    assert not np.isin(both.gain.differences[N_JUDGES:], first.gain.differences).any()
    assert both.gain.scale == first.gain.scale
    assert both.gain.cost == first.gain.cost
    # Whatever they say, they say it about the truth.
    true = exact.start_value(DOORS, BETTER) - exact.start_value(DOORS, OLD)
    assert np.mean(both.gain.differences[N_JUDGES:]) == pytest.approx(true, abs=0.3)
    low = both.gain.bound(0.95)
    assert twice().verdict == ("switch" if low > 0 else "undecided")


def test_judges_of_an_appeal_are_read_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appeal, "STEADY_EPOCHS", 1)
    found = ask_about_better(open_config()).chosen.gain.differences
    np.testing.assert_array_equal(found[:N_JUDGES], once().chosen.gain.differences)
    assert not np.isin(found, twice().chosen.gain.differences).any()


def test_everything_else_in_the_record_is_of_both_panels() -> None:
    advice = twice()
    (members,) = {len(advice.evidence.old_members), len(advice.chosen.gain.differences)}
    assert members == 2 * N_JUDGES
    assert advice.fitted_old_value.mean == pytest.approx(np.mean(advice.evidence.old_members))
    mostly = np.array([0] * 30 + [1])
    starts = ask_about_better(open_config(), start=mostly).starts
    assert [len(one.gain.differences) for one in starts] == [2 * N_JUDGES] * 2


def test_panels_are_heard_until_it_is_settled_or_out_of_reach() -> None:
    gain = twice().chosen.gain
    for share in (0.97, 1.05):
        # What both panels together just prove, or just fail to prove.
        scale = share * gain.mean / gain.quantile(0.95) / float(np.std(gain.differences, ddof=1))
        config = dataclasses.replace(open_config(), spread_scale=scale, panels=3)
        found = ask_about_better(config).chosen.gain
        np.testing.assert_array_equal(found.differences[: 2 * N_JUDGES], gain.differences)
        if share < 1:
            assert len(found.differences) == 2 * N_JUDGES
            assert found.bound(0.95) > 0
        else:
            assert len(found.differences) == 3 * N_JUDGES


def stages_of(config: AdviceConfig, **options: Any) -> set[str]:
    heard: list[ProgressEvent] = []
    ask_about_better(config, reporter=heard.append, **options)
    return {event.stage for event in heard}


def test_further_panels_are_told_of() -> None:
    heard: list[ProgressEvent] = []
    ask_about_better(open_config(), reporter=heard.append)
    again = [event for event in heard if "panel" in event.stage]
    names = {"judging the old policy, panel 2", "judging better, panel 2"}
    assert {event.stage for event in again} == names
    # There is more to do than was planned, and in the end it is done.
    assert again[0].share is not None
    assert again[0].share < 1.0
    assert heard[-1].share == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"spread_scale": 1e-3}, {}),  # proven
        ({"spread_scale": 1e3}, {}),  # far from it
        ({"rule": "paper"}, {}),  # nobody asks for a proof
        ({}, {"weight": DEAR}),  # no gain
        ({}, {"log": sample(WORSE, DOORS)}),  # not its log
    ],
)
def test_nobody_is_heard_again_in_vain(changes: Any, options: Any) -> None:
    config = dataclasses.replace(open_config(), **changes)
    assert not [stage for stage in stages_of(config, **options) if "panel" in stage]


def test_only_who_is_left_open_is_heard_again() -> None:
    config = open_config()
    others = [
        Candidate("better", policy(BETTER), "brought"),
        Candidate("worse", policy(BETTER[::-1]), "brought"),
    ]
    advice = ask(CHEAP, log(), config=config, candidates=others)
    lengths = {one.candidate.name: len(one.gain.differences) for one in advice.assessments}
    assert lengths == {"better": 2 * N_JUDGES, "worse": N_JUDGES}
    assert advice.chosen.candidate.name == "better"


def test_a_second_panel_that_broke_is_no_reason_to_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Court.evaluate

    def fail(bench: Any, policy: Any, stage: str, config: Any = None) -> Evaluation:
        found = real(bench, policy, stage, config)
        return dataclasses.replace(found, healthy=False) if "panel" in stage else found

    monkeypatch.setattr(Court, "evaluate", fail)
    advice = ask_about_better(open_config())
    assert not advice.assessments[0].trusted
    assert advice.verdict == "keep"


def test_threads_do_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "count_processors", lambda: 1)
    alone = ask_about_better(open_config())
    np.testing.assert_array_equal(alone.chosen.gain.differences, twice().chosen.gain.differences)


def test_small_logs_and_tables_have_one_panel() -> None:
    assert suggest_config(log()).panels == 1
    assert AdviceConfig().panels > 1


# Two ensembles as one


def test_the_mean_of_the_last_epochs_by_hand() -> None:
    whole = evaluate_policy(
        policy(BETTER), log(), np.array([0]), CONFIG.judges, discount=0.8, seed=1
    )
    curves = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 4.0]])
    drawn = dataclasses.replace(whole, curve=curves.mean(axis=1), member_curves=curves)
    found = steady(drawn, 2)
    assert found.per_critic.tolist() == [4.0, 5.0]
    assert found.value == 4.5
    assert found.critics is whole.critics
    np.testing.assert_array_equal(steady(found, 2).per_critic, found.per_critic)
    never = dataclasses.replace(whole, curve=curves[:0, 0], member_curves=curves[:0])
    assert steady(never, 2) is never


def test_joined_critics_say_what_each_of_them_says() -> None:
    start, config = np.array([0]), CONFIG.judges
    found = [
        evaluate_policy(policy(BETTER), log(), start, config, discount=0.8, seed=seed)
        for seed in (1, 2)
    ]
    both = join_evaluations(*found)
    assert both.critics.n_critics == 2 * N_JUDGES
    assert both.member_curves.shape == (config.epochs, 2 * N_JUDGES)
    np.testing.assert_allclose(both.member_curves[-1], both.per_critic, rtol=1e-6)
    np.testing.assert_allclose(both.curve, np.mean([one.curve for one in found], axis=0), rtol=1e-5)
    assert both.value == pytest.approx(np.mean([one.value for one in found]), rel=1e-6)
    key = jax.random.key(0)
    combined, each = read_values(config, both.critics, policy(BETTER), start, key)
    np.testing.assert_allclose(each, both.per_critic, rtol=1e-5)
    assert float(combined) == pytest.approx(both.value, rel=1e-5)


def test_who_broke_early_shortens_the_curves() -> None:
    whole = evaluate_policy(
        policy(BETTER), log(), np.array([0]), CONFIG.judges, discount=0.8, seed=1
    )
    broken = dataclasses.replace(
        whole,
        curve=whole.curve[:2],
        member_curves=whole.member_curves[:2],
        losses=whole.losses[:2],
        healthy=False,
        settled=False,
        reason="diverged",
    )
    for both in (join_evaluations(whole, broken), join_evaluations(broken, whole)):
        assert (len(both.curve), len(both.losses)) == (2, 2)
        assert (both.healthy, both.settled, both.reason) == (False, False, "diverged")
