"""Plans: stages with their prices, what they need, and what would settle an open verdict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nacre.advice.record import check_decision
from nacre.errors import InputError
from nacre.rollout.plan_record import Plan, check_plan, read_plan
from nacre.rollout.planning import PlanOptions, find_seen_share, make_plan
from tests.support.estimates import add_guardrails
from tests.support.rollout import make_record


def test_a_plan_has_stages_with_prices_and_needs(plan: Plan) -> None:
    first, last = plan.stages
    assert (first.share, last.share) == (0.5, 1.0)
    assert first.cost == pytest.approx(0.24)
    assert first.step_cost + last.step_cost == pytest.approx(plan.cost)
    assert plan.promised.mean == pytest.approx(2.8 * plan.seen_share)
    assert first.break_even == pytest.approx(0.48 * plan.seen_share)
    assert first.episodes is not None
    assert first.episodes_late is not None
    assert first.episodes <= first.episodes_late
    assert first.loss_budget is not None
    assert first.loss_budget > 0
    assert last.episodes is None
    assert "nothing is left to compare with" in last.note
    assert plan.value["switched"] > 0.9
    assert plan.next_steps == ()


def test_a_plan_is_read_as_it_was_written(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(plan.as_json()))
    assert read_plan(tmp_path) == plan
    assert read_plan(tmp_path / "plan.json") == plan


def test_a_kept_policy_needs_no_stages(old_returns: np.ndarray) -> None:
    found = make_plan(make_record(verdict="keep"), old_returns)
    assert found.stages == ()
    assert "nothing to roll out" in found.notes[0]
    with pytest.raises(InputError, match="--stage 1: the plan has no stages"):
        found.find_stage(1)


def test_a_plan_takes_over_the_guardrails_of_its_decision(old_returns: np.ndarray) -> None:
    document = make_record().as_json()
    add_guardrails(document, 9.0)
    options = PlanOptions(guardrails=("length >= 3",))
    found = make_plan(check_decision(document), old_returns, options)
    assert found.guardrails == ("length >= 3", "complaints:discounted - old <= 1")


def test_an_open_verdict_gets_its_cheapest_next_step(old_returns: np.ndarray) -> None:
    waits = make_plan(make_record(verdict="undecided", more_episodes=300), old_returns)
    assert [step.name for step in waits.next_steps] == ["more of the same", "first stage"]
    assert waits.next_steps[0].price == 0.0
    begins = make_plan(make_record(verdict="undecided"), old_returns)
    assert [step.name for step in begins.next_steps] == ["first stage"]
    assert begins.next_steps[0].price == pytest.approx(
        begins.stages[0].cost + (begins.stages[0].loss_budget or 0.0)
    )
    forbidden = make_record(verdict="undecided", forbidden="the log drifts", remedy="take a part")
    assert make_plan(forbidden, old_returns).next_steps[0].what == "take a part"
    loses = make_record(
        verdict="undecided",
        net_gain={"mean": -0.3, "low": -0.5, "high": 0.1},
        remedy="keep the old policy for now",
    )
    (only,) = make_plan(loses, old_returns).next_steps
    assert (only.name, only.what, only.price) == ("keep", "keep the old policy for now", 0.0)


def test_a_promise_that_does_not_pay_says_so(old_returns: np.ndarray) -> None:
    net = {"mean": -0.3, "low": -0.5, "high": -0.1}
    found = make_plan(make_record(verdict="undecided", net_gain=net), old_returns)
    assert "does not exceed" in found.stages[0].note
    assert found.stages[0].episodes is None


def test_a_part_of_the_value_may_lie_behind_the_cut() -> None:
    record = make_record()
    assert find_seen_share(record, np.full(3, 0.45)) == pytest.approx(0.5)
    assert find_seen_share(record, np.full(3, 1.2)) == 1.0
    assert find_seen_share(record, np.full(3, -1.0)) == 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shares": (0.5, 0.1)}, "each has to be larger"),
        ({"shares": (0.0501, 0.0502)}, "no more than the stage before"),
        ({"risk": 0.7}, "an error probability"),
        ({"power": 1.0}, "a probability"),
        ({"episodes_per_unit": 0}, "at least one episode"),
        ({"unit": "block", "gap": 1}, "give a smaller gap or longer blocks"),
        ({"return_bounds": (0.0, 0.5)}, "give bounds that hold always"),
        ({"return_bounds": (1.0, 0.5)}, "has to be the smaller"),
        ({"guardrails": ("what",)}, "expected NAME"),
    ],
)
def test_wrong_wishes_are_refused(
    options: dict[str, object], words: str, old_returns: np.ndarray
) -> None:
    with pytest.raises(InputError, match=words):
        make_plan(make_record(), old_returns, PlanOptions(**options))  # type: ignore[arg-type]


def test_returns_are_needed() -> None:
    with pytest.raises(InputError, match="returns of 0 episodes"):
        make_plan(make_record(), np.zeros(0))


def test_wrong_plans_are_named(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_plan(tmp_path / "none.json")
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_plan(tmp_path)
    with pytest.raises(InputError, match="is no plan"):
        check_plan({"verdict": "switch"})
    document = plan.as_json()
    with pytest.raises(InputError, match="risk = 2"):
        check_plan(document | {"risk": 2})
    with pytest.raises(InputError, match="expected numbers from 1 on"):
        check_plan(document | {"stages": document["stages"][::-1]})
    broken = [document["stages"][0] | {"new_per_set": 5}]
    with pytest.raises(InputError, match="new_per_set = 5"):
        check_plan(document | {"stages": broken})


def test_exploration_is_a_next_step_with_its_price(old_returns: np.ndarray) -> None:
    overlap = {
        "excess": 0.2,
        "penalty": 3.0,
        "old_value": 0.9,
        "least": -0.1,
        "missing": [{"state": 1, "action": 0, "share": 0.8}],
    }
    record = make_record(
        verdict="undecided",
        net_gain={"mean": 1.0, "low": -1.0, "high": 4.0},
        names={"actions": ["stay", "go"], "states": ["hall", "kitchen"]},
    )

    def find(**changes: object) -> list[str]:
        entry = record.candidates[0].model_copy(update={"overlap": overlap | changes})
        changed = record.model_copy(update={"candidates": (entry,)})
        steps = make_plan(changed, old_returns).next_steps
        return [step.what for step in steps if step.name == "exploration"]

    (told,) = find()
    assert "20 times each" in told
    assert "stay at kitchen" in told
    # Twenty tries, each of which may lose all that lies above the worst of the log.
    assert "costs at most 20:" in told
    # It settles nothing where something else keeps the verdict open.
    assert find(penalty=0.5) == []
    assert find(missing=[]) == []
