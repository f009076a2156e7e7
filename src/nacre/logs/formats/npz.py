"""Logs as NumPy archives. Nothing in them is ever unpickled."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from nacre.files.documents import ARCHIVE_ERRORS
from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.episodes import Log
from nacre.logs.formats.array_sources import WholeArrays
from nacre.logs.schema.layout import check_names, lay_out
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import KEY, Metadata, decode_metadata, encode_metadata
from nacre.logs.storage.stores import MEMORY, Store, blocks
from nacre.logs.storage.views import MappedRows

# Deflate cannot shrink more than this: a member that claims to be larger lies about its size.
_LARGEST_RATIO = 1033


@dataclass(frozen=True)
class _Member:
    """An array in the archive, known by its header only."""

    file_name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    header_size: int
    is_plain: bool


class ArchiveSource(WholeArrays):
    """The arrays of an archive whose headers have been checked."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        members: dict[str, _Member],
        problems: Problems,
        store: Store,
    ) -> None:
        super().__init__([name for name in members if name != KEY], problems, store=store)
        self._archive = archive
        self._members = members
        self.metadata = self._read_metadata()

    def is_numeric(self, name: str) -> bool:
        """Return whether an array holds numbers, or objects, which are refused when loaded."""
        return self._members[name].dtype.kind in "biufO"

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return an array, or None after reporting why it cannot be read."""
        member = self._members[name]
        if member.dtype.hasobject:
            self.problems.add(
                "holds Python objects, which are never read",
                "store numbers in arrays of a numeric dtype, vectors of one length",
                column=name,
            )
            return None
        try:
            with self._archive.open(member.file_name) as stream:
                if self.store is not MEMORY and member.is_plain:
                    return _read_rows(stream, member, self.store)
                return np.asarray(npy.read_array(stream, allow_pickle=False))
        except ARCHIVE_ERRORS as error:
            self.problems.add(
                f"cannot be read ({show_reason(error)})", "write the file anew", column=name
            )
            return None

    def close(self) -> None:
        """Let go of the file."""
        self._archive.close()

    def _read_metadata(self) -> Metadata:
        member = self._members.get(KEY)
        if member is None:
            return Metadata()
        text = self.load(KEY) if member.dtype.kind == "U" and member.shape == () else None
        if text is None:
            self.problems.add(
                f"the metadata under {KEY!r} is no single text", "remove it from the file"
            )
            return Metadata()
        return decode_metadata(str(text), self.problems)


class Npz:
    """NumPy archives, one array a column."""

    suffixes = (".npz",)

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> ArchiveSource | None:
        """Open an archive and check what the headers of its arrays claim before reading any."""
        try:
            archive = zipfile.ZipFile(path)
            infos = archive.infolist()
        except ARCHIVE_ERRORS as error:
            problems.add(
                f"could not be read as npz ({show_reason(error)})", "write it with numpy.savez"
            )
            return None
        members: dict[str, _Member] = {}
        for info in infos:
            name = info.filename.removesuffix(".npy")
            try:
                members[name] = _read_member(archive, info, path.stat().st_size)
            except Exception as error:
                # Headers are parsed as Python literals: the ways in which that can fail are many.
                problems.add(
                    f"is no array that can be read ({show_reason(error)})",
                    "write the file anew with numpy.savez",
                    column=name,
                )
        if problems:
            archive.close()
            return None
        return ArchiveSource(archive, members, problems, store)

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log would take, from what members claim."""
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a log as an uncompressed archive of one array a column."""
        check_names(log, "/\\:", KEY)
        arrays = {**lay_out(log), KEY: np.array(encode_metadata(log))}
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, values in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    _write_array(member, values)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, archive_size: int) -> _Member:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("compressed by another method than numpy.savez_compressed uses")
    ratio = 1 if info.compress_type == zipfile.ZIP_STORED else _LARGEST_RATIO
    if info.compress_size > archive_size or info.file_size > ratio * info.compress_size:
        raise ValueError(f"claims {info.file_size} bytes, packed in {info.compress_size}")
    with archive.open(info) as stream:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read_header(stream)
        header_size = stream.tell()
        rest = info.file_size - header_size
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    if not dtype.hasobject and size != rest:
        raise ValueError(f"claims {shape} {dtype}, {size} bytes, but holds {rest}")
    is_plain = bool(shape) and not by_columns and not dtype.hasobject
    return _Member(info.filename, shape, dtype, header_size, is_plain)


def _read_rows(stream: IO[bytes], member: _Member, store: Store) -> NDArray[Any]:
    """Read an array block by block into a store."""
    stream.read(member.header_size)
    values = store.empty(member.shape, member.dtype)
    for rows in blocks(values):
        block = values[rows]
        block[...] = np.frombuffer(stream.read(block.nbytes), member.dtype).reshape(block.shape)
    return values


def _write_array(member: IO[bytes], values: NDArray[Any]) -> None:
    if not isinstance(values, MappedRows):
        npy.write_array(member, np.asarray(values, order="C"), allow_pickle=False)
        return
    form = {"descr": values.dtype.str, "fortran_order": False, "shape": values.shape}
    npy.write_array_header_1_0(member, form)
    for rows in blocks(values):
        member.write(values[rows].tobytes())


NPZ = Npz()
