"""Rows of mapped arrays, read when they are asked for and let go of at once.

A log that is larger than memory, and any part of one, holds its observations, actions and wide
columns as `MappedRows`. They are used as arrays are; what is taken from them is an ordinary array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

from nacre.logs.storage import stores
from nacre.logs.storage.stores import find_map, release

SPAN_BYTES = 2**25
"""How much of a file is looked at before its memory is given back."""


@dataclass(frozen=True)
class Runs:
    """Rows of an array: runs of neighbouring ones, one run after the other.

    Attributes:
        begins: (R,) the first row of each run.
        offsets: (R+1,) run r stands for the rows offsets[r]:offsets[r+1] of the result.
    """

    begins: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, begins: NDArray[Any], lengths: NDArray[Any]) -> Runs:
        """Runs of the given lengths."""
        return cls(np.asarray(begins, np.int64), np.append(0, np.cumsum(lengths)).astype(np.int64))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def places(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return the rows of the array that stand at the given rows of the result."""
        run = np.searchsorted(self.offsets, rows, side="right") - 1
        return np.asarray(self.begins[run] + (rows - self.offsets[run]))

    def all_places(self) -> NDArray[np.int64]:
        """Return (rows,) the rows of the array, one after the other."""
        shifts = np.repeat(self.begins - self.offsets[:-1], np.diff(self.offsets))
        return np.asarray(np.arange(len(self)) + shifts)

    def within(self, outer: Runs) -> Runs:
        """Return these runs of rows of the result of others as runs of the others' array.

        No run may reach from one of the others into the next.
        """
        return Runs(outer.places(self.begins), self.offsets)


class MappedRows(NDArrayOperatorsMixin):
    """Rows of a mapped array (N, …), all of them or some runs.

    Single rows, slices and lists of rows are read from the file and copied. Whatever else is done
    with it turns it into an ordinary array first.
    """

    def __init__(self, source: NDArray[Any], runs: Runs | None = None) -> None:
        self.source = source
        self.runs = runs
        n_rows = len(source) if runs is None else len(runs)
        self.shape: tuple[int, ...] = (n_rows, *source.shape[1:])
        self.dtype: np.dtype[Any] = source.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the rows would take in memory."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"MappedRows(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("mapped rows cannot be an array without being copied")
        rows: NDArray[Any] = self[:]
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(x) if isinstance(x, MappedRows) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, key: Any) -> Any:
        rows, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, slice):
            first, stop, step = rows.indices(len(self))
            taken = (
                self._copy(first, stop) if step == 1 else self.take(np.arange(first, stop, step))
            )
        elif rows is None or rows is Ellipsis:
            return self[:][key]
        else:
            places = np.asarray(rows)
            if places.dtype.kind == "b":
                places = np.flatnonzero(places)
            taken = self.take(places.reshape(-1)).reshape(*places.shape, *self.shape[1:])
            if places.ndim == 0:
                return taken[tuple(rest)] if rest else taken[()]
        return taken[(slice(None), *rest)] if rest else taken

    def take(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return (rows, …) the given ones, read in the order in which they lie in the file."""
        n_rows = len(self)
        outside = (rows < -n_rows) | (rows >= n_rows)
        if outside.any():
            raise IndexError(f"row {rows[outside][0]} of {n_rows}")
        places = np.where(rows < 0, rows + n_rows, rows)
        if self.runs is not None:
            places = self.runs.places(places)
        order = np.argsort(places)
        places = places[order]
        taken = np.empty((len(rows), *self.shape[1:]), self.dtype)
        span = max(1, SPAN_BYTES // max(1, self._row_bytes))
        begin = 0
        while begin < len(places):
            end = int(np.searchsorted(places, places[begin] + span))
            taken[order[begin:end]] = self.source[places[begin:end]]
            release(self.source)
            begin = end
        return taken

    def select(self, runs: Runs) -> MappedRows:
        """Return some of these rows, without reading them."""
        return MappedRows(self.source, runs if self.runs is None else runs.within(self.runs))

    def mean(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
        """Return the mean, to the bit that of an ordinary array."""
        if not self._by_row(axis):
            return np.asarray(self).mean(axis, dtype)
        return self._total(0.0, 1, dtype) / len(self)

    def std(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
        """Return the standard deviation, to the bit that of an ordinary array."""
        if not self._by_row(axis):
            return np.asarray(self).std(axis, dtype)
        return np.sqrt(self._total(self.mean(axis, dtype), 2, dtype) / len(self))

    @property
    def _row_bytes(self) -> int:
        return int(np.prod(self.shape[1:])) * self.dtype.itemsize

    def _by_row(self, axis: int | None) -> bool:
        """Whether NumPy sums row after row there; a single column it sums in another order."""
        wide = self.ndim == 2 and self.shape[1] > 1 and len(self) > 0
        return axis == 0 and wide and self.dtype.kind == "f"

    def _total(self, shift: Any, power: int, dtype: DTypeLike | None) -> NDArray[Any]:
        """Σ (row - shift)^power over the rows, one after the other as NumPy does."""
        total: NDArray[Any] | None = None
        for rows in self._blocks():
            part = self[rows].astype(dtype or self.dtype)
            if power == 2:
                part = part - shift
                part = part * part
            if total is not None:
                part[0] += total
            total = np.add.reduce(part, axis=0)
        return np.asarray(total)

    def _copy(self, first: int, stop: int) -> NDArray[Any]:
        copied = np.empty((max(0, stop - first), *self.shape[1:]), self.dtype)
        for rows in self._blocks(first, stop):
            target = slice(rows.start - first, rows.stop - first)
            if self.runs is None:
                copied[target] = self.source[rows]
            else:
                copied[target] = self.source[self.runs.places(np.arange(rows.start, rows.stop))]
            release(self.source)
        return copied

    def _blocks(self, first: int = 0, stop: int | None = None) -> Iterator[slice]:
        stop = len(self) if stop is None else stop
        step = max(1, stores.BLOCK_BYTES // max(1, self._row_bytes))
        return (slice(begin, min(begin + step, stop)) for begin in range(first, stop, step))


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot be written to, of the same memory."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def hold(values: NDArray[Any] | MappedRows) -> NDArray[Any]:
    """Return an array as a log keeps it: read-only, and never read as a whole if it is large.

    `MappedRows` are given out as arrays: they are used like them.
    """
    if isinstance(values, MappedRows):
        return cast(NDArray[Any], values)
    view = read_only(values)
    if find_map(view) is None or view.nbytes < stores.SMALL_BYTES:
        return view
    return cast(NDArray[Any], MappedRows(view))


def select_runs(values: NDArray[Any] | MappedRows, runs: Runs) -> NDArray[Any]:
    """Return rows of an array of a log: of a large mapped one without reading them.

    A single run of rows in memory is not copied either.
    """
    if isinstance(values, MappedRows):
        part = values.select(runs)
        small = part.nbytes < stores.SMALL_BYTES
        return np.asarray(part) if small else cast(NDArray[Any], part)
    if len(runs.begins) == 1:
        return values[int(runs.begins[0]) : int(runs.begins[0]) + len(runs)]
    return np.asarray(values[runs.all_places()])


def take_column(values: NDArray[Any] | MappedRows, index: int) -> NDArray[Any]:
    """Return a column of an array of a log, without reading it if the array is not in memory."""
    if isinstance(values, MappedRows):
        return cast(NDArray[Any], MappedRows(values.source[:, index], values.runs))
    return np.asarray(values[:, index])
