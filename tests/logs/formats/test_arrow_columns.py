from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nacre.logs import read_log, validate_log
from nacre.logs.checks.problems import Problems
from nacre.logs.formats.arrow_columns import ArrowColumn, read_column
from tests.support.logs import assert_same, plain_columns, write_parquet

VECTORS = plain_columns()["observation"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()),
        pa.list_(pa.float32()),
        pa.list_(pa.int16()),
        pa.large_list(pa.float64()),
        pa.list_(pa.float32(), 2),
    ],
)
def test_every_kind_of_list_is_read(tmp_path: Path, kind: Any) -> None:
    log = read_log(write_parquet(tmp_path / "a.parquet", observation=pa.array(VECTORS, kind)))
    assert_same(log, read_log(write_parquet(tmp_path / "b.parquet")))


def test_chunks_and_slices_are_put_together() -> None:
    whole = pa.array([[float(i), -float(i)] for i in range(10)])
    fixed = whole.cast(pa.list_(pa.float64(), 2))
    expected = np.array(whole.to_pylist())
    for column in (whole, fixed):
        chunks = [column.slice(0, 3), column.slice(3, 0), column.slice(3, 7)]
        values = read_column(ArrowColumn("mean", column.type, 10), chunks, Problems())
        np.testing.assert_array_equal(values, expected)
        narrow = read_column(ArrowColumn("obs", column.type, 10, "observation"), chunks, Problems())
        assert narrow is not None
        assert narrow.dtype == np.float32
        np.testing.assert_array_equal(narrow, expected)


def test_chunks_of_single_numbers_with_and_without_holes() -> None:
    chunks = [pa.array([1, 2]), pa.array([None, 4], pa.int64())]
    values = read_column(ArrowColumn("x", pa.int64(), 4), chunks, Problems())
    np.testing.assert_array_equal(values, [1, 2, np.nan, 4])
    flags = read_column(ArrowColumn("x", pa.bool_(), 2), [pa.array([True, None])], Problems())
    np.testing.assert_array_equal(flags, [1, np.nan])
    empty = read_column(ArrowColumn("x", pa.int64(), 0), [], Problems())
    assert empty is not None
    assert empty.shape == (0,)
    fewer = read_column(ArrowColumn("x", pa.int64(), 9), [pa.array([1, 2])], Problems())
    np.testing.assert_array_equal(fewer, [1, 2])
    with pytest.raises(ValueError, match="more rows than the 1 that are claimed"):
        read_column(ArrowColumn("x", pa.int64(), 1), [pa.array([1, 2])], Problems())


@pytest.mark.parametrize(
    ("vectors", "row", "what"),
    [
        ([[0.0, 1.0], [1.0, 1.0], [1.0], [1.0, 1.0]], 2, "has 1 entries where most rows have 2"),
        ([[0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0]], 0, "has 1 entries where most rows have 2"),
        ([[0.0, 1.0], [1.0, 1.0], None, [1.0, 1.0]], 2, "has no vector where most rows have 2"),
        ([[], [1.0], [2.0], [3.0]], 0, "has 0 entries where most rows have 1"),
    ],
)
def test_ragged_vectors(tmp_path: Path, vectors: Any, row: int, what: str) -> None:
    problems = validate_log(write_parquet(tmp_path / "log.parquet", observation=vectors))
    assert len(problems) == 1
    assert f"column 'observation', row {row}: {what}; give every row a vector" in str(problems[0])


def test_vectors_without_entries(tmp_path: Path) -> None:
    empty = pa.array([[], [], [], []], pa.list_(pa.float64()))
    problems = validate_log(write_parquet(tmp_path / "log.parquet", observation=empty))
    assert [p.row for p in problems] == [0, 1, 2, 3]
    assert "has 0 entries where a vector is expected" in str(problems[0])


def test_a_missing_entry_is_named(tmp_path: Path) -> None:
    vectors = [[0.0, 1.0], [1.0, None], [1.0, 1.0], [1.0, 1.0]]
    path = write_parquet(tmp_path / "log.parquet", observation=vectors, next_observation=None)
    (text,) = map(str, validate_log(path))
    assert "column 'observation[1]', row 1: is missing, NaN" in text


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["1", "2", "3.5", "4e2"], "column 'reward': holds its values as text"),
        (["1", "2", None, "4"], "column 'reward', row 2: is not a number, found None"),
        ([[1.0]] * 4, None),
        ([[[1.0]]] * 4, "column 'reward': has the type 'list"),
        ([{"a": 1}] * 4, "column 'reward': is missing; there are"),
        ([b"1"] * 4, "column 'reward': has the type 'binary'"),
        ([None] * 4, "column 'reward', row 0: is missing"),
    ],
)
def test_rewards_of_other_types(tmp_path: Path, values: Any, what: str | None) -> None:
    texts = [str(p) for p in validate_log(write_parquet(tmp_path / "log.parquet", reward=values))]
    assert texts == [] if what is None else what in texts[0]


def test_long_texts_are_read_too(tmp_path: Path) -> None:
    reward = pa.array(["x\x1b" * 200, "1", "2", "3"], pa.large_string())
    (text,) = map(str, validate_log(write_parquet(tmp_path / "log.parquet", reward=reward)))
    assert r"found 'x\x1bx\x1b" in text
    assert text.isprintable()
    assert len(text) < 300
