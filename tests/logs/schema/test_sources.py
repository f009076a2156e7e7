from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nacre.logs import read_log, validate_log
from tests.support.logs import assert_same, plain_columns, write_npz, write_parquet


def numbered(name: str) -> dict[str, Any]:
    vectors = np.array(plain_columns()[name])
    return {f"{name}_{i}": vectors[:, i] for i in range(vectors.shape[1])}


@pytest.mark.parametrize("write", [write_parquet, write_npz])
def test_lists_and_numbered_columns_are_the_same(tmp_path: Path, write: Any) -> None:
    suffix = ".parquet" if write is write_parquet else ".npz"
    lists = read_log(write(tmp_path / f"lists{suffix}"))
    changes: dict[str, Any] = {"observation": None, "next_observation": None, "action": None}
    for name in list(changes):
        changes |= numbered(name)
    assert_same(read_log(write(tmp_path / f"numbered{suffix}", **changes)), lists)


@pytest.mark.parametrize("name", ["episode", "observation", "action", "reward", "terminated"])
def test_missing_columns_are_named_with_those_that_exist(tmp_path: Path, name: str) -> None:
    problems = validate_log(write_parquet(tmp_path / "log.parquet", **{name: None}))
    text = str(problems[0])
    assert len(problems) == 1
    assert f"column '{name}': is missing; there are '" in text
    assert "'next_observation'" in text
    assert f"; add the column {name}" in text


def test_all_missing_columns_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"a": [1], "b\x07": [2]}), path)
    texts = [str(p) for p in validate_log(path)]
    assert len(texts) == 4
    assert "write episode = false and terminated = true" in texts[0]
    assert all(r"there are 'a', 'b\x07'" in text for text in texts)
    assert "add the column action or action_0, action_1, …" in texts[2]


def test_the_other_problems_are_found_beside_a_missing_column(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", reward=None, action=[[0], [0], [np.nan], [0]])
    texts = "\n".join(str(p) for p in validate_log(path))
    assert "column 'reward': is missing" in texts
    assert "column 'action[0]', row 2" in texts


def test_structure_is_checked_beside_wrong_values(tmp_path: Path) -> None:
    path = write_npz(
        tmp_path / "log.npz", reward=[1, np.nan, 2, 3], terminated=[True, True, False, False]
    )
    texts = [str(p) for p in validate_log(path)]
    assert len(texts) == 2
    assert "column 'reward', row 1" in texts[0]
    assert "column 'terminated', row 0" in texts[1]
    flagless = write_npz(
        tmp_path / "log.npz",
        terminated=[0, 2, 0, 0],
        truncated=[3, 0, 0, 1],
        next_observation=[[7.0, 5.0], [9.0, 5.0], [3.0, 5.0], [4.0, 5.0]],
    )
    texts = [str(p) for p in validate_log(flagless)]
    assert len(texts) == 3
    assert "row 1: does not continue from row 0" in texts[2]


def test_a_gap_in_numbered_columns(tmp_path: Path) -> None:
    columns = numbered("observation")
    columns["observation_2"] = columns.pop("observation_1")
    path = write_npz(tmp_path / "log.npz", observation=None, **columns)
    texts = [str(p) for p in validate_log(path)]
    assert (
        "column 'observation_1': is missing: there are 'observation_0', 'observation_2'" in texts[0]
    )


def test_both_forms_of_a_vector_are_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", **numbered("observation"))
    (text,) = map(str, validate_log(path))
    assert "column 'observation': is there twice, also as 'observation_0', 'observation_1'" in text


def test_the_same_number_twice_is_refused(tmp_path: Path) -> None:
    columns = numbered("observation")
    path = write_npz(
        tmp_path / "log.npz", observation=None, **columns, observation_00=columns["observation_0"]
    )
    (text,) = map(str, validate_log(path))
    assert "column 'observation_00': cannot be the name of a further column" in text


def test_numbered_columns_that_are_wrong_are_all_named(tmp_path: Path) -> None:
    path = write_npz(
        tmp_path / "log.npz",
        observation=None,
        next_observation=None,
        observation_0=np.zeros((4, 2)),
        observation_1=np.zeros(4),
        observation_2=np.zeros(3),
        observation_3=["a"] * 4,
    )
    texts = "\n".join(str(p) for p in validate_log(path))
    assert "column 'observation_0': has the shape (4, 2)" in texts
    assert "column 'observation_2': has 3 rows where 4 are expected" in texts
    assert "column 'observation_3': has the dtype <U1" in texts


def test_numbered_columns_are_named_by_their_number(tmp_path: Path) -> None:
    columns = numbered("observation")
    columns["observation_1"][2] = np.nan
    path = write_npz(tmp_path / "log.npz", observation=None, **columns)
    (text,) = map(str, validate_log(path))
    assert "column 'observation_1', row 2: is missing, NaN" in text


def test_repeated_column_names(tmp_path: Path) -> None:
    columns = plain_columns()
    arrays = [pa.array(values) for values in columns.values()]
    table = pa.Table.from_arrays([*arrays, arrays[0]], names=[*columns, "episode"])
    pq.write_table(table, tmp_path / "log.parquet")
    (text,) = map(str, validate_log(tmp_path / "log.parquet"))
    assert "column 'episode': appears more than once; keep one of them" in text


def test_further_columns_are_kept_if_numeric(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "log.parquet",
        mean=[[1.0, 2.0]] * 4,
        chance_0=[0.1] * 4,
        chance_1=[0.9] * 4,
        alone_0=[1, 2, 3, 4],
        holes=[1, None, 3, 4],
        reward_0=[1.0] * 4,
        reward_1=[1.0] * 4,
        **{"weather\n": ["sun"] * 4},
        tags=[["a"], ["b"], [], None],
    )
    log = read_log(path)
    assert {name: values.shape for name, values in log.columns.items()} == {
        "mean": (4, 2),
        "chance": (4, 2),
        "alone_0": (4,),
        "holes": (4,),
        "reward_0": (4,),
        "reward_1": (4,),
    }
    np.testing.assert_array_equal(log.columns["holes"], [1, np.nan, 3, 4])
    notes = log.provenance["notes"]
    assert isinstance(notes, list)
    assert r"the column 'weather\n' is not numeric and was left out" in notes
    assert "the column 'tags' is not numeric and was left out" in notes


def test_a_ragged_further_column_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet", mean=[[1.0], [1.0, 2.0], [1.0], [1.0]])
    (text,) = map(str, validate_log(path))
    assert "column 'mean', row 1: has 2 entries where most rows have 1" in text


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    log = read_log(write_parquet(tmp_path / "log.parquet", **{"": [1] * 4}))
    assert "a column without a name was left out" in log.provenance["notes"]
    assert "" not in log.columns


def test_columns_of_different_lengths(tmp_path: Path) -> None:
    (text,) = map(str, validate_log(write_npz(tmp_path / "log.npz", reward=[1.0, 2.0])))
    assert "column 'reward': has 2 rows where the others have 4" in text


def test_a_log_without_rows(tmp_path: Path) -> None:
    columns = {name: pa.array([], pa.array(v).type) for name, v in plain_columns().items()}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    (text,) = map(str, validate_log(tmp_path / "log.parquet"))
    assert text.endswith("the log is empty; give at least one transition")
