"""Looks at live logs of two rooms: what is true, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.rollout.plan_record import Plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.watching import Look, look_at
from tests.support.rollout import (
    RICHER,
    add_columns,
    drop_column,
    make_record,
    play,
    play_design,
)
from tests.support.rooms import BEST, OLD, WORSE, find_value, make_policy

POLICIES: Mapping[str, Policy | None] = {"old": make_policy(OLD), "new": make_policy(BEST)}


@pytest.fixture
def look(plan: Plan) -> Callable[..., Look]:
    """A look at the first units of stage 1."""

    def take(n_units: int = 120, **options: Any) -> Look:
        log = play_design(plan.design(plan.stages[0]), n_units, **options)
        return look_at(plan, log, 1, POLICIES)

    return take


def status(found: Look, name: str) -> str:
    (check,) = (one for one in found.document["checks"] if one["name"] == name)
    return str(check["status"])


def test_a_true_gain_leads_to_the_next_stage(look: Callable[..., Look]) -> None:
    found = look()
    assert found.verdict == "next stage"
    gain = found.document["gain"]
    truth = find_value(BEST) - find_value(OLD)
    # 20 steps at a discount of 0.8 show all but a hundredth of the value.
    assert gain["low"] < truth < gain["high"] + 0.05
    assert gain["mean"] == pytest.approx(truth, abs=0.3)
    assert found.document["promise"] == "as promised so far"
    assert all(check["status"] == "ok" for check in found.document["checks"])
    assert found.document["prices"]["paid"] == pytest.approx(0.24)
    json.dumps(found.document, allow_nan=False)


def test_few_units_keep_collecting(look: Callable[..., Look]) -> None:
    found = look(20)
    assert found.verdict == "keep collecting"
    assert found.document["gain"]["low"] is None
    assert found.document["more_episodes"] == 2 * (20 - 10)


def test_the_same_policy_twice_keeps_collecting(plan: Plan) -> None:
    design = plan.design(plan.stages[0])
    same = {"old": make_policy(OLD), "new": make_policy(OLD)}
    found = look_at(plan, play_design(design, 120, new=OLD), 1, same)
    assert found.verdict in ("keep collecting", "stop")
    assert found.document["gain"]["low"] < 0 < found.document["gain"]["high"]
    assert found.document["promise"] == "less than promised"


def test_a_loss_leads_back(look: Callable[..., Look]) -> None:
    found = look(new=WORSE)
    assert found.verdict == "step back"
    assert "a loss is proven" in found.reason
    assert status(found, "new policy acts") == "failed"


def test_another_policy_than_planned_leads_back(look: Callable[..., Look]) -> None:
    other = np.array([[0.3, 0.7], [0.9, 0.1]])
    found = look(new=other)
    assert found.verdict == "step back"
    assert found.document["gain"]["low"] > 0
    assert status(found, "new policy acts") == "failed"
    assert status(found, "old policy acts") == "ok"


def test_a_world_that_changed_stops(look: Callable[..., Look]) -> None:
    found = look(world=RICHER)
    assert found.verdict == "stop"
    assert "the world has changed" in found.reason


def test_a_mixed_up_assignment_stops(plan: Plan) -> None:
    design = plan.design(plan.stages[0])
    arms = np.random.default_rng(100).random(120) < 0.5
    log = add_columns(play(arms), {"unit": np.arange(120), "arm": arms.astype(int)})
    found = look_at(plan, log, 1, POLICIES)
    assert found.verdict == "stop"
    assert "ran another policy than planned" in found.reason
    lost = np.flatnonzero(~design.draw(400) | (np.arange(400) % 3 > 0))
    whole = play_design(design, 400)
    found = look_at(plan, whole.select(lost), 1, POLICIES)
    assert found.verdict == "stop"
    assert status(found, "assignment") == "failed"


def test_a_broken_guardrail_leads_back(plan: Plan) -> None:
    strict = plan.model_copy(update={"guardrails": ("return - old <= 0.5", "length >= 10")})
    log = play_design(plan.design(plan.stages[0]), 120)
    found = look_at(strict, log, 1, POLICIES)
    assert found.verdict == "step back"
    assert "return - old <= 0.5" in found.reason
    assert [rail["broken"] for rail in found.document["guardrails"]] == [True, False]
    always = plan.model_copy(update={"guardrails": ("length >= 30",)})
    assert look_at(always, log, 1, POLICIES).verdict == "step back"


def test_bounded_returns_are_bet_on(plan: Plan) -> None:
    bounded = plan.model_copy(update={"return_bounds": (0.0, 5.0)})
    log = play_design(plan.design(plan.stages[0]), 200)
    found = look_at(bounded, log, 1, POLICIES)
    assert found.document["method"] == "betting"
    assert found.verdict == "next stage"
    gain = found.document["gain"]
    assert gain["low"] < find_value(BEST) - find_value(OLD) < gain["high"]


def test_the_last_stage_is_compared_with_the_old_log(plan: Plan) -> None:
    good = look_at(plan, play(np.ones(60, bool)), 2, {"old": None, "new": make_policy(BEST)})
    assert good.verdict == "go on"
    assert good.document["gain"]["low"] > 0
    bad = look_at(plan, play(np.ones(60, bool), new=WORSE), 2, {"old": None, "new": None})
    assert bad.verdict == "step back"


def test_blocks_have_gaps(old_returns: np.ndarray) -> None:
    options = PlanOptions(shares=(0.5,), unit="block", episodes_per_unit=3, gap=1)
    plan = make_plan(make_record(), old_returns, options)
    design = plan.design(plan.stages[0])
    log = play_design(design, 60)
    found = look_at(plan, log, 1, POLICIES)
    assert found.verdict == "next stage"
    assert found.document["sets"] == 30
    # Without the column the episodes are taken in their order: the same here.
    plain = log.select(range(log.n_episodes))
    bare = look_at(plan, drop_column(plain, "unit"), 1, POLICIES)
    assert bare.document["gain"] == found.document["gain"]
    # An unfinished block does not count.
    short = look_at(plan, log.select(range(log.n_episodes - 1)), 1, POLICIES)
    assert short.document["sets"] == 29


def test_sites_are_compared_within_a_period(old_returns: np.ndarray) -> None:
    options = PlanOptions(shares=(0.5, 1.0), unit="site", sites=4, seed=5)
    plan = make_plan(make_record(), old_returns, options)
    design = plan.design(plan.stages[0])
    units = np.arange(100)
    # Sites report in any order within a period.
    order = units.reshape(25, 4)[:, ::-1].ravel()
    log = add_columns(play(design.draw(100)[order]), {"period": order // 4, "site": order % 4})
    found = look_at(plan, log, 1, POLICIES)
    assert found.verdict == "next stage"
    assert found.document["sets"] == 25
    with pytest.raises(InputError, match="has no column 'site'; units are sites"):
        look_at(plan, drop_column(log, "site"), 1)
    many = add_columns(drop_column(log, "site"), {"site": order % 5})
    with pytest.raises(InputError, match="column 'site' has 4; the plan has 4 sites"):
        look_at(plan, many, 1)


def test_wrong_live_logs_are_named_in_one_line(plan: Plan) -> None:
    log = play_design(plan.design(plan.stages[0]), 40)
    units = np.arange(40)

    def refuse(words: str, **columns: Any) -> None:
        with pytest.raises(InputError, match=words) as caught:
            look_at(plan, add_columns(drop_column(log, "unit"), columns), 1, POLICIES, "live.csv")
        assert len(caught.value.problems) == 1
        assert caught.value.problems[0].startswith("live.csv: ")

    swapped = units.copy()
    swapped[[5, 6]] = 6, 5
    refuse("has unit 5 after unit 6: the log is out of order", unit=swapped)
    refuse("unit 4 has 2 episodes, the plan has 1", unit=np.where(units == 5, 4, units))
    refuse("found 0.5; give one whole number", unit=units * 0.5)
    refuse("column 'arm' has 2", unit=units, arm=np.full(40, 2))
    refuse("begins at time 0, before", time=np.where(units == 9, 0, units + 1))
    refuse("no episode of stage 1, found 4", stage=np.full(40, 4))
    refuse("row 180: found nan; give one number a row", time=np.where(units == 9, np.nan, units))
    refuse("row 0: found nan; give one whole number", unit=np.where(units == 0, np.nan, units))
    refuse("episode 39 has unit 1700000039, but there are 40 episodes", unit=units + 1_700_000_000)


def test_rows_that_were_written_twice_are_told(plan: Plan) -> None:
    rng = np.random.default_rng(100)
    seen = rng.normal(size=(41 * 5, 2)).astype(np.float32)
    ends = np.arange(1, 201) % 5 == 0
    log = Log.from_arrays(
        seen[:200],
        rng.integers(2, size=200),
        rng.normal(size=200).astype(np.float32),
        np.zeros(200, bool),
        ends,
        seen[1:201],
        observation_space=Box(-np.inf, np.inf, (2,), np.float32),
        action_space=Discrete(2),
    )
    assert look_at(plan, log, 1).document["episodes"] == 40
    twice = log.select([*range(40), *range(30, 40)])
    words = r"live.csv: 10 of 50 episodes repeat earlier ones, the first is episode 40"
    with pytest.raises(InputError, match=words):
        look_at(plan, twice, 1, None, "live.csv")


def test_a_guardrail_of_a_column_with_holes_is_refused(plan: Plan) -> None:
    """Nothing is proven of what is not a number: a broken limit would go by."""
    strict = plan.model_copy(update={"guardrails": ("queue <= 2",)})
    log = play_design(plan.design(plan.stages[0]), 60)
    holes = add_columns(log, {"queue": np.where(np.arange(60) == 7, np.nan, 9.0)})
    with pytest.raises(InputError, match="column 'queue', row 140: found nan"):
        look_at(strict, holes, 1, POLICIES)
    assert look_at(strict, add_columns(log, {"queue": np.full(60, 9.0)}), 1).verdict == "step back"


def test_gaps_are_told(plan: Plan) -> None:
    log = play_design(plan.design(plan.stages[0]), 200)
    some = log.select([one for one in range(200) if one not in (50, 51)])
    timed = add_columns(some, {"time": some.episode_lengths.cumsum() + (np.arange(198) > 99) * 900})
    found = look_at(plan, timed, 1, POLICIES)
    assert found.document["checks"][0]["missing_units"] == 2
    assert "gap in time: nothing between" in found.document["notes"][0]
    many = log.select([one for one in range(200) if not 50 <= one < 80])
    assert "30 of 200 units are missing" in look_at(plan, many, 1, POLICIES).reason
