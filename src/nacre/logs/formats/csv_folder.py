"""Folders of CSV files, such as one for each month: parts of one table."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nacre.logs.checks.problems import Problems, show
from nacre.logs.formats.compression import TooLargeError, open_binary
from nacre.logs.formats.csv import CSV
from nacre.logs.formats.parquet_folder import list_parts
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource

_BLOCK = 2**20


class CsvFolder:
    """The CSV files of a folder, in the order of their names, below each other. Read-only."""

    suffixes: tuple[str, ...] = ()

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return the folder if it holds such files."""
        path = Path(name)
        try:
            return path if path.is_dir() and _list_files(path) else None
        except (OSError, ValueError):
            return None

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Read all files as if they were one: types are guessed from all of them."""
        files = _list_files(path)
        with tempfile.TemporaryDirectory(prefix="nacre-joined-") as folder:
            joined = Path(folder) / "joined.csv"
            try:
                with joined.open("wb") as target:
                    parts = [_append(file, target, first=file is files[0]) for file in files]
            except (OSError, TooLargeError) as error:
                problems.add(f"its files cannot be read ({error})", "unpack them, or give one file")
                return None
            for file, (head, _) in zip(files, parts, strict=True):
                if head != parts[0][0]:
                    problems.add(
                        f"{file.name} has the columns {show(_decode(head))}, {files[0].name} has "
                        f"{show(_decode(parts[0][0]))}",
                        "give files with the same columns, in the same order",
                    )
                    return None
            source = CSV.open(joined, problems, columns, store)
        # Lines of the joined file are lines of none of its parts.
        problems.lines = None
        if source is not None and len(files) > 1:
            note = f"rows of {len(files)} files lie below each other, in the order of their names"
            source.notes = (*source.notes, note)
            counts = [count for _, count in parts]
            if sum(counts) != source.n_rows:
                counts = [_count_rows(file) for file in files]
            if sum(counts) == source.n_rows:
                source.file_rows = tuple(counts)
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return the sum over all files."""
        return sum(CSV.estimate_bytes(file) for file in _list_files(path))


def _list_files(folder: Path) -> list[Path]:
    return sorted(one for suffix in CSV.suffixes for one in list_parts(folder, f"*{suffix}"))


def _append(file: Path, target: IO[bytes], *, first: bool) -> tuple[bytes, int]:
    """Add the rows of a file, comments left out; its line of names, and how many lines follow."""
    with open_binary(file) as stream:
        head = stream.readline().removeprefix(codecs.BOM_UTF8)
        while head.startswith(b"#"):
            head = stream.readline()
        last, count = b"\n", 0
        if first:
            target.write(head.rstrip(b"\r\n") + b"\n")
        while block := stream.read(_BLOCK):
            target.write(block)
            last = block[-1:]
            count += block.count(b"\n")
        if last != b"\n":
            target.write(b"\n")
            count += 1
    return head.rstrip(b"\r\n"), count


def _count_rows(file: Path) -> int:
    """How many rows a file has where blank lines, or lines within texts, are no rows."""
    with open_binary(file) as stream, io.TextIOWrapper(stream, "latin-1", newline="") as lines:
        filled = (row for row in csv.reader(lines) if row)
        return sum(1 for _ in itertools.dropwhile(lambda row: row[0].startswith("#"), filled)) - 1


def _decode(head: bytes) -> str:
    return head.decode("utf-8", errors="replace")


CSV_FOLDER = CsvFolder()
