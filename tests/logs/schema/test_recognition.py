from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.logs import ColumnMap, Log, read_log, validate_log, write_log
from tests.support.logs import plain_columns, save_npz, write_csv, write_npz, write_parquet

NAMES = {
    "episode": "traj_id",
    "observation": "obs",
    "action": "act",
    "reward": "rew",
    "terminated": "terminal",
    "truncated": "timeout",
    "next_observation": "next_obs",
}


def rename(names: dict[str, str], **changes: Any) -> dict[str, Any]:
    columns = plain_columns(**changes)
    return {names.get(name, name): values for name, values in columns.items()}


def write(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def notes_of(log: Log) -> list[str]:
    notes = log.provenance["notes"]
    assert isinstance(notes, list)
    return [str(note) for note in notes]


def texts_of(path: Path, **options: Any) -> list[str]:
    return [str(problem) for problem in validate_log(path, **options)]


@pytest.mark.parametrize(
    "names",
    [
        NAMES,
        {"episode": "Episode ID", "reward": "Reward", "observation": "STATE", "action": "Actions"},
        {"next_observation": "next-state", "observation": "state", "terminated": "done"},
        {"episode": "trajectory", "truncated": "truncations", "terminated": "terminations"},
    ],
)
def test_names_that_people_use(tmp_path: Path, names: dict[str, str]) -> None:
    log = read_log(write(tmp_path / "log.parquet", rename(names)))
    assert log.fingerprint() == read_log(write_parquet(tmp_path / "own.parquet")).fingerprint()
    for part, name in names.items():
        assert f"{part} from {name!r}" in notes_of(log)[0]
        assert log.provenance["columns"][part] == name  # type: ignore[index, call-overload]


def test_numbered_columns_of_other_names(tmp_path: Path) -> None:
    columns = rename(NAMES, observation=None, next_observation=None)
    columns |= {"obs_0": [0.0, 1, 2, 3], "obs_1": [5.0] * 4}
    log = read_log(write(tmp_path / "log.parquet", columns))
    assert log.provenance["columns"]["observation"] == ["obs_0", "obs_1"]  # type: ignore[index, call-overload]
    same = read_log(write_parquet(tmp_path / "own.parquet", next_observation=None))
    assert log.fingerprint() == same.fingerprint()


def test_own_names_count_more_than_others(tmp_path: Path) -> None:
    log = read_log(write_parquet(tmp_path / "log.parquet", done=[0, 1, 0, 1], state=[7.0] * 4))
    assert set(log.columns) == {"done", "state"}
    assert "columns" not in log.provenance
    np.testing.assert_array_equal(log.terminated, [0, 1, 0, 0])


def test_two_candidates_are_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    columns = rename({"observation": "obs"}, state=[0.0] * 4)
    path = write(tmp_path / "log.parquet", columns)
    (text,) = texts_of(path)
    assert text.endswith(
        "observation could be any of 'obs', 'state'; "
        'write observation = "obs" in the column map, or which it is'
    )
    log = read_log(path, columns={"observation": "obs"})
    assert list(log.columns) == ["state"]


def test_named_columns_become_a_box(tmp_path: Path) -> None:
    text = (
        "ride,north,south,phase,r,over\n"
        "a,1,2,0,0.5,False\na,2,3,1,0.5,False\na,3,4,0,0.5,True\nb,9,9,1,0.5,True\n"
    )
    path = write_csv(tmp_path / "log.csv", text)
    columns = {
        "episode": "ride",
        "observation": ["north", "south"],
        "action": "phase",
        "reward": "r",
        "terminated": "over",
    }
    log = read_log(path, columns=columns)
    np.testing.assert_array_equal(log.observations, [[1, 2], [2, 3], [3, 4], [9, 9]])
    assert isinstance(log.observation_space, Box)
    assert log.action_space == Discrete(2)
    np.testing.assert_array_equal(log.offsets, [0, 3, 4])
    assert log.provenance["columns"] == columns
    assert "episodes were numbered in the order in which they appear" in notes_of(log)
    one = read_log(path, columns={**columns, "observation": ["north"]})
    assert one.observations.shape == (4, 1)
    write_log(log, tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").provenance["columns"] == columns


def test_problems_name_the_columns_of_their_owner(tmp_path: Path) -> None:
    text = "run,north,south,action,pay,end\n0,1,2,0,0.5,0\n0,2,nan,1,much,2\n"
    path = write_csv(tmp_path / "log.csv", text)
    columns = ColumnMap("run", ("north", "south"), reward="pay", terminated="end")
    first, second, third = texts_of(path, columns=columns)
    assert "column 'pay', row 1 (line 3): is not a number, found 'much'" in first
    assert "column 'south', row 1 (line 3): is missing, NaN" in second
    assert "column 'end', row 1 (line 3): is neither true nor false, found 2" in third


def test_names_that_are_not_there(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet")
    (text,) = texts_of(path, columns={"reward": "pay"})
    assert "the column map names 'pay' for reward; there are 'episode', 'observation'" in text
    (text,) = texts_of(path, columns={"observation": ["north", "south"]})
    assert "the column map names 'north', 'south' for observation" in text


def test_a_map_may_name_the_stem_of_numbered_columns(tmp_path: Path) -> None:
    columns = plain_columns(observation=None, next_observation=None, x_0=[0.0] * 4, x_1=[1.0] * 4)
    path = write(tmp_path / "log.parquet", columns)
    assert read_log(path, columns={"observation": "x"}).observations.shape == (3, 2)


def test_one_column_for_two_things_and_others_left_out(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", next_observation=None, wait=[1.0, 2, 3, 4])
    columns = {"observation": ["wait", "reward"], "reward": "wait", "ignore": "truncated"}
    log = read_log(path, columns=columns)
    np.testing.assert_array_equal(log.observations[:, 0], log.rewards)
    assert log.columns == {}
    assert "the column 'observation' was left out: the column map says otherwise" in notes_of(log)
    np.testing.assert_array_equal(log.truncated, [0, 0, 1])


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz", ".arrow"])
def test_labels_number_texts(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame(
        {
            "episode": ["x", "x", "y", "y"],
            "weather": ["sun", "rain", "rain", "sun"],
            "phase": pd.Categorical(["green", "red", "green", "green"]),
            "reward": [1.0, 2.0, 3.0, 4.0],
            "done": [False, True, False, True],
        }
    )
    path = tmp_path / f"log{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".arrow":
        pyarrow.feather.write_feather(frame, path)
    else:
        texts = {n: frame[n].to_numpy(dtype=str) for n in ("episode", "weather")}
        codes = frame["phase"].to_numpy(dtype="S")
        np.savez(path, **texts, phase=codes, reward=frame["reward"], done=frame["done"])
    labels = {"observation": ["rain", "sun"], "action": ["red", "green", "amber"]}
    log = read_log(path, columns={"observation": "weather", "action": "phase", "labels": labels})
    np.testing.assert_array_equal(log.observations, [1, 0, 0, 1])
    np.testing.assert_array_equal(log.actions, [1, 0, 1, 1])
    assert log.observation_space == Discrete(2)
    assert log.action_space == Discrete(3)
    assert log.provenance["labels"] == labels


def test_labels_may_be_numbers(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", action=[10, 20, 10, 30])
    log = read_log(path, columns={"labels": {"action": [30, 20, 10]}})
    np.testing.assert_array_equal(log.actions, [2, 1, 2, 0])


@pytest.mark.parametrize("make", [write_parquet, write_npz])
def test_values_without_a_label_are_named(tmp_path: Path, make: Any) -> None:
    path = tmp_path / ("log.parquet" if make is write_parquet else "log.npz")
    make(path, action=["up", "down", "left", "up"])
    (text,) = texts_of(path, columns={"labels": {"action": ["up", "down"]}})
    assert text.endswith(
        "column 'action', row 2: is none of the labels 'up', 'down', found 'left'; "
        "add it to the labels in the column map, or mend the value"
    )


def test_missing_categories_are_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", action=["up", None, "up", "up"])
    (text,) = texts_of(path, columns={"labels": {"action": ["up", "down"]}})
    assert "column 'action', row 1: is missing; write missing.action" in text
    path = write_parquet(tmp_path / "log.parquet", episode=["a", "a", None, "b"])
    (text,) = texts_of(path)
    assert "column 'episode', row 2: is missing; name the episode" in text


def test_texts_without_labels_are_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", action=["up", "down", "down", "up"])
    (text,) = texts_of(path)
    assert (
        "column 'action': holds texts: 'down', 'up'; "
        'write labels.action = ["down", "up"] in the column map' in text
    )


def test_labels_that_do_not_fit(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", action=["up", "down", "down", "up"])
    labels = {"labels": {"action": ["up", "down"]}}
    (text,) = texts_of(path, columns=labels, action_space=Discrete(3))
    assert "column 'action': has 2 labels where its space is Discrete(3)" in text
    columns = {"observation": ["reward", "next"], "labels": {"observation": ["a"]}}
    path = write_parquet(tmp_path / "log.parquet", next=[1.0] * 4, next_observation=None)
    assert (
        "has labels.observation but is spread over 'reward', 'next'"
        in texts_of(path, columns=columns)[0]
    )
    path = write_npz(tmp_path / "log.npz")
    text = texts_of(path, columns={"labels": {"action": ["a", "b"]}})[0]
    assert "column 'action': has the shape (4, 1) and the dtype float64; store one text" in text


def test_worlds_that_never_end(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", terminated=None)
    assert "or write terminated = false there if the world never ends" in texts_of(path)[0]
    log = read_log(path, columns={"terminated": False})
    assert not log.terminated.any()
    np.testing.assert_array_equal(log.truncated, [0, 1, 0, 1])


def test_rows_in_order_without_episodes(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", episode=None)
    assert "or write episode = false there if rows lie in order" in texts_of(path)[0]
    log = read_log(path, columns={"episode": False})
    np.testing.assert_array_equal(log.offsets, [0, 2, 4])


def test_done_at_every_end(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", rename({"terminated": "done"}, terminated=[0, 1, 0, 1]))
    (text,) = texts_of(path)
    assert text.endswith(
        "column 'done': is true in row 3, where 'truncated' is true too: either the world ended "
        "the episode there, or the column marks every end; "
        'write terminated = "done" in the column map for the first, done = "done" for the second'
    )
    first = read_log(path, columns={"terminated": "done"})
    np.testing.assert_array_equal(first.terminated, [0, 1, 0, 1])
    second = read_log(path, columns={"done": "done"})
    np.testing.assert_array_equal(second.terminated, [0, 1, 0, 0])
    both = write_parquet(tmp_path / "log.parquet", done=[0, 1, 0, 1])
    third = read_log(both, columns={"done": "done"})
    assert "the column 'terminated' was left out: the column map says otherwise" in notes_of(third)
    (text,) = texts_of(both, columns={"done": "done", "ignore": ["truncated"]})
    assert "no column says which ends are truncated; name truncated too" in text
    wrong = write_parquet(tmp_path / "log.parquet", done=[0, 5, 0, 1], terminated=None)
    assert (
        "column 'done', row 1: is neither true nor false"
        in texts_of(wrong, columns={"done": "done"})[0]
    )


def test_arrays_named_as_in_d4rl_need_no_episodes(tmp_path: Path) -> None:
    names = {
        "observation": "observations",
        "action": "actions",
        "reward": "rewards",
        "terminated": "terminals",
        "truncated": "timeouts",
    }
    columns = rename(names, episode=None, next_observation=None)
    save_npz(tmp_path / "log.npz", columns)
    log = read_log(tmp_path / "log.npz")
    np.testing.assert_array_equal(log.offsets, [0, 2, 3])
    assert "there is no column of episodes: they end where a flag says so" in notes_of(log)


def test_flags_of_different_shapes_are_left_to_the_checks(tmp_path: Path) -> None:
    columns = rename({"terminated": "done"}, terminated=[[0, 1]] * 4)
    save_npz(tmp_path / "log.npz", columns)
    (text,) = texts_of(tmp_path / "log.npz")
    assert "column 'done': has the shape (4, 2)" in text
