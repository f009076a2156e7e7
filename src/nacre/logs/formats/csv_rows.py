"""The rows of a CSV file as an Arrow table, in memory or spooled to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from nacre.logs.formats.compression import find_codec, open_binary
from nacre.logs.storage.stores import MappedStore, Store

_BLOCK_BYTES = 2**24


@dataclass(frozen=True)
class Layout:
    """What is known about the rows before they are read.

    Attributes:
        names: The columns.
        n_comments: Lines before the names.
        kinds: Types of columns that need not be guessed.
    """

    names: tuple[str, ...]
    n_comments: int
    kinds: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """Rows as they were read.

    Attributes:
        schema: Names and types of the columns.
        n_rows: How many there are, without those that are ragged.
        fetch: Gives the chunks of a column, once.
        ragged: Rows with too few or too many entries, and how many these are.
    """

    schema: Any
    n_rows: int
    fetch: Callable[[str], Iterable[Any]]
    ragged: tuple[tuple[int, int], ...] = ()


def read_rows(path: Path, layout: Layout, store: Store) -> Rows:
    """Read all rows; where one does not fit, all as text, to find out later which it is."""
    try:
        table = _read_typed(path, layout, store)
    except pa.ArrowInvalid:
        return _read_text(path, layout, store)
    columns = {n: c.chunks for n, c in zip(table.column_names, table.columns, strict=True)}
    # Each column is handed over for good, so that its memory is free once it was converted.
    return Rows(table.schema, table.num_rows, columns.pop)


def _read_typed(path: Path, layout: Layout, store: Store) -> Any:
    convert = arrow_csv.ConvertOptions(null_values=[""], column_types=layout.kinds)
    if not isinstance(store, MappedStore):
        with _open(path) as stream:
            return arrow_csv.read_csv(
                stream,
                read_options=arrow_csv.ReadOptions(skip_rows=layout.n_comments),
                convert_options=convert,
            )
    # Kinds are guessed from the first block here. Where later rows show that they are others, such
    # as numbers with fractions, all is read as text.
    return _spool(path, layout, convert, store)


@contextmanager
def _open(path: Path) -> Any:
    """Give the path itself where Arrow can read it by itself, which is faster."""
    if find_codec(path) is None:
        yield path
    else:
        with open_binary(path) as stream:
            yield stream


def _stream_options(layout: Layout) -> Any:
    return arrow_csv.ReadOptions(
        skip_rows=layout.n_comments, block_size=_BLOCK_BYTES, use_threads=False
    )


def _spool(path: Path, layout: Layout, convert: Any, store: MappedStore, parse: Any = None) -> Any:
    """Copy the rows batch by batch to an Arrow file and return it as a mapped table."""
    target = str(store.new_file(".arrow"))
    with (
        _open(path) as stream,
        arrow_csv.open_csv(
            stream,
            read_options=_stream_options(layout),
            parse_options=parse,
            convert_options=convert,
        ) as reader,
        pa.OSFile(target, "wb") as sink,
        pa.ipc.new_file(sink, reader.schema) as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)
    return pa.ipc.open_file(pa.memory_map(target)).read_all()


def _read_text(path: Path, layout: Layout, store: Store) -> Rows:
    _check_utf8(path)
    ragged: list[tuple[int, int]] = []

    def skip(row: Any) -> str:
        ragged.append((row.number - layout.n_comments - 2, row.actual_columns))
        return "skip"

    parse = arrow_csv.ParseOptions(invalid_row_handler=skip)
    convert = arrow_csv.ConvertOptions(
        null_values=[""],
        strings_can_be_null=True,
        column_types={name: pa.string() for name in layout.names},
    )
    if isinstance(store, MappedStore):
        table = _spool(path, layout, convert, store, parse)
    else:
        options = arrow_csv.ReadOptions(skip_rows=layout.n_comments, use_threads=False)
        with _open(path) as stream:
            table = arrow_csv.read_csv(
                stream, read_options=options, parse_options=parse, convert_options=convert
            )

    def parse_column(index: int) -> Any:
        is_text = layout.kinds.get(table.column_names[index]) == pa.string()
        return table.column(index) if is_text else _parse(table.column(index))

    # Numbers are made twice, so that those of all columns need not be kept.
    kinds = [parse_column(index).type for index in range(table.num_columns)]
    fields = [pa.field(n, kind) for n, kind in zip(table.column_names, kinds, strict=True)]
    return Rows(
        pa.schema(fields),
        table.num_rows,
        lambda name: parse_column(table.column_names.index(name)).chunks,
        tuple(ragged),
    )


def _check_utf8(path: Path) -> None:
    with open_binary(path) as stream:
        for number, line in enumerate(stream, start=1):
            # Arrow would print a traceback of its own for a ragged row that it cannot decode.
            try:
                line.decode()
            except UnicodeDecodeError:
                raise ValueError(f"line {number} is not UTF-8") from None


def _parse(column: Any) -> Any:
    """Return a text column as the narrowest kind of number that holds it, else as it is."""
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    return column
