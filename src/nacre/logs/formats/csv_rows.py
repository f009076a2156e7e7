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
from nacre.logs.formats.csv_style import Style
from nacre.logs.storage.stores import MappedStore, Store

_BLOCK_BYTES = 2**24
# Arrow knows UTF-8 by this name alone, and reads it without a detour then.
_ENCODINGS = {"utf-8": "utf8", "utf-8-sig": "utf8"}


@dataclass(frozen=True)
class Layout:
    """What is known about the rows before they are read.

    Attributes:
        names: The columns.
        n_comments: Lines before the names.
        kinds: Types of columns that need not be guessed.
        style: How the file is written.
        shared: Columns that are needed more than once.
    """

    names: tuple[str, ...]
    n_comments: int
    kinds: dict[str, Any] = field(default_factory=dict)
    style: Style = field(default_factory=Style)
    shared: frozenset[str] = frozenset()

    def parse_options(self, skip: Any = None) -> Any:
        """How rows are divided."""
        return arrow_csv.ParseOptions(
            delimiter=self.style.separator,
            newlines_in_values=self.style.quoted_lines,
            invalid_row_handler=skip,
        )

    def read_options(self, *, streamed: bool = False, threads: bool = True) -> Any:
        """How the file is read."""
        options = arrow_csv.ReadOptions(
            skip_rows=self.n_comments,
            encoding=_ENCODINGS.get(self.style.text_encoding, self.style.text_encoding),
            use_threads=threads and not streamed,
        )
        if streamed:
            options.block_size = _BLOCK_BYTES
        return options

    def convert_options(self, kinds: dict[str, Any], *, text: bool = False) -> Any:
        """How texts become values."""
        return arrow_csv.ConvertOptions(
            null_values=[""] if text else list(self.style.missing_texts),
            strings_can_be_null=text,
            column_types=kinds,
            decimal_point=self.style.decimal,
        )


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

    def fetch(name: str) -> Iterable[Any]:
        # Each column is handed over for good, so that its memory is free once it was converted.
        chunks: Iterable[Any] = columns[name] if name in layout.shared else columns.pop(name)
        return chunks

    return Rows(table.schema, table.num_rows, fetch)


def _read_typed(path: Path, layout: Layout, store: Store) -> Any:
    convert = layout.convert_options(layout.kinds)
    if not isinstance(store, MappedStore):
        with _open(path) as stream:
            return arrow_csv.read_csv(
                stream,
                read_options=layout.read_options(),
                parse_options=layout.parse_options(),
                convert_options=convert,
            )
    # Kinds are guessed from the first block here. Where later rows show that they are others, such
    # as numbers with fractions, all is read as text.
    return _spool(path, layout, convert, store, layout.parse_options())


@contextmanager
def _open(path: Path) -> Any:
    """Give the path itself where Arrow can read it by itself, which is faster."""
    if find_codec(path) is None:
        yield path
    else:
        with open_binary(path) as stream:
            yield stream


def _spool(path: Path, layout: Layout, convert: Any, store: MappedStore, parse: Any) -> Any:
    """Copy the rows batch by batch to an Arrow file and return it as a mapped table."""
    target = str(store.new_file(".arrow"))
    with (
        _open(path) as stream,
        arrow_csv.open_csv(
            stream,
            read_options=layout.read_options(streamed=True),
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
    _check_encoding(path, layout.style.text_encoding)
    ragged: list[tuple[int, int]] = []

    def skip(row: Any) -> str:
        ragged.append((row.number - layout.n_comments - 2, row.actual_columns))
        return "skip"

    parse = layout.parse_options(skip)
    convert = layout.convert_options({name: pa.string() for name in layout.names}, text=True)
    if isinstance(store, MappedStore):
        table = _spool(path, layout, convert, store, parse)
    else:
        options = layout.read_options(threads=False)
        with _open(path) as stream:
            table = arrow_csv.read_csv(
                stream, read_options=options, parse_options=parse, convert_options=convert
            )

    def parse_column(index: int) -> Any:
        is_text = layout.kinds.get(table.column_names[index]) == pa.string()
        return table.column(index) if is_text else _parse(table.column(index), layout.style)

    # Numbers are made twice, so that those of all columns need not be kept.
    kinds = [parse_column(index).type for index in range(table.num_columns)]
    fields = [pa.field(n, kind) for n, kind in zip(table.column_names, kinds, strict=True)]
    return Rows(
        pa.schema(fields),
        table.num_rows,
        lambda name: parse_column(table.column_names.index(name)).chunks,
        tuple(ragged),
    )


def _check_encoding(path: Path, encoding: str) -> None:
    if encoding.startswith("utf-16"):
        return
    with open_binary(path) as stream:
        for line in stream:
            # Arrow would print a traceback of its own for a ragged row that it cannot decode.
            line.decode(encoding)


def _parse(column: Any, style: Style) -> Any:
    """Return a text column as the narrowest kind of number that holds it, else as it is."""
    trimmed = pc.utf8_trim_whitespace(column)
    absent = pc.is_in(trimmed, value_set=pa.array(style.missing_texts, trimmed.type))
    plain = pc.if_else(absent, pa.scalar(None, trimmed.type), trimmed)
    if style.decimal != ".":
        plain = pc.replace_substring(plain, style.decimal, ".")
    if pc.all(absent).as_py():
        return column
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return pc.cast(plain, kind)
        except pa.ArrowInvalid:
            continue
    return column
