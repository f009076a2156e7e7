from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nacre.logs import (
    action_labels,
    action_names,
    observation_labels,
    observation_names,
    read_log,
    write_log,
)
from tests.support.logs import make_log, write_csv


def test_names_and_labels_come_from_the_columns_and_stay(tmp_path: Path) -> None:
    text = "episode,north,south,phase,reward,done\n0,1,2,red,1,0\n0,3,4,green,1,1\n"
    columns = {
        "observation": ["north", "south"],
        "action": "phase",
        "labels": {"action": ["red", "green"]},
    }
    log = read_log(write_csv(tmp_path / "log.csv", text), columns=columns)
    write_log(log, tmp_path / "log.parquet")
    for either in (log, read_log(tmp_path / "log.parquet")):
        assert observation_names(either) == ("north", "south")
        assert action_names(either) == ("phase",)
        assert action_labels(either) == ("red", "green")
        assert observation_labels(either) is None


def test_names_that_nobody_gave() -> None:
    assert observation_names(make_log(width=3)) == (
        "observation_0",
        "observation_1",
        "observation_2",
    )
    log = make_log(discrete_observations=True, discrete_actions=True)
    assert observation_names(log) == ("observation",)
    assert action_names(log) == ("action",)


def test_names_that_do_not_fit_are_not_used() -> None:
    log = make_log(width=2)
    for told in ({"observation": ["a"]}, ["a", "b"], None):
        assert observation_names(replace(log, provenance={"columns": told})) == (  # type: ignore[dict-item]
            "observation_0",
            "observation_1",
        )
    stem = replace(log, provenance={"columns": {"observation": "obs"}})
    assert observation_names(stem) == ("obs_0", "obs_1")
