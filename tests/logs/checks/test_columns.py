from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.logs import read_log, validate_log
from tests.support.logs import write_npz, write_parquet


def one_problem(path: Path, **spaces: Any) -> str:
    problems = validate_log(path, **spaces)
    assert len(problems) == 1, [str(p) for p in problems]
    return str(problems[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_numbers_that_are_not_finite(tmp_path: Path, bad: float) -> None:
    observation = [[0.0, 5.0], [1.0, 5.0], [2.0, bad], [3.0, 5.0]]
    text = one_problem(write_npz(tmp_path / "log.npz", observation=observation))
    assert "column 'observation[1]', row 2: is missing, NaN, infinite or too large" in text
    assert text.endswith(f"found {bad:.9g}; write a finite number or leave the episode out")
    text = one_problem(write_npz(tmp_path / "log.npz", reward=[1, 2, bad, 4]))
    assert "column 'reward', row 2" in text
    text = one_problem(write_npz(tmp_path / "log.npz", action=[[0], [0], [0], [bad]]))
    assert "column 'action[0]', row 3" in text


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
def test_rewards_that_are_no_numbers(tmp_path: Path, suffix: str) -> None:
    write = write_parquet if suffix == ".parquet" else write_npz
    text = one_problem(write(tmp_path / f"log{suffix}", reward=["1", "2", "high", "4"]))
    assert "column 'reward'" in text
    if suffix == ".parquet":
        assert "row 2: is not a number, found 'high'; write a number in every row" in text
    else:
        assert "has the dtype <U4, not numbers" in text


def test_rewards_may_be_truth_values_or_have_an_axis_of_their_own(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", reward=[[True], [False], [True], [True]])
    np.testing.assert_array_equal(read_log(path).rewards, [1, 0, 1, 1])
    text = one_problem(write_npz(tmp_path / "log.npz", reward=np.zeros((4, 2))))
    assert "column 'reward': has the shape (4, 2) where (rows,) is expected" in text


def test_actions_outside_a_box(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", action=[[0.5], [1.5], [-1.0], [-2.0]])
    problems = [str(p) for p in validate_log(path, action_space=Box(-1, 1, (1,)))]
    assert len(problems) == 2
    assert (
        "column 'action[0]', row 1: lies outside its space, from -1 to 1, found 1.5" in problems[0]
    )
    assert "row 3" in problems[1]


def test_bounds_have_a_tolerance(tmp_path: Path) -> None:
    near = write_npz(tmp_path / "log.npz", action=[[1 + 5e-7], [-1 - 5e-7], [0], [0]])
    assert validate_log(near, action_space=Box(-1, 1, (1,))) == []
    off = write_npz(tmp_path / "log.npz", action=[[1 + 5e-6], [0], [0], [0]])
    assert "found 1.00000501" in one_problem(off, action_space=Box(-1, 1, (1,)))


def test_actions_outside_a_discrete_space(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", action=[0, 1, 2, 3])
    text = one_problem(path, action_space=Discrete(3))
    assert "column 'action', row 3: lies outside Discrete(3), found 3" in text
    text = one_problem(write_npz(tmp_path / "log.npz", action=[0, -1, 0, 0]))
    assert "column 'action', row 1: is no whole number from 0 up, found -1" in text
    text = one_problem(write_npz(tmp_path / "log.npz", action=[0, 2**40, 0, 0]))
    assert f"found {2**40}" in text


def test_elements_that_are_not_whole(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", action=[0.0, 1.0, 0.5, np.nan])
    problems = [str(p) for p in validate_log(path, action_space=Discrete(3))]
    assert "column 'action', row 2: is no whole number, found 0.5" in problems[0]
    assert "column 'action', row 3: is no whole number, found nan" in problems[1]


def test_whole_numbers_may_come_as_floats_or_in_an_axis_of_their_own(tmp_path: Path) -> None:
    for action in ([0.0, 1.0, 2.0, 1.0], [[0], [1], [2], [1]]):
        log = read_log(write_npz(tmp_path / "log.npz", action=action), action_space=Discrete(3))
        np.testing.assert_array_equal(log.actions, [0, 1, 2, 1])
        assert log.actions.dtype == np.int32


def test_truth_values_are_elements_of_a_discrete_space(tmp_path: Path) -> None:
    log = read_log(write_npz(tmp_path / "log.npz", action=[True, False, True, True]))
    assert log.action_space == Discrete(2)
    np.testing.assert_array_equal(log.actions, [1, 0, 1, 1])


def test_single_floats_are_vectors_of_one(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", action=[0.5, -0.5, 0.0, 1.0])
    assert read_log(path).actions.shape == (4, 1)
    bad = write_npz(tmp_path / "log.npz", action=[0.5, -0.5, np.nan, 1.0])
    assert "column 'action', row 2: is missing" in one_problem(bad)
    off = write_npz(tmp_path / "log.npz", action=[0.5, -0.5, 2.0, 1.0])
    text = one_problem(off, action_space=Box(-1, 1, (1,)))
    assert "column 'action', row 2: lies outside its space" in text


def test_flags_that_are_neither_true_nor_false(tmp_path: Path) -> None:
    text = one_problem(write_npz(tmp_path / "log.npz", terminated=[0, 1, 0, 7]))
    assert "column 'terminated', row 3: is neither true nor false, found 7" in text
    text = one_problem(write_npz(tmp_path / "log.npz", truncated=[0, 0, 0.5, 1]))
    assert "column 'truncated', row 2" in text
    text = one_problem(write_npz(tmp_path / "log.npz", truncated=["no"] * 4))
    assert "column 'truncated': has the dtype <U2" in text
    assert validate_log(write_npz(tmp_path / "log.npz", terminated=[0.0, 1.0, 0.0, 0.0])) == []


def test_missing_flags_are_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", terminated=[False, None, False, True])
    assert "column 'terminated', row 1: is neither true nor false, found nan" in one_problem(path)


def test_episodes_have_whole_numbers(tmp_path: Path) -> None:
    text = one_problem(write_npz(tmp_path / "log.npz", episode=[0, 0, 0.5, 1]))
    assert "column 'episode', row 2: is no whole number, found 0.5" in text
    named = read_log(write_npz(tmp_path / "log.npz", episode=["b", "b", "a", "a"]))
    np.testing.assert_array_equal(named.offsets, [0, 2, 4])
    large = np.array([0, 0, 2**64 - 1, 1], dtype=np.uint64)
    assert f"found {2**64 - 1}" in one_problem(write_npz(tmp_path / "log.npz", episode=large))


def test_observation_and_successor_in_different_forms(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", next_observation=[[1.0], [9.0], [3.0], [4.0]])
    text = one_problem(path)
    assert "column 'next_observation': is 1 wide where its space has 2 coordinates" in text


def test_successors_are_read_in_the_form_of_the_observations(tmp_path: Path) -> None:
    path = write_npz(
        tmp_path / "log.npz", observation=[0.5, 1.0, 0.5, 2.0], next_observation=[1, 2, 2, 0]
    )
    assert read_log(path).next_observations.shape == (4, 1)
    path = write_npz(
        tmp_path / "log.npz", observation=[0, 1, 2, 3], next_observation=[1.0, 6.0, 3.0, 4.0]
    )
    log = read_log(path)
    assert log.next_observations.dtype == np.int32
    assert log.observation_space == Discrete(7)
    path = write_npz(
        tmp_path / "log.npz", observation=[0, 1, 2, 3], next_observation=[1.0, np.nan, 3.0, 4.0]
    )
    text = one_problem(path)
    assert "column 'next_observation', row 1: is no whole number, found nan" in text


def test_further_columns_become_common_dtypes(tmp_path: Path) -> None:
    path = write_npz(
        tmp_path / "log.npz",
        half=np.ones(4, np.float16),
        swapped=np.arange(4, dtype=">i4"),
        extended=np.ones(4, np.longdouble),
    )
    columns = read_log(path).columns
    assert {name: str(values.dtype) for name, values in columns.items()} == {
        "half": "float32",
        "swapped": "int32",
        "extended": "float64",
    }
    np.testing.assert_array_equal(columns["swapped"], np.arange(4))


def test_further_columns_of_more_axes_are_refused(tmp_path: Path) -> None:
    text = one_problem(write_npz(tmp_path / "log.npz", image=np.zeros((4, 2, 2))))
    assert "column 'image': has the shape (4, 2, 2)" in text
    text = one_problem(write_npz(tmp_path / "log.npz", nothing=np.zeros((4, 0))))
    assert "column 'nothing': has the shape (4, 0)" in text


def test_decimals_and_small_integers_are_numbers(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "log.parquet",
        reward=pa.array([1, 2, 3, 4]).cast(pa.decimal128(21, 2)),
        episode=pa.array([0, 0, 1, 1], pa.int8()),
    )
    np.testing.assert_array_equal(read_log(path).rewards, [1, 2, 3, 4])
