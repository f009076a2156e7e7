"""The live log joins the old one: a new advice knows who acted where."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.advice import tasks
from nacre.advice.pipeline import advise
from nacre.errors import InputError
from nacre.estimators import exact
from nacre.logs import Log
from nacre.logs.acting import ACTING, find_acting
from nacre.rollout.joining import Joined, join_live
from nacre.rollout.live_files import join_files
from nacre.rollout.net_curve import find_net_curve
from nacre.rollout.plan_record import Plan
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.setting import rebuild_setting
from tests.support.rollout import RICHER, add_columns, make_record, play, play_design
from tests.support.rooms import (
    BEST,
    GIVEN_ALONE,
    OLD,
    WORLD,
    find_value,
    make_candidate,
    make_cost,
    make_policy,
)

OLD_LOG = play(np.zeros(60, bool), seed=105)


@pytest.fixture(scope="module")
def staged() -> Plan:
    """Half of the episodes in blocks of two, of which the first does not count."""
    record = make_record(verdict="undecided", log=OLD_LOG.identify())
    options = PlanOptions(
        shares=(0.5, 1.0), unit="block", episodes_per_unit=2, gap=1, seed=3, return_bounds=None
    )
    return make_plan(record, OLD_LOG.returns(0.8), options)


def run_stage(plan: Plan, units: int = 40, **options: Any) -> Log:
    return play_design(plan.design(plan.find_stage(1)), units, **options)


@pytest.fixture(scope="module")
def joined(staged: Plan) -> Joined:
    return join_live(staged, OLD_LOG, run_stage(staged))


def ask(joined: Joined, **options: Any) -> Any:
    return advise(
        joined.log,
        make_policy(OLD),
        make_cost(0.1),
        candidates=[make_candidate("best", BEST)],
        config=dataclasses.replace(GIVEN_ALONE, look=joined.look),
        acting=options.pop("acting", [make_policy(BEST)]),
        earlier=joined.earlier,
        progress=False,
        **options,
    )


def test_episodes_behind_gaps_join_with_who_acted(staged: Plan, joined: Joined) -> None:
    assert joined.earlier == 60
    assert joined.log.n_episodes == 100
    assert joined.live == (20, 20)
    design = staged.design(staged.find_stage(1))
    assert find_acting(joined.log)[60:].tolist() == design.draw(40).astype(int).tolist()
    # The advice, and the watch over the stage.
    assert joined.look == 3
    np.testing.assert_array_equal(joined.log.rewards[: len(OLD_LOG)], OLD_LOG.rewards)


def test_stages_of_one_file_join_one_after_the_other(staged: Plan) -> None:
    first, second = (play_design(staged.design(staged.find_stage(number)), 4) for number in (1, 2))
    both = join_live(staged, OLD_LOG, join_files({"1": first, "2": second}, (1, 2)))
    assert both.live == (2, 6)
    acting = find_acting(both.log)[60:]
    assert acting[4:].tolist() == [1, 1, 1, 1]


def test_a_plan_can_be_made_of_an_advice_with_a_live_log(joined: Joined) -> None:
    """Parts of the switch are estimated from both logs, each divided as the advice did."""
    advice = ask(joined)
    given = advice.record, joined.log, make_policy(OLD), make_cost(0.1)
    setting = rebuild_setting(*given, (make_policy(BEST),), joined.earlier)
    curve = find_net_curve(setting, make_policy(BEST), (), (0.5, 1.0))
    whole = curve.points[-1]
    truth = find_value(BEST) - find_value(OLD) - whole.cost
    low, high = whole.net_gain.low, whole.net_gain.high
    assert low is not None
    assert high is not None
    assert low <= truth <= high
    assert whole.proven
    with pytest.raises(InputError, match="given as --log and --live, with their --plan"):
        rebuild_setting(advice.record, OLD_LOG, make_policy(OLD), make_cost(0.1))
    # Its own live logs would be a third part of the log: that is refused, not mixed up.
    second = make_plan(advice.record, OLD_LOG.returns(0.8), PlanOptions(shares=(0.5, 1.0)))
    with pytest.raises(InputError, match="live logs of two plans are not joined"):
        join_live(second, joined.log, run_stage(second))


def test_a_new_advice_is_right_about_the_new_policy(joined: Joined) -> None:
    found = ask(joined)
    truth = float(exact.start_value(WORLD, BEST) - exact.start_value(WORLD, OLD))
    entry = found.record.chosen_entry
    assert found.verdict == "switch"
    low, high = entry.net_gain.low, entry.net_gain.high
    assert low <= truth - entry.cost.total <= high
    # The old policy's value is that of its own episodes, whatever else the log holds.
    old = found.record.old_value
    assert old.low <= float(exact.start_value(WORLD, OLD)) <= old.high + 0.2
    counts = [one["episodes"] for one in found.record.log["acting"]]
    assert counts == [80, 20]
    assert found.record.log["earlier_episodes"] == 60
    assert not found.record.forbidden


def test_without_the_further_policy_its_episodes_are_refused(joined: Joined) -> None:
    with pytest.raises(InputError, match="but 0 further policies are given; give all that acted"):
        ask(joined, acting=[])
    with pytest.raises(InputError, match="has no column 'acting_policy'"):
        ask(dataclasses.replace(joined, log=OLD_LOG))
    alone = add_columns(OLD_LOG, {ACTING: np.ones(60)})
    with pytest.raises(InputError, match="the old policy acted in 0 episodes"):
        ask(dataclasses.replace(joined, log=alone))
    with pytest.raises(InputError, match="earlier = 100: the log has 100 episodes"):
        ask(dataclasses.replace(joined, earlier=100))


def test_another_policy_than_the_given_one_is_noticed(joined: Joined) -> None:
    found = ask(joined, acting=[make_policy(np.array([[0.98, 0.02], [0.02, 0.98]]))])
    assert found.verdict == "undecided"
    assert "was not made by the given old policy" in " ".join(found.record.notes)


def test_a_changed_world_is_seen_in_the_old_policys_episodes(staged: Plan) -> None:
    live = run_stage(staged, 120, world=RICHER)
    found = ask(join_live(staged, OLD_LOG, live))
    assert "drifts" in found.record.forbidden


def test_what_was_learned_from_stays_apart_from_what_is_tested_on(joined: Joined) -> None:
    def split(log: Log, earlier: int) -> Any:
        setting = ask(joined).setting
        setting = dataclasses.replace(
            setting, log=log, earlier=earlier, acting=() if not earlier else setting.acting
        )
        checks = tasks.check_log(setting, report=None)
        return tasks.split_log(setting, checks=checks, report=None).episodes

    before, after = split(OLD_LOG, 0), split(joined.log, joined.earlier)
    for part in (0, 1):
        kept = after[part][after[part] < joined.earlier]
        np.testing.assert_array_equal(kept, before[part])
        assert np.any(after[part] >= joined.earlier)


def test_logs_that_do_not_belong_together_are_refused(staged: Plan) -> None:
    with pytest.raises(InputError, match="is not the log of the plan's advice"):
        join_live(staged, play(np.zeros(60, bool), seed=106), run_stage(staged))
    other = run_stage(staged)
    wider = dataclasses.replace(other, action_space=Discrete(3))
    with pytest.raises(
        InputError, match=r"action space Discrete.3., but that of the log before is"
    ):
        join_live(staged, OLD_LOG, wider)
    early = run_stage(staged).select([0])
    with pytest.raises(InputError, match="no whole episode behind a gap yet"):
        join_live(staged, OLD_LOG, early)


def test_estimators_that_know_of_one_policy_are_given_its_episodes(joined: Joined) -> None:
    seen = {}

    @dataclasses.dataclass(frozen=True)
    class Plain:
        name: str = "plain"
        extrapolates: bool = True

        def applies(self, problem: Any) -> str:
            seen[self.name] = problem
            return "it only looks"

        def prepare(self, *given: Any) -> None: ...

        def estimate(self, *given: Any) -> None: ...

    config = dataclasses.replace(GIVEN_ALONE, estimators=(*GIVEN_ALONE.estimators, Plain()))  # type: ignore[arg-type]
    setting = dataclasses.replace(ask(joined).setting, config=config)
    split = tasks.split_log(setting, checks=tasks.check_log(setting, report=None), report=None)
    assert tasks.list_inapplicable(setting, split) == {"plain": "it only looks"}
    problem = seen["plain"]
    assert problem.acting == ()
    assert not find_acting(problem.log).any()
    assert problem.log.n_episodes < split.test.n_episodes
