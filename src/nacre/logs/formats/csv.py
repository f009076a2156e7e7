"""Logs as comma-separated text, vectors spread over numbered columns, compressed or not."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show, show_reason
from nacre.logs.episodes import Log
from nacre.logs.formats.compression import TooLargeError, compress, find_codec, open_binary
from nacre.logs.formats.csv_style import (
    HEAD_BYTES,
    Style,
    count_title_lines,
    guess_encoding,
    recognise_style,
)
from nacre.logs.schema.layout import check_names, lay_out, spread
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import KEY, encode_metadata
from nacre.logs.schema.parts import VECTORS
from nacre.logs.schema.recognition import listed, recognise
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.csv_rows import Layout, Rows
    from nacre.logs.formats.tables import TableSource

_PREFIX = f"# {KEY}: "
_USUAL_RATIO = 8
_BATCH_ROWS = 2**16
_ARCHIVES = {
    b"\x1f\x8b": ("compressed", "rename it to end in .csv.gz"),
    b"\x28\xb5\x2f\xfd": ("compressed", "rename it to end in .csv.zst"),
    b"PK\x03\x04": ("a zip or a spreadsheet, not text", "take the table out of it, as CSV"),
    b"PAR1": ("Parquet, not text", "rename it to end in .parquet"),
}
"""By their first bytes: what a file is that was called .csv, and what to do."""


class Csv:
    """Comma-separated text, the metadata in a comment on the first line."""

    suffixes = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Read a CSV file into an Arrow table."""
        import pyarrow as pa

        from nacre.logs.formats.cleaning import Cleaning
        from nacre.logs.formats.csv_rows import read_rows
        from nacre.logs.formats.tables import TableSource

        try:
            metadata, layout = _read_head(path, columns)
            rows = read_rows(path, layout, store)
        except UnicodeDecodeError as error:
            _report_encoding(path, error, problems)
            return None
        except TooLargeError as error:
            problems.add(f"could not be read as CSV ({error})", "unpack it yourself if it is a log")
            return None
        except (pa.ArrowException, OSError, ValueError, EOFError, csv.Error) as error:
            problems.add(
                f"could not be read as CSV ({show_reason(error)})",
                "write comma-separated text in UTF-8 with the column names in the first line",
            )
            return None
        if not layout.style.quoted_lines:
            problems.lines = _LineNumbers(path, layout.n_comments)
        if rows.ragged:
            _report_ragged(rows, problems)
        schema = rows.schema if metadata is None else rows.schema.with_metadata({KEY: metadata})
        source = TableSource(schema, rows.n_rows, rows.fetch, problems, store)
        source.cleaning = Cleaning.of(columns, layout.style.decimal)
        # Of a file that we wrote nothing had to be guessed.
        source.notes = layout.style.notes if metadata is None else ()
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log would take."""
        return path.stat().st_size * (1 if find_codec(path) is None else _USUAL_RATIO)

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a log as CSV, compressed if the suffix of `path` says so."""
        import pyarrow.csv as arrow_csv

        from nacre.logs.formats.tables import build_schema, build_tables

        check_names(log)
        columns = spread(lay_out(log))
        with compress(stream, path) as target:
            target.write(f"{_PREFIX}{encode_metadata(log, log.columns)}\n".encode())
            tabs = ".tsv" in (suffix.lower() for suffix in path.suffixes)
            options = arrow_csv.WriteOptions(delimiter="\t" if tabs else ",")
            schema = build_schema(columns, None)
            with arrow_csv.CSVWriter(target, schema, write_options=options) as writer:
                for table in build_tables(columns, None, _BATCH_ROWS):
                    writer.write_table(table)


