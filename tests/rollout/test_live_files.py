"""Several files of one live log: by day, by stage and by site, against the log in one piece."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.rollout.design import Design
from nacre.rollout.live_files import join_files
from nacre.rollout.live_log import read_units
from nacre.rollout.plan_record import Plan
from nacre.rollout.watching import look_at
from tests.support.rollout import add_columns, drop_column, play, play_design


def same(first: Log, second: Log) -> None:
    np.testing.assert_array_equal(first.rewards, second.rewards)
    np.testing.assert_array_equal(first.offsets, second.offsets)
    assert {*first.columns} == {*second.columns}
    for name, values in first.columns.items():
        np.testing.assert_array_equal(values, second.columns[name])


def cut(log: Log, *ends: int) -> dict[str, Log]:
    """Files of consecutive episodes."""
    bounds = [0, *ends, log.n_episodes]
    return {
        f"day-{day}.csv": log.select(range(first, last))
        for day, (first, last) in enumerate(itertools.pairwise(bounds))
    }


def leave_open(log: Log, count: int = 1) -> Log:
    """As readers mark a log whose last episode goes on."""
    return dataclasses.replace(log, provenance={"open_ends": count})


def test_days_in_any_order_are_the_whole_log(plan: Plan) -> None:
    log = play_design(plan.design(plan.stages[0]), 60)
    days = cut(log, 20, 45)
    same(join_files(days), log)
    same(join_files(dict(reversed(days.items()))), log)
    found = look_at(plan, join_files(days), 1)
    assert found.document["gain"] == look_at(plan, log, 1).document["gain"]
    # Without the numbers of units the order of the files is that of the episodes.
    plain = drop_column(log, "unit")
    same(join_files(cut(plain, 20)), plain)


def test_a_single_file_stays_as_it_is(plan: Plan) -> None:
    log = leave_open(play_design(plan.design(plan.stages[0]), 6))
    assert join_files({"live.csv": log}) is log


def test_a_file_for_each_site_is_put_together_by_period() -> None:
    design = Design("site", 3, 1, seed=4)
    log = play(design.draw(15))
    columns = {"period": np.arange(15) // 3, "site": np.arange(15) % 3}
    whole = add_columns(log, columns)
    files = {f"site-{site}.csv": whole.select(range(site, 15, 3)) for site in range(3)}
    units = read_units(join_files(files), design)
    assert units.unit.tolist() == list(range(15))
    np.testing.assert_array_equal(units.planned, design.draw(15))
    # One of them grows: its last period is not whole yet.
    files["site-1.csv"] = leave_open(files["site-1.csv"])
    assert read_units(join_files(files), design).missing.tolist() == [13]


def test_files_without_ends_lose_the_last_episode_of_the_last_one(plan: Plan) -> None:
    log = play_design(plan.design(plan.stages[0]), 30)
    files = {name: leave_open(one, one.n_episodes) for name, one in cut(log, 10, 20).items()}
    joined = join_files(files)
    assert joined.n_episodes == 29
    assert joined.n_open_ends == 0


def test_stages_that_no_column_names_are_those_of_the_files(plan: Plan) -> None:
    logs = [play_design(plan.design(stage), 6) for stage in plan.stages]
    joined = join_files({"a.csv": logs[0], "b.csv": logs[1]}, (1, 2))
    assert read_units(joined, plan.design(plan.stages[1])).planned.all()
    assert joined.columns["stage"][joined.offsets[:-1]].tolist() == [1] * 6 + [2] * 6


def test_files_that_do_not_fit_together_are_named(plan: Plan) -> None:
    log = play_design(plan.design(plan.stages[0]), 4)
    first, second = log.select([0, 1]), log.select([2, 3])
    with pytest.raises(InputError, match=r"b.csv: has no column 'arm', but a.csv has one"):
        join_files({"a.csv": first, "b.csv": drop_column(second, "arm")})
    wider = dataclasses.replace(second, action_space=Discrete(3))
    with pytest.raises(InputError, match=r"action space Discrete.3., but that of the log before"):
        join_files({"a.csv": first, "b.csv": wider})


def test_repeats_and_disorder_across_files_are_told(plan: Plan) -> None:
    design = plan.design(plan.stages[0])
    log = play_design(design, 20)

    def refuse(words: str, parts: Sequence[Log]) -> None:
        files = {f"{place}.csv": part for place, part in enumerate(parts)}
        with pytest.raises(InputError, match=words):
            read_units(join_files(files), design, "0.csv and 1.csv")

    refuse("unit 4 has 2 episodes", [log.select(range(10)), log.select(range(4, 20))])
    back = log.select([*range(10, 15), 3])
    refuse("has unit 3 after unit 14: the log is out of order", [log.select(range(3)), back])
