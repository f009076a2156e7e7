"""Rows of mapped arrays: used as arrays are, to the bit, without being read as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.logs import read_log, write_log
from nacre.logs.storage import stores, views
from nacre.logs.storage.stores import MappedStore
from nacre.logs.storage.views import MappedRows, Runs, hold, select_runs, take_column
from tests.support.logs import assert_same, make_log

N_ROWS = 40


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is small, and blocks and spans are a few rows."""
    monkeypatch.setattr(stores, "SMALL_BYTES", 0)
    monkeypatch.setattr(stores, "BLOCK_BYTES", 100)
    monkeypatch.setattr(views, "SPAN_BYTES", 50)


def make_rows(directory: Path, width: int = 3) -> tuple[MappedRows, NDArray[np.float32]]:
    """Mapped rows, and the same in memory."""
    plain = np.random.default_rng(0).normal(3.0, 2.0, (N_ROWS, width)).astype(np.float32)
    return MappedRows(MappedStore(directory).keep(plain)), plain


def test_runs_by_hand() -> None:
    runs = Runs.of(np.array([7, 2]), np.array([3, 2]))
    assert len(runs) == 5
    np.testing.assert_array_equal(runs.all_places(), [7, 8, 9, 2, 3])
    np.testing.assert_array_equal(runs.places(np.array([4, 0, 2])), [3, 7, 9])


def test_runs_of_runs() -> None:
    """Of rows 7, 8, 9, 2, 3 the second and third, and the last."""
    outer = Runs.of(np.array([7, 2]), np.array([3, 2]))
    inner = Runs.of(np.array([1, 4]), np.array([2, 1])).within(outer)
    np.testing.assert_array_equal(inner.all_places(), [8, 9, 3])


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "key",
    [
        3,
        -1,
        np.int64(5),
        slice(None),
        slice(4, 30),
        slice(30, 4),
        slice(2, None, 7),
        slice(None, None, -1),
        [5, 5, 0, 39, -40],
        np.array([[1, 2, 3], [39, 0, 7]]),
        np.arange(N_ROWS) % 3 == 0,
        np.array([], int),
        (slice(None), 1),
        (slice(3, 9), slice(0, 2)),
        (4, 2),
        (np.array([3, 1]), None),
        None,
        Ellipsis,
    ],
    ids=str,
)
@pytest.mark.parametrize("part", [False, True])
def test_they_are_indexed_as_arrays_are(tmp_path: Path, key: Any, part: bool) -> None:
    rows, plain = make_rows(tmp_path)
    if part:
        runs = Runs.of(np.array([20, 0]), np.array([20, 20]))
        rows, plain = rows.select(runs), plain[runs.all_places()]
    assert (rows.shape, rows.dtype, rows.ndim, len(rows)) == ((N_ROWS, 3), plain.dtype, 2, N_ROWS)
    assert rows.nbytes == plain.nbytes
    found = rows[key]
    np.testing.assert_array_equal(found, plain[key])
    assert np.shape(found) == plain[key].shape


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    rows, _ = make_rows(tmp_path)
    for wrong in (40, -41):
        with pytest.raises(IndexError, match=f"row {wrong} of 40"):
            rows[[0, wrong]]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("width", [1, 2, 3, 11])
@pytest.mark.parametrize("dtype", [None, np.float64])
def test_mean_and_spread_to_the_bit(tmp_path: Path, width: int, dtype: Any) -> None:
    rows, plain = make_rows(tmp_path, width)
    for axis in (0, None):
        np.testing.assert_array_equal(rows.mean(axis, dtype), plain.mean(axis, dtype))
        np.testing.assert_array_equal(rows.std(axis, dtype), plain.std(axis, dtype))


def test_they_turn_into_arrays(tmp_path: Path) -> None:
    rows, plain = make_rows(tmp_path)
    np.testing.assert_array_equal(np.asarray(rows, np.float64), plain.astype(np.float64))
    np.testing.assert_array_equal(rows <= 3.0, plain <= 3.0)
    np.testing.assert_array_equal(1.0 - rows, 1.0 - plain)
    np.testing.assert_array_equal(np.abs(rows), np.abs(plain))
    assert repr(rows) == "MappedRows(shape=(40, 3), dtype=float32)"
    with pytest.raises(ValueError, match="without being copied"):
        np.asarray(rows, copy=False)


def test_small_maps_and_memory_are_held_as_arrays(tmp_path: Path) -> None:
    rows, plain = make_rows(tmp_path)
    for values in (plain, rows.source):
        held = hold(values)
        assert isinstance(held, np.ndarray)
        assert not held.flags.writeable
    kept: object = hold(rows)
    assert kept is rows
    two = Runs.of(np.array([9, 2]), np.array([3, 2]))
    for whole in (plain, rows.source, rows):
        part = select_runs(whole, two)
        assert isinstance(part, np.ndarray)
        np.testing.assert_array_equal(part, plain[[9, 10, 11, 2, 3]])
    assert np.shares_memory(select_runs(plain, Runs.of(np.array([5]), np.array([4]))), plain)


@pytest.mark.usefixtures("tiny")
def test_columns_are_not_read_before_they_are_needed(tmp_path: Path) -> None:
    rows, plain = make_rows(tmp_path)
    column = take_column(rows, 2)
    assert isinstance(column, MappedRows)
    np.testing.assert_array_equal(column, plain[:, 2])
    np.testing.assert_array_equal(take_column(plain, 2), plain[:, 2])


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz", ".arrow"])
def test_parts_of_parts_of_a_mapped_log_are_written(tmp_path: Path, suffix: str) -> None:
    log = make_log((5, 2, 7, 3, 4, 6), further=True)
    write_log(log, tmp_path / "log.parquet")
    mapped = read_log(tmp_path / "log.parquet", cache_dir=tmp_path / "cache")
    assert mapped.is_mapped
    assert not log.is_mapped
    both = [
        one.select([4, 1, 5, 0]).split(0.5, seed=1)[1].subsample(4, seed=2) for one in (log, mapped)
    ]
    assert isinstance(both[1].observations, MappedRows)
    assert both[0].fingerprint() == both[1].fingerprint()
    assert_same(both[1], both[0])
    write_log(both[1], tmp_path / f"part{suffix}")
    assert read_log(tmp_path / f"part{suffix}").fingerprint() == both[0].fingerprint()
