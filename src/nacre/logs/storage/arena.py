"""Memory that one process fills and another takes over without copying: arrays one after another.

It has no name and lies in no folder: nothing stays behind, whoever is killed.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PLACE = mmap.PAGESIZE
LARGE_BYTES = 2**20
MADV_POPULATE_WRITE = 23
"""Linux's number for it, which Python has no name for; older systems refuse it."""


@contextlib.contextmanager
def open_memory() -> Iterator[tuple[int, str]]:
    """New memory: its descriptor, and the name by which a process of ours can open it meanwhile."""
    handle = os.memfd_create("nacre")
    try:
        yield handle, f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)


class Arena:
    """Makes arrays in such memory.

    Args:
        name: What `open_memory` gave.
        limit: Bytes that all arrays together may take.
    """

    def __init__(self, name: str, limit: int) -> None:
        handle = os.open(name, os.O_RDWR)
        try:
            os.ftruncate(handle, limit)
            self._map = mmap.mmap(handle, limit)
        finally:
            os.close(handle)
        self._limit, self._used = limit, 0
        self._first = np.frombuffer(self._map, np.uint8).ctypes.data

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose values are still arbitrary.

        Raises:
            MemoryError: If there is no room for it.
        """
        kind = np.dtype(dtype)
        size = int(np.prod(shape, dtype=object)) * kind.itemsize
        if size > self._limit - self._used:
            raise MemoryError
        begin, self._used = self._used, -(-(self._used + size) // PLACE) * PLACE
        if size > LARGE_BYTES:
            # All pages at once: one by one, when they are first written to, takes longer.
            with contextlib.suppress(OSError, ValueError):
                self._map.madvise(MADV_POPULATE_WRITE, begin, self._used - begin)
        part = memoryview(self._map)[begin : begin + size]
        return np.frombuffer(part, kind).reshape(shape)

    def place(self, values: NDArray[Any]) -> list[Any]:
        """Where an array lies, with its form; it is copied here if it lies elsewhere."""
        begin = values.ctypes.data - self._first
        inside = 0 <= begin <= self._limit - values.nbytes and values.flags.c_contiguous
        if not inside:
            copied = self.empty(values.shape, values.dtype)
            copied[...] = values
            begin = copied.ctypes.data - self._first
        return [begin, values.dtype.str, list(values.shape)]

    def drop_all_but(self, places: Mapping[str, list[Any]]) -> None:
        """Give back the memory of all other arrays."""
        position = 0
        for begin, kind, shape in sorted(places.values()):
            self._drop(position, begin)
            position = begin + int(np.prod(shape, dtype=object)) * np.dtype(kind).itemsize
        self._drop(position, self._limit)

    def _drop(self, begin: int, end: int) -> None:
        first, last = -(-begin // PLACE) * PLACE, end // PLACE * PLACE
        if last > first:
            self._map.madvise(mmap.MADV_REMOVE, first, last - first)


def take_arrays(handle: int, places: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of such memory, which may be closed afterwards.

    Raises:
        ValueError: If they do not lie within it, or are no plain numbers.
    """
    size = os.fstat(handle).st_size
    mapped = mmap.mmap(handle, size, prot=mmap.PROT_READ)
    arrays = {}
    for name, (begin, kind, shape) in places.items():
        dtype = np.dtype(str(kind))
        count = int(np.prod([int(length) for length in shape], dtype=object))
        if dtype.kind not in "biuf" or begin < 0 or count < 0:
            raise ValueError(f"{name}: not an array of numbers")
        part = memoryview(mapped)[begin : begin + count * dtype.itemsize]
        arrays[name] = np.frombuffer(part, dtype, count).reshape(shape)
    return arrays
