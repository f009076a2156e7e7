"""Logs in HDF5 files as D4RL writes them: one array a column, no pickles, no other files.

Only plain arrays at the top of the file are read. Attributes are never looked at, links are never
followed, and what a header claims is compared with what the file holds before memory is taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.formats.array_sources import WholeArrays
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import Store, blocks

LARGEST_CHUNK = 2**28
# The most that deflate can shrink; the other filters that are allowed shrink less.
_LARGEST_RATIO = 1033
_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 6: "scaleoffset", 32000: "lzf"}
_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError, MemoryError, OverflowError)


class Hdf5Source(WholeArrays):
    """The arrays at the top of an HDF5 file."""

    def __init__(self, file: Any, size: int, problems: Problems, store: Store) -> None:
        names = [name for name in file if not _is_group(file, name)]
        super().__init__(names, problems, store=store)
        self._file = file
        self._size = size

    def is_numeric(self, name: str) -> bool:
        """Return whether a name leads to an array of numbers in this file."""
        try:
            data: Any = self._file[name] if is_own(self._file, name) else None
        except _ERRORS:
            # It is named when it is loaded.
            return False
        if not getattr(data, "shape", None):
            return False
        return bool(data.dtype.kind in "biuf")

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return an array, or None after reporting why it cannot be read."""
        return load_array(self._file, name, self._size, self.problems, self.store)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Hdf5:
    """HDF5 with one array a column, as D4RL writes it. Read-only."""

    suffixes = (".hdf5", ".h5")
    native = True

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> Hdf5Source | None:
        """Open an HDF5 file; arrays are checked and read when they are asked for."""
        file = open_hdf5(path, problems)
        # A file may open and its list of arrays be damaged.
        with report_damage(problems):
            return None if file is None else Hdf5Source(file, path.stat().st_size, problems, store)
        return None

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log would take, from what they claim."""
        file = open_hdf5(path, Problems())
        if file is None:
            return 0
        with file:
            arrays = [file[name] for name in file if is_own(file, name)]
            return sum(prod(array.shape) * 4 for array in arrays if getattr(array, "shape", None))


def open_hdf5(path: Path, problems: Problems) -> Any:
    """Return an opened file of h5py, or None after reporting why there is none."""
    try:
        h5py = import_module("h5py")
    except ImportError:
        problems.add("needs h5py, which is not installed", "pip install 'nacre[hdf5]'")
        return None
    with report_damage(problems):
        return h5py.File(path, "r")
    return None


@contextlib.contextmanager
def report_damage(problems: Problems) -> Iterator[None]:
    """Report what h5py raises within; the block has returned nothing then."""
    try:
        yield
    except _ERRORS as error:
        problems.add(
            f"could not be read as HDF5 ({show_reason(error)})", "write it anew or give another"
        )


def load_array(
    group: Any, name: str, file_size: int, problems: Problems, store: Store
) -> NDArray[Any] | None:
    """Return an array of a group, or None after reporting why it is not read.

    Args:
        group: A file or group of h5py.
        name: The array.
        file_size: Bytes of the file, the most that an array without compression can hold.
        problems: Receives what is wrong.
        store: Where its values go.
    """
    try:
        refusal = find_refusal(group, name, file_size)
        if refusal is None:
            return _read(group[name], store)
    except _ERRORS as error:
        refusal = f"cannot be read ({show_reason(error)})", "write the file anew"
    problems.add(*refusal, column=name)
    return None


def find_refusal(group: Any, name: str, file_size: int) -> tuple[str, str] | None:
    """Return what is wrong with an array and its remedy, before any of it is read."""
    if not is_own(group, name):
        return "is a link, which is never followed", "store the array itself in the file"
    data = group[name]
    if not getattr(data, "shape", None):
        return "is no array with rows", "store one array a column"
    if data.is_virtual or data.external:
        return "keeps its values in other files, which are never read", "store them in this file"
    if data.dtype.kind == "O":
        return (
            "holds Python objects, which are never read",
            "store numbers in arrays of a numeric dtype, vectors of one length",
        )
    return _find_lie(data, file_size)


def _find_lie(data: Any, file_size: int) -> tuple[str, str] | None:
    claimed, held = prod(data.shape) * data.dtype.itemsize, data.id.get_storage_size()
    filters = data.id.get_create_plist()
    codes = [filters.get_filter(i)[0] for i in range(filters.get_nfilters())]
    unknown = [code for code in codes if code not in _FILTERS]
    if unknown:
        return (
            f"is compressed by the filter {unknown[0]}, which is not known",
            f"use one of {', '.join(_FILTERS.values())}",
        )
    chunk = prod(data.chunks) * data.dtype.itemsize if data.chunks else 0
    ratio = _LARGEST_RATIO if codes else 1
    if chunk > LARGEST_CHUNK:
        return f"has chunks of {chunk} bytes", f"write it in chunks of up to {LARGEST_CHUNK} bytes"
    if held > file_size or claimed > ratio * held:
        return f"claims {data.shape}, {claimed} bytes, but holds {held}", "write the file anew"
    return None


def _read(data: Any, store: Store) -> NDArray[Any]:
    values = store.empty(data.shape, data.dtype)
    for rows in blocks(values):
        values[rows] = data[rows]
    return values


def is_own(group: Any, name: str) -> bool:
    """Return whether a name leads to something of this file, not to somewhere else."""
    link = group.get(name, getlink=True)
    return type(link).__name__ == "HardLink"


def _is_group(group: Any, name: str) -> bool:
    return is_own(group, name) and group.get(name, getclass=True).__name__ == "Group"


HDF5 = Hdf5()
