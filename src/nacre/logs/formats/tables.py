"""Arrow tables as sources of a log's columns, and as what a log is written from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show
from nacre.logs.formats.arrow_columns import (
    ArrowColumn,
    is_list,
    is_number,
    plain,
    plain_kind,
    read_column,
)
from nacre.logs.formats.arrow_times import read_times
from nacre.logs.formats.cleaning import Cleaning
from nacre.logs.formats.nested import flatten, is_nested
from nacre.logs.schema.categories import Categories, gather_categories
from nacre.logs.schema.metadata import KEY, MARK, decode_metadata
from nacre.logs.storage.stores import MEMORY, Store, release

T = TypeVar("T")


class TableSource:
    """The columns of an Arrow table, fetched one at a time and in chunks.

    Args:
        schema: The names and types of the columns, and what the file says about them.
        n_rows: How many rows there are.
        fetch: Gives the chunks of a column, once.
        problems: Receives what is wrong.
        store: Where the columns go.

    Attributes:
        file_rows: How many rows come from each file, where there are several.
        whole_episodes: Whether the rows were made of episodes that lay in one place each.
    """

    def __init__(
        self,
        schema: Any,
        n_rows: int,
        fetch: Callable[[str], Iterable[Any]],
        problems: Problems,
        store: Store = MEMORY,
    ) -> None:
        self.names: list[str] = list(schema.names)
        told = schema.metadata or {}
        self.metadata = decode_metadata(told.get(KEY.encode()), problems)
        if MARK.encode() in told and KEY.encode() not in told:
            problems.add("is damaged: it has lost its metadata", "write it anew or give another")
        self.store = store
        self.close: Callable[[], None] = lambda: None
        self.cleaning = Cleaning()
        self.notes: tuple[str, ...] = ()
        self.file_rows: tuple[int, ...] = ()
        self.whole_episodes = False
        self.schema = schema
        self.n_rows = n_rows
        self.fetch = fetch
        self._problems = problems

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""
        kind = plain_kind(self.schema.field(name).type)
        return name in self.cleaning.units or is_number(kind.value_type if is_list(kind) else kind)

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read."""
        return self._guard(name, lambda: self._read(name, part))

    def _read(self, name: str, part: str | None) -> NDArray[Any] | None:
        kind, chunks = plain_kind(self.schema.field(name).type), self._chunks(name)
        if pa.types.is_large_string(kind):
            texts = list(chunks)
            cleaned = [self.cleaning.clean(name, chunk) for chunk in texts]
            if None not in cleaned:
                kind, texts = pa.float64(), cleaned
            else:
                texts = [self.cleaning.ease(name, chunk) for chunk in texts]
            chunks = iter(texts)
        column = ArrowColumn(name, kind, self.n_rows, part, self.store)
        return read_column(column, chunks, self._problems)

    def load_categories(self, name: str) -> Categories | None:
        """Return the different values of a column, or None after reporting."""
        return self._guard(name, lambda: gather_categories(map(_encode, self._chunks(name))))

    def load_times(self, name: str, form: str | None) -> NDArray[Any] | None:
        """Return (N,) seconds since 1970, NaN where missing, or None after reporting."""
        kind = plain_kind(self.schema.field(name).type)
        return self._guard(
            name, lambda: read_times(name, kind, list(self._chunks(name)), form, self._problems)
        )

    def _chunks(self, name: str) -> Iterator[Any]:
        return (plain(chunk) for chunk in self.fetch(name))

    def _guard(self, name: str, read: Callable[[], T | None]) -> T | None:
        try:
            return read()
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            self._problems.add(
                f"cannot be read ({show(str(error))})", "write the file anew", column=name
            )
            return None


def source_of_table(table: Any, problems: Problems, store: Store) -> TableSource:
    """Return a table in memory as a source, nested columns made flat."""
    notes: tuple[str, ...] = ()
    n_before = table.num_rows
    if is_nested(table.schema):
        table, notes = flatten(table)
    source = TableSource(
        table.schema, table.num_rows, lambda name: table.column(name).chunks, problems, store
    )
    source.notes = notes
    source.whole_episodes = table.num_rows != n_before
    return source


def _encode(chunk: Any) -> tuple[list[Any], NDArray[Any]]:
    encoded = chunk.dictionary_encode()
    indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), indices


def build_tables(
    columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None, n_rows: int
) -> Iterator[Any]:
    """Yield Arrow tables of up to `n_rows` rows; (N, w) columns become lists of the fixed size w.

    Columns that are mapped from files are read as they are needed and let go of.
    """
    length = len(next(iter(columns.values())))
    for start in range(0, length, n_rows):
        part = {name: values[start : start + n_rows] for name, values in columns.items()}
        yield build_table(part, metadata)
        release(*columns.values())


def build_schema(columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None) -> Any:
    """Return the Arrow schema of the tables that `build_tables` yields."""
    first = {name: values[:1] for name, values in columns.items()}
    return build_table(first, metadata).schema


def build_table(columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None) -> Any:
    """Return an Arrow table; (N, w) columns become lists of the fixed size w."""
    arrays = []
    for values in columns.values():
        plain = np.ascontiguousarray(values)
        if plain.ndim == 1:
            arrays.append(pa.array(plain))
        else:
            flat = pa.array(plain.reshape(-1))
            # Nothing is missing; to say so saves readers to look.
            element = pa.field("element", flat.type, nullable=False)
            kind = pa.list_(element, plain.shape[1])
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, type=kind))
    fields = [
        pa.field(name, array.type, nullable=not is_list(array.type))
        for name, array in zip(columns, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))