def _read_head(path: Path, columns: ColumnMap) -> tuple[str | None, Layout]:
    """Read the lines before the rows: comments, one perhaps with the metadata, and the names."""
    with open_binary(path) as stream:
        head = stream.read(HEAD_BYTES)
    lines = head.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    n_comments, metadata = 0, None
    while n_comments < len(lines) and lines[n_comments].startswith((b"#", b"sep=", b'"sep=')):
        n_comments += 1
    if n_comments:
        with open_binary(path) as stream:
            comments = [stream.readline() for _ in range(n_comments)]
            head = stream.read(HEAD_BYTES)
        texts = [line.removeprefix(codecs.BOM_UTF8).decode() for line in comments]
        metadata = next((t.removeprefix(_PREFIX) for t in texts if t.startswith(_PREFIX)), None)
    if len(head) == HEAD_BYTES and not {*b"\r\n"}.intersection(head):
        raise ValueError(f"its first line is longer than {HEAD_BYTES} bytes")
    style = recognise_style(head, columns)
    text = codecs.getincrementaldecoder(style.text_encoding)().decode(head).removeprefix("\ufeff")
    rows = list(csv.reader(text.splitlines(keepends=True), delimiter=style.separator)) or [[]]
    n_above = count_title_lines(rows)
    if n_above:
        above = f"{n_above} lines above the names of the columns were left out, as was recognised"
        style = replace(style, notes=(*style.notes, above))
    return metadata, _find_layout(tuple(rows[n_above]), n_comments + n_above, columns, style)


def _find_layout(
    names: tuple[str, ...], n_comments: int, columns: ColumnMap, style: Style
) -> Layout:
    import pyarrow as pa

    from nacre.logs.formats.csv_rows import Layout

    reading = recognise(columns, names, Problems())
    kinds: dict[str, Any] = {}
    for part, given in reading.columns.items():
        combined = part == "action" and any(name in columns.labels for name in listed(given))
        for name in listed(given):
            single = isinstance(given, str)
            labels = columns.find_labels(part, name) if single else columns.labels.get(name)
            encoded = columns.encode.get(name, "number") != "number" or name in columns.rare
            texts = labels is not None and isinstance(labels[0], str)
            if name in columns.bins and name not in columns.unit:
                kinds[name] = pa.float64()
            elif texts or name in columns.unit or name in columns.time_format:
                kinds[name] = pa.string()
            elif labels or encoded or combined:
                continue
            elif part in VECTORS and isinstance(given, tuple) and len(given) > 1:
                kinds[name] = pa.float32()
            elif part == "reward":
                kinds[name] = pa.float64()
    uses = Counter(name for given in reading.columns.values() for name in listed(given))
    shared = frozenset(name for name, count in uses.items() if count > 1)
    return Layout(names, n_comments, kinds, style, shared)


def _report_encoding(path: Path, error: UnicodeDecodeError, problems: Problems) -> None:
    """Name the line that cannot be read, and what it would say in the most likely encoding."""
    line, number = b"", 0
    with open_binary(path) as stream:
        for line in stream:
            number += 1
            try:
                line.decode(error.encoding)
            except UnicodeDecodeError:
                break
    what = f"could not be read as CSV (line {number} is not {error.encoding.upper()})"
    if b"\0" in line or not line or line.startswith(tuple(_ARCHIVES)):
        remedy = "write comma-separated text with the column names in the first line"
        kind = next((kind for mark, kind in _ARCHIVES.items() if line.startswith(mark)), None)
        problems.add(what if kind is None else "is " + kind[0], kind[1] if kind else remedy)
        return
    with open_binary(path) as stream:
        likely = guess_encoding(stream)
    problems.add(
        what,
        f'write text_encoding = "{likely}" in the column map if it should read '
        f"{show(line.decode(likely).strip())}, else the encoding that it was saved in",
    )


def _report_ragged(read: Rows, problems: Problems) -> None:
    rows = np.array([row for row, _ in read.ragged], dtype=np.int64)
    n_columns = len(read.schema)
    problems.add_rows(
        None,
        rows,
        lambda i: (f"has {read.ragged[i][1]} entries for {n_columns} columns", None),
        "give every row one entry a column",
    )
    problems.unreadable = True
    problems.rows = np.delete(np.arange(read.n_rows + len(rows)), rows)


class _LineNumbers:
    """The line of every row, blank lines left out as the reader leaves them out."""

    def __init__(self, path: Path, n_above: int) -> None:
        self._path = path
        self._n_above = n_above
        self._lines: NDArray[np.int64] | None = None

    def __call__(self) -> NDArray[np.int64]:
        if self._lines is None:
            with open_binary(self._path) as stream:
                filled = np.fromiter((bool(line.rstrip(b"\r\n")) for line in stream), np.bool_)
            # The first that is left is the line of names.
            self._lines = np.flatnonzero(filled[self._n_above :])[1:] + self._n_above + 1
        return self._lines


CSV = Csv()
