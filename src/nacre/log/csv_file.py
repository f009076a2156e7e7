"""Logs as comma-separated text, vectors spread over numbered columns."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from nacre.log.draft import VECTORS
from nacre.log.episodes import Log
from nacre.log.layout import check_names, lay_out, spread
from nacre.log.mapping import ColumnMap
from nacre.log.metadata import KEY, encode_metadata
from nacre.log.problems import Problems, show
from nacre.log.recognition import Reading, recognise
from nacre.log.stores import MEMORY, Store
from nacre.log.tables import TableSource, build_table

_PREFIX = f"# {KEY}: "
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class _Head:
    """The lines before the rows: comments, of which one may hold the metadata, and the names."""

    n_comments: int
    metadata: str | None
    names: tuple[str, ...]


def open_file(
    path: Path, problems: Problems, columns: ColumnMap, store: Store = MEMORY
) -> TableSource | None:
    """Read a CSV file into an Arrow table."""
    try:
        head = _read_head(path)
        reading = recognise(columns, head.names, Problems())
        table, ragged = _read_table(path, head, _find_kinds(reading))
    except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
        problems.add(
            f"is no readable CSV file ({show(str(error))})",
            "write comma-separated text in UTF-8 with the column names in the first line",
        )
        return None
    problems.lines = _LineNumbers(path, head.n_comments + 1)
    if ragged:
        _report_ragged(ragged, table, problems)
    if head.metadata is not None:
        table = table.replace_schema_metadata({KEY: head.metadata})
    chunks = {
        name: column.chunks for name, column in zip(table.column_names, table.columns, strict=True)
    }
    # Each column is handed over for good, so that its memory is free once it was converted.
    return TableSource(table.schema, table.num_rows, chunks.pop, problems, store)


def write_file(log: Log, stream: IO[bytes]) -> None:
    """Write a log as CSV, the metadata in a comment on the first line."""
    check_names(log)
    table = build_table(spread(lay_out(log)), None)
    stream.write(f"{_PREFIX}{encode_metadata(log, log.columns)}\n".encode())
    arrow_csv.write_csv(table, stream)


def _read_head(path: Path) -> _Head:
    n_comments, metadata = 0, None
    with path.open("rb") as stream:
        line = stream.readline().removeprefix(_BYTE_ORDER_MARK)
        while line.startswith(b"#"):
            text = line.decode()
            if text.startswith(_PREFIX):
                metadata = text.removeprefix(_PREFIX)
            n_comments += 1
            line = stream.readline()
    names = next(csv.reader([line.decode()]), [])
    return _Head(n_comments, metadata, tuple(names))


def _find_kinds(reading: Reading) -> dict[str, Any]:
    """Return the kinds of columns that need not be guessed."""
    kinds: dict[str, Any] = {}
    for part, names in reading.columns.items():
        labels = reading.labels.get(part.removeprefix("next_"))
        if part in VECTORS and isinstance(names, tuple) and len(names) > 1:
            kinds |= dict.fromkeys(names, pa.float32())
        elif isinstance(names, str) and part == "reward":
            kinds[names] = pa.float64()
        elif isinstance(names, str) and labels and isinstance(labels[0], str):
            kinds[names] = pa.string()
    return kinds


def _read_table(
    path: Path, head: _Head, kinds: dict[str, Any]
) -> tuple[Any, list[tuple[int, int]]]:
    """Read the rows; also return the ragged ones as (row, number of entries)."""
    try:
        table = arrow_csv.read_csv(
            path,
            read_options=arrow_csv.ReadOptions(skip_rows=head.n_comments),
            convert_options=arrow_csv.ConvertOptions(null_values=[""], column_types=kinds),
        )
    except pa.ArrowInvalid:
        # Something is wrong in some row. Read all as text to find out where.
        return _read_text(path, head, kinds)
    return table, []


def _read_text(path: Path, head: _Head, kinds: dict[str, Any]) -> tuple[Any, list[tuple[int, int]]]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            # Arrow would print a traceback of its own for a ragged row that it cannot decode.
            if not _is_utf8(line):
                raise ValueError(f"line {number} is not UTF-8")
    ragged: list[tuple[int, int]] = []

    def skip(row: Any) -> str:
        ragged.append((row.number - head.n_comments - 2, row.actual_columns))
        return "skip"

    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(skip_rows=head.n_comments, use_threads=False),
        parse_options=arrow_csv.ParseOptions(invalid_row_handler=skip),
        convert_options=arrow_csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            column_types={name: pa.string() for name in head.names},
        ),
    )
    columns = [
        column if kinds.get(name) == pa.string() else _parse(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=table.column_names), ragged


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse(column: Any) -> Any:
    """Return a text column as the narrowest kind of number that holds it, else as it is."""
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    return column


def _report_ragged(ragged: list[tuple[int, int]], table: Any, problems: Problems) -> None:
    rows = np.array([row for row, _ in ragged], dtype=np.int64)
    problems.add_rows(
        None,
        rows,
        lambda i: (f"has {ragged[i][1]} entries for {table.num_columns} columns", None),
        "give every row one entry a column",
    )
    problems.rows = np.delete(np.arange(table.num_rows + len(rows)), rows)


class _LineNumbers:
    """The line of every row, blank lines left out as the reader leaves them out."""

    def __init__(self, path: Path, n_head: int) -> None:
        self._path = path
        self._n_head = n_head
        self._lines: NDArray[np.int64] | None = None

    def __call__(self) -> NDArray[np.int64]:
        if self._lines is None:
            with self._path.open("rb") as stream:
                filled = np.fromiter((bool(line.rstrip(b"\r\n")) for line in stream), np.bool_)
            self._lines = np.flatnonzero(filled)[self._n_head :] + 1
        return self._lines
