"""Where the arrays of a log live: in memory, or mapped from files when memory is too small.

Arrays that are mapped look like any other. What makes them different is handled here: they are
gone through in blocks, after each of which the pages that were touched are given back.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from nacre.logs.storage.arena import Arena

BLOCK_BYTES = 2**22
LARGE_BYTES = 2**24
MADV_NOHUGEPAGE = 15
SMALL_BYTES = 2**26
"""Mapped arrays smaller than this may be in memory as a whole."""


class Store(Protocol):
    """Makes room for large arrays."""

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array whose values are still arbitrary."""
        ...

    def keep(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return `values` where the arrays of this store live."""
        ...


class MemoryStore:
    """Arrays in memory."""

    def __init__(self) -> None:
        self._arena: Arena | None = None

    def share(self, arena: Arena) -> None:
        """From now on make large arrays in memory that another process takes over."""
        self._arena = arena

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array in memory."""
        if self._arena is not None:
            return self._arena.empty(shape, dtype)
        values = np.empty(shape, dtype)
        if values.nbytes >= LARGE_BYTES and sys.platform == "linux":
            _want_small_pages(values)
        return values

    def keep(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return `values` as they are."""
        return values


MEMORY = MemoryStore()


class MappedStore:
    """Arrays in `.npy` files of a directory, which belongs to this store alone.

    Args:
        directory: Where the files are made.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._count = 0

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array mapped from a new file."""
        if 0 in shape:
            return np.empty(shape, dtype)
        path = self.new_file(".npy")
        values = npy.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=shape)
        _reserve(path)
        return values

    def new_file(self, suffix: str) -> Path:
        """Return the name of a file that is not there yet."""
        self._count += 1
        return self.directory / f"{self._count}{suffix}"

    def keep(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return `values` mapped from a file, where they are not yet."""
        if find_file(values) is not None:
            return values
        kept = self.empty(values.shape, values.dtype)
        copy_blocks(values, kept)
        return kept


def _find_root(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return the array that spans a whole map, of which `values` is a part, if there is one."""
    root: Any = getattr(values, "source", values)
    while isinstance(root.base, np.ndarray):
        root = root.base
    return root if isinstance(root.base, mmap.mmap) else None


def find_map(values: NDArray[Any]) -> mmap.mmap | None:
    """Return the map in which an array lies, if it lies in one."""
    root = _find_root(values)
    return None if root is None else root.base  # type: ignore[return-value]


def find_file(values: NDArray[Any]) -> Path | None:
    """Return the file from which an array is mapped as a whole, if it is."""
    root = _find_root(values)
    if root is None or (root.shape, root.strides) != (values.shape, values.strides):
        return None
    name = getattr(root, "filename", None)
    return None if name is None or root.dtype != values.dtype else Path(name)


def release(*arrays: NDArray[Any]) -> None:
    """Give back the memory that mapped arrays hold; they are read again when needed."""
    for values in arrays:
        mapped = find_map(values)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def blocks(*arrays: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of rows that are a few megabytes each, and release mapped arrays after each."""
    n_rows = len(arrays[0])
    row_bytes = max(values.nbytes // max(1, n_rows) for values in arrays)
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
        release(*arrays)


def copy_blocks(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy all rows, block by block; what does not fit the target's numbers becomes infinite."""
    with np.errstate(over="ignore"):
        for rows in blocks(source, target):
            target[rows] = source[rows]


def take_rows(values: NDArray[Any], rows: NDArray[Any], store: Store = MEMORY) -> NDArray[Any]:
    """Return the given rows, places or truth values, block by block if they go to files."""
    if store is MEMORY:
        return np.asarray(values[rows])
    places = np.flatnonzero(rows) if rows.dtype.kind == "b" else rows
    taken = store.empty((len(places), *values.shape[1:]), values.dtype)
    for block in blocks(taken):
        taken[block] = values[places[block]]
        release(values)
    return taken


def _want_small_pages(values: NDArray[Any]) -> None:
    """Ask for ordinary pages: finding large ones can take longer than reading the log does."""
    first = -(-values.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    size = (values.ctypes.data + values.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), MADV_NOHUGEPAGE)


def _reserve(path: Path) -> None:
    """Take the room of a file now: writing to a map when there is none left ends the process."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
