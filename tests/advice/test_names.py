"""States and actions are called what the log calls them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre import examples
from nacre.advice.names import Names, name_files
from nacre.costs import IndexSets, Transport, groups
from nacre.costs.group_names import name_groups
from nacre.logs import Log, read_log
from nacre.logs.schema.encoding import ColumnEncoding

NAMED = Names(("none", "low"), (), ("idle",), ("pressure", "age"))


@pytest.fixture(scope="module")
def log() -> Log:
    sources = examples.find_sources("treatment")
    return read_log(sources.log, columns=sources.columns)


def test_a_log_with_labels_and_columns(log: Log) -> None:
    names = Names.of_log(log)
    assert names.actions == ("none", "low", "high")
    assert names.state_columns == ("pressure", "burden", "age")
    assert names.name_action(2) == "high"
    assert names.name_state(np.array([154.2, 7.36, 66.0])) == "pressure 154, burden 7.36, age 66"
    assert Names.of_record(names.as_json()) == names


@pytest.mark.parametrize(
    ("value", "state", "action"),
    [
        (0, "idle", "none"),
        (5, "state 5", "action 5"),
        ([1.25, 2.0], "pressure 1.25, age 2", "(1.25, 2)"),
        ([1.0, 2.0, 3.0], "(1, 2, 3)", "(1, 2, 3)"),
        ("<b>", "<b>", "<b>"),
        (True, "True", "True"),
    ],
)
def test_what_has_no_name_is_shown_as_it_is(value: object, state: str, action: str) -> None:
    assert NAMED.name_state(value) == state
    assert NAMED.name_action(value) == action


def test_records_that_hold_other_things_name_nothing() -> None:
    assert Names.of_record({"actions": 3, "states": None}) == Names()
    assert Names().as_json() == {}


def test_groups_take_the_labels_of_the_log(log: Log) -> None:
    statewise = Transport(IndexSets(((0,), (1, 2))))
    assert name_groups(statewise, log.action_space, log) == ("none", "low or high")
    assert name_groups(statewise, log.action_space) == ("action 0", "actions 1-2")
    assert name_groups(statewise, log.action_space, log, ("a", "b")) == ("a", "b")


def test_thresholds_take_the_names_of_the_columns() -> None:
    log = read_log(examples.find_sources("trolley").log)
    statewise = Transport(groups.sign(0))
    # D4RL's arrays have a name, their coordinates only numbers.
    assert name_groups(statewise, log.action_space, log) == ("action[0] ≤ 0", "action[0] > 0")
    columns: dict[str, Any] = {"columns": {"action": ["push"]}}
    named = dataclasses.replace(log, provenance=columns)
    assert name_groups(statewise, log.action_space, named) == ("push ≤ 0", "push > 0")


def test_states_of_a_table_are_shown_as_its_rows(tmp_path: Path) -> None:
    """Texts, times and what is missing, not the numbers that they became."""
    (tmp_path / "calls.csv").write_text(
        "called at,day,region,size,income,go,gain\n"
        "2024-01-31 23:58,2024-02-01,north,M,52000,0,1\n"
        "2024-02-01 00:01,2024-02-04,,L,,1,2\n"
        "1969-12-31 07:30,2024-02-05,south,S,0.125,1,3\n"
    )
    columns: dict[str, Any] = {
        "episode": False,
        "terminated": True,
        "observation": ["called at", "day", "region", "size", "income"],
        "action": "go",
        "reward": "gain",
        "labels": {"size": ["S", "M", "L"]},
        "encode": {"called at": "time", "day": "date", "region": "one_hot"},
        "missing": {"region": "category", "income": "mean"},
    }
    log = read_log(tmp_path / "calls.csv", columns=columns)
    names = Names.of_log(log)
    shown = [names.name_state(state) for state in np.asarray(log.observations)]
    assert shown == [
        "called at Wed 23:58, day Thu, region north, size M, income 52000",
        "called at Thu 00:01, day Sun, region missing, size L, income missing",
        "called at Wed 07:30, day Mon, region south, size S, income 0.125",
    ]
    again = Names.of_record(json.loads(json.dumps(names.as_json())))
    assert again == names
    assert again.name_state([1.0, 2.0]) == "(1, 2)"
    assert Names.of_record({"encodings": [{"kind": "magic"}]}) == Names()


def test_rare_categories_are_shown_as_other() -> None:
    encoding = ColumnEncoding("town", "one_hot", ("Bonn",), other=True, missing="category")
    assert [encoding.show(row) for row in np.eye(3).tolist()] == ["Bonn", "other", "missing"]


def test_candidates_are_named_by_distinct_paths() -> None:
    assert name_files(["a/new.zip", Path("b/old.v2.onnx")]) == ["new", "old.v2"]
    assert name_files(["a/x/new.zip", "b/x/new.zip", "c.zip"]) == ["a/x/new", "b/x/new", "c"]
    assert name_files(["new.zip", "a/new.onnx"]) == ["new", "a/new"]
    assert name_files([]) == []
