from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from nacre.logs.storage import stores
from nacre.logs.storage.stores import (
    MEMORY,
    MappedStore,
    blocks,
    find_file,
    find_map,
    release,
    take_rows,
)


def test_blocks_cover_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "BLOCK_BYTES", 40)
    values = np.zeros((7, 2))
    covered = np.concatenate([np.arange(7)[rows] for rows in blocks(values)])
    np.testing.assert_array_equal(covered, np.arange(7))
    assert [rows.stop - rows.start for rows in blocks(values)] == [2, 2, 2, 1]
    assert list(blocks(np.zeros((0, 3)))) == []
    assert len(list(blocks(np.zeros((3, 100))))) == 3


def test_mapped_arrays_survive_the_release_of_their_memory(tmp_path: Path) -> None:
    values = MappedStore(tmp_path).empty((1000, 3), np.float32)
    values[:] = np.arange(3000).reshape(1000, 3)
    release(values, np.ones(3))
    np.testing.assert_array_equal(values.sum(), 2999 * 1500)
    assert find_map(values[5:]) is find_map(values)
    assert find_file(values) == tmp_path / "1.npy"
    assert find_file(np.asarray(values)) == tmp_path / "1.npy"
    assert find_file(values[5:]) is None
    assert find_file(values.T) is None
    assert find_file(np.ones(3)) is None
    assert find_map(np.ones(3)) is None


def test_kept_arrays_are_copied_once(tmp_path: Path) -> None:
    store = MappedStore(tmp_path)
    kept = store.keep(np.arange(5))
    assert store.keep(kept) is kept
    np.testing.assert_array_equal(kept, np.arange(5))
    assert MEMORY.keep(kept) is kept
    assert store.empty((0, 3), np.float32).shape == (0, 3)


def test_rows_by_place_and_by_truth_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "BLOCK_BYTES", 16)
    values = np.arange(12).reshape(6, 2)
    keep = np.array([True, False, True, True, False, True])
    for rows in (keep, np.array([5, 0, 0, 3])):
        np.testing.assert_array_equal(take_rows(values, rows, MappedStore(tmp_path)), values[rows])
        np.testing.assert_array_equal(take_rows(values, rows), values[rows])


def test_without_the_system_calls_things_still_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(mmap, "MADV_DONTNEED")
    monkeypatch.delattr(os, "posix_fallocate")
    kept = MappedStore(tmp_path).keep(np.arange(10))
    np.testing.assert_array_equal(kept, np.arange(10))


def test_large_arrays_in_memory_are_arrays_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LARGE_BYTES", 1)
    values = stores.MEMORY.empty((5000, 3), np.float32)
    values[:] = np.arange(15000).reshape(5000, 3)
    assert stores.find_map(values) is None
    np.testing.assert_array_equal(values.ravel(), np.arange(15000))
