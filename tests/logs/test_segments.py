"""Episodes by a column of theirs, or by where they start."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log, read_log
from nacre.logs.segments import segment_by_column, segment_by_start

TABLE = """episode,region,age,action,reward,done,tier
1,north,30,0,1.0,1,2
2,south,40,1,0.0,1,1
3,north,30,0,1.0,1,2
4,east,30,1,0.5,1,1
"""
MAP = """episode = "episode"
observation = ["region", "age"]
action = "action"
reward = "reward"
terminated = "done"
[encode]
region = "one_hot"
"""


@pytest.fixture
def log(tmp_path: Path) -> Log:
    (tmp_path / "log.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "map.toml").write_text(MAP, encoding="utf-8")
    return read_log(tmp_path / "log.csv", columns=tmp_path / "map.toml")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("region", {"east": [3], "north": [0, 2], "south": [1]}),
        ("age", {"30": [0, 2, 3], "40": [1]}),
        ("tier", {"1": [1, 3], "2": [0, 2]}),
    ],
)
def test_texts_numbers_and_further_columns(
    log: Log, column: str, expected: dict[str, list[int]]
) -> None:
    found = {one.label: one.episodes.tolist() for one in segment_by_column(log, column)}
    assert found == expected


def test_what_is_no_column_is_told(log: Log) -> None:
    with pytest.raises(InputError, match="no single column 'colour': there are"):
        segment_by_column(log, "colour")
    with pytest.raises(InputError, match="start_states is for numbered states"):
        segment_by_start(log)


def test_one_value_or_very_many_are_told(log: Log) -> None:
    many = dataclasses.replace(
        log.select(np.tile(np.arange(4), 10)),
        columns={"same": np.zeros(40), "number": np.arange(40)},
    )
    for column, values in (("same", 1), ("number", 40)):
        with pytest.raises(InputError, match=f"has {values} values"):
            segment_by_column(many, column)


def test_the_first_row_counts(log: Log) -> None:
    episodes = np.array([[0, 1, 1], [2, 0, 2]])
    joined = Log.from_arrays(
        episodes.ravel(),
        np.zeros(6, int),
        np.zeros(6),
        np.tile([False, False, True], 2),
        episode=np.repeat([0, 1], 3),
    )
    assert [one.label for one in segment_by_start(joined)] == ["state 0", "state 2"]
    assert [one.state for one in segment_by_start(joined)] == [0, 2]
    changing = dataclasses.replace(joined, columns={"kind": np.array([5, 1, 1, 7, 1, 1])})
    assert [one.label for one in segment_by_column(changing, "kind")] == ["5", "7"]
