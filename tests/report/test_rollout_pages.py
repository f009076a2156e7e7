"""Pages of a roll-out: what they show, and that they stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.report.rollout_pages import format_plan, format_watch
from nacre.rollout.plan_record import CurvePoint, Plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.watching import look_at
from tests.support.rollout import make_record, play_design

RETURNS = np.random.default_rng(100).normal(1.1, 0.8, 200)


@pytest.fixture(scope="module")
def plan() -> Plan:
    options = PlanOptions(guardrails=("terminated - old <= 0.02",), shares=(0.5, 1.0))
    point = CurvePoint.model_validate(
        {
            "name": "10% of the way",
            "share": 0.1,
            "cost": 0.1,
            "net_gain": {"mean": 0.2, "low": 0.1, "high": 0.3},
            "proven": True,
        }
    )
    record = make_record(verdict="undecided", chosen="<b>best</b>")
    return make_plan(record, RETURNS, options, curve_points=[point])


def test_the_page_of_a_plan_shows_stages_prices_and_next_steps(plan: Plan) -> None:
    text = format_plan(plan)
    for words in (
        "Roll-out in 2 stages",
        "What would settle it",
        "Its net gain is at least 0.1 by the log",
        "✓ 10% of the way",
        "terminated - old &lt;= 0.02",
        "Share of the new policy, stage by stage",
        "What going in steps is worth",
    ):
        assert words in text, words
    assert "<b>best" not in text
    assert "<script" not in text


def test_the_page_of_a_look_loads_itself_again(plan: Plan) -> None:
    look = look_at(plan, play_design(plan.design(plan.stages[0]), 100)).document
    plain, following = format_watch(plan, look), format_watch(plan, look, 30)
    assert "refresh" not in plain
    assert '<meta http-equiv="refresh" content="30">' in following
    for words in ("Next stage.", "Bounds of the live gain over the sets", "paid already"):
        assert words in plain, words
    few = look_at(plan, play_design(plan.design(plan.stages[0]), 10)).document
    assert "Keep collecting." in format_watch(plan, few)


def test_a_plan_without_stages_has_a_page() -> None:
    kept = make_plan(make_record(verdict="keep"), RETURNS)
    assert "Nothing to roll out" in format_plan(kept)
