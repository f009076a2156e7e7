"""The value of going in steps, against exact truth and against stages that are really played."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.estimators import exact
from nacre.rollout.net_curve import NetCurve, find_net_curve
from nacre.rollout.plan_record import Plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.scores import score_sets
from nacre.rollout.waiting import Worlds
from nacre.simulators import FiniteWorld
from tests.support.rollout import make_record, play
from tests.support.rooms import (
    BEST,
    DISCOUNT,
    GIVEN_ALONE,
    OLD,
    WORLD,
    find_value,
    make_policy,
    make_setting,
)

UPSIDE_DOWN = FiniteWorld(
    WORLD.transition, np.array([[0.0, 0.0], [-1.0, 0.0]]), DISCOUNT, WORLD.start
)
"""Staying in the second room costs what it pays in the other world."""
GAIN = find_value(BEST) - find_value(OLD)
LOSS = float(exact.start_value(UPSIDE_DOWN, BEST) - exact.start_value(UPSIDE_DOWN, OLD))


@pytest.fixture(scope="module")
def curve() -> NetCurve:
    return find_net_curve(make_setting(GIVEN_ALONE), make_policy(BEST), (), (0.5, 1.0))


def plan_with(old_returns: np.ndarray, gains: list[float], cost: float) -> Plan:
    record = make_record(verdict="undecided")
    entry = record.candidates[0]
    price = entry.price.model_copy(update={"learning_weight": cost / 0.48})
    charged = entry.cost.model_copy(update={"total": cost})
    record = record.model_copy(
        update={
            "candidates": (entry.model_copy(update={"price": price, "cost": charged}),),
            "net_gain": record.net_gain.model_copy(update={"mean": GAIN - record.cost.total}),
        }
    )
    worlds = Worlds.of("tabular", np.asarray(gains), 0.0)
    options = PlanOptions(shares=(0.5, 1.0), seed=3)
    return make_plan(record, old_returns, options, seen_share=1.0, worlds=worlds)


def test_worlds_of_resampled_tables_lie_around_the_truth(curve: NetCurve) -> None:
    worlds = curve.worlds
    assert worlds is not None
    assert worlds.estimator == "tabular"
    assert len(worlds.gains) == 100
    assert abs(worlds.gains.mean() - GAIN) < 4 * worlds.error
    drawn = worlds.draw(np.random.default_rng(0), 4000)
    assert drawn.std() == pytest.approx(max(worlds.error, worlds.gains.std()), rel=0.1)


@pytest.mark.parametrize(
    ("gains", "cost", "best"),
    [([GAIN], 0.4, "at_once"), ([GAIN], 2 * GAIN, "keep"), ([GAIN, LOSS], 0.4, "staged")],
)
def test_the_best_way_is_the_right_one(
    gains: list[float], cost: float, best: str, old_returns: np.ndarray
) -> None:
    value = plan_with(old_returns, gains, cost).value
    assert value["best"] == best
    # What is known exactly: switching at once, and keeping.
    assert value["at_once"] == pytest.approx(np.mean(gains) - cost, abs=0.2)
    assert value["keep"] == 0.0
    if best == "staged":
        assert value["staged_loss"] > value["at_once_loss"]


def test_the_value_of_stages_is_what_playing_them_brings(old_returns: np.ndarray) -> None:
    plan = plan_with(old_returns, [GAIN, LOSS], 0.4)
    first, last = plan.stages
    design, found = plan.design(first), []
    n_sets = round(first.sets or 0)
    for run in range(24):
        world, gain = ((WORLD, GAIN), (UPSIDE_DOWN, LOSS))[run % 2]
        arms = design.draw(n_sets * design.set_size)
        live = play(arms, world=world, seed=1000 + 10 * run)
        outcomes = live.returns(DISCOUNT).reshape(n_sets, design.set_size)
        bounds = score_sets(outcomes, arms.reshape(n_sets, -1), design).bound(
            plan.risk, first.best_at
        )
        if bounds.low[-1] > first.break_even:
            found.append(gain - last.cost)
        elif bounds.high[-1] < 0:
            found.append(-first.cost - first.step_back_cost)
        else:
            found.append(first.share * gain - first.cost)
    spread = np.std(found, ddof=1) / np.sqrt(len(found))
    assert plan.value["staged"] == pytest.approx(np.mean(found), abs=3 * spread + 0.1)


def test_without_a_log_the_advices_bounds_stand_for_worlds(plan: Plan) -> None:
    assert plan.value["worlds"] == "the advice's bounds"
    assert plan.value["n_worlds"] is None
