"""Arrow columns as NumPy arrays and back, without a Python object per value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nacre.log.categories import Numbering
from nacre.log.draft import FLAGS, VECTORS
from nacre.log.mapping import Label
from nacre.log.metadata import Metadata
from nacre.log.problems import SHOWN_NAMES, Problems, show, show_names

_FLAG = r"^\s*([tT]rue|TRUE|[fF]alse|FALSE|[01])\s*$"
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"


class TableSource:
    """The columns of an Arrow table, fetched one at a time and in chunks.

    Args:
        schema: The names and types of the columns.
        metadata: What the file says about them.
        fetch: Gives the chunks of a column, once.
        problems: Receives what is wrong.
        close: Lets go of the file.
    """

    def __init__(
        self,
        schema: Any,
        metadata: Metadata,
        fetch: Callable[[str], Iterable[Any]],
        problems: Problems,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.names: list[str] = list(schema.names)
        self.metadata = metadata
        self._schema = schema
        self._fetch = fetch
        self._problems = problems
        self.close = close

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""
        kind = self._kind(name)
        return _is_number(kind.value_type if _is_list(kind) else kind)

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read."""
        return self._guard(
            name,
            lambda: read_column(name, self._kind(name), self._chunks(name), self._problems, part),
        )

    def load_codes(self, name: str, labels: tuple[Label, ...] | None) -> NDArray[Any] | None:
        """Return (N,) the place of each value among `labels`, or None after reporting."""
        return self._guard(name, lambda: self._number(name, labels))

    def _number(self, name: str, labels: tuple[Label, ...] | None) -> NDArray[Any] | None:
        numbering = Numbering(name, labels)
        for chunk in self._chunks(name):
            encoded = chunk.dictionary_encode()
            indices = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
            numbering.add(encoded.dictionary.to_pylist(), indices)
        return numbering.finish(self._problems)

    def _kind(self, name: str) -> Any:
        return _plain_kind(self._schema.field(name).type)

    def _chunks(self, name: str) -> Iterator[Any]:
        return (_plain(chunk) for chunk in self._fetch(name))

    def _guard(self, name: str, read: Callable[[], NDArray[Any] | None]) -> NDArray[Any] | None:
        try:
            return read()
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            self._problems.add(
                f"cannot be read ({show(str(error))})", "write the file anew", column=name
            )
            return None


def _plain_kind(kind: Any) -> Any:
    """Return the kind that values have outside a dictionary, texts as one kind of text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_string_view(kind)
    return pa.large_string() if is_text else kind


def _plain(chunk: Any) -> Any:
    if pa.types.is_dictionary(chunk.type):
        # Some kinds of text cannot be taken out of a dictionary before they are made plain.
        values = _plain(chunk.dictionary)
        return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()
    kind = _plain_kind(chunk.type)
    return chunk if kind == chunk.type else pc.cast(chunk, kind)


def read_column(
    name: str, kind: Any, chunks: Iterable[Any], problems: Problems, part: str | None = None
) -> NDArray[Any] | None:
    """Return a column of Arrow chunks as (N,) or (N, w); missing values become NaN.

    Args:
        name: The column, as its owner calls it.
        kind: Its Arrow type.
        chunks: Its values.
        problems: Receives what is wrong.
        part: The field it is for, if it is for one.
    """
    if _is_list(kind) and _is_number(kind.value_type):
        return _read_vectors(name, chunks, problems, narrow=part in VECTORS)
    if _is_number(kind):
        return _concatenate([_read_scalars(chunk) for chunk in chunks])
    if pa.types.is_large_string(kind):
        _report_text(name, list(chunks), part, problems)
    elif pa.types.is_null(kind):
        return np.full(sum(len(chunk) for chunk in chunks), np.nan)
    else:
        problems.add(
            f"has the type {show(str(kind))}, not numbers",
            "store numbers, or lists of numbers of one length",
            column=name,
        )
    return None


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _concatenate(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0)


def _read_scalars(chunk: Any) -> NDArray[Any]:
    """Convert a chunk of numbers; NaN stands for what is missing."""
    if pa.types.is_decimal(chunk.type) or (
        chunk.null_count and not pa.types.is_floating(chunk.type)
    ):
        chunk = pc.cast(chunk, pa.float64(), safe=False)
    return np.asarray(chunk.to_numpy(zero_copy_only=False))


def _read_vectors(
    name: str, chunks: Iterable[Any], problems: Problems, *, narrow: bool
) -> NDArray[Any] | None:
    parts, lengths = [], []
    width: int | None = None
    for chunk in chunks:
        counts = pc.fill_null(pc.list_value_length(chunk), -1).to_numpy(zero_copy_only=False)
        lengths.append(counts)
        width = int(counts[0]) if width is None and len(counts) else width
        if width is not None and width > 0 and (counts == width).all():
            part = _read_scalars(chunk.flatten()).reshape(len(chunk), width)
            parts.append(_narrow(part) if narrow else part)
    if sum(map(len, parts)) != sum(map(len, lengths)):
        _report_ragged(name, np.concatenate(lengths), problems)
        return None
    return _concatenate(parts)


def _narrow(part: NDArray[Any]) -> NDArray[Any]:
    """Return vectors as float32, in which they end: saves holding a column in double precision."""
    if part.shape[1] == 1:
        return part  # It may hold the elements of a Discrete space, whole numbers of any size.
    with np.errstate(over="ignore"):
        return part.astype(np.float32, copy=False)


def _report_ragged(name: str, lengths: NDArray[Any], problems: Problems) -> None:
    filled = lengths[lengths > 0]
    width = int(np.argmax(np.bincount(filled))) if len(filled) else None
    rows = np.flatnonzero(lengths != width) if len(filled) else np.arange(len(lengths))
    expected = "a vector is expected" if width is None else f"most rows have {width}"

    def describe(i: int) -> tuple[str, str | None]:
        length = int(lengths[rows[i]])
        what = "has no vector" if length < 0 else f"has {length} entries"
        return f"{what} where {expected}", None

    problems.add_rows(name, rows, describe, "give every row a vector of the same length")


def _report_text(name: str, chunks: list[Any], part: str | None, problems: Problems) -> None:
    """Name the rows of a text column that do not fit, or else that it is text at all."""
    column = pa.chunked_array(chunks, pa.large_string())
    pattern, wrong, remedy = _NUMBER, "is not a number", "write a number in every row"
    if part in FLAGS or part == "done":
        pattern, wrong, remedy = _FLAG, "is neither true nor false", "write true or false"
    fits = pc.fill_null(pc.match_substring_regex(column, pattern), False)
    rows = np.flatnonzero(~fits.to_numpy())
    if part in VECTORS and _report_categories(name, column, len(rows), str(part), problems):
        return
    if len(rows) == 0:
        problems.add("holds its values as text", "store numbers or truth values", column=name)
    problems.add_rows(name, rows, lambda i: (wrong, show(column[int(rows[i])].as_py())), remedy)


def _report_categories(name: str, column: Any, n_texts: int, part: str, problems: Problems) -> bool:
    """Say how to number a column that holds texts throughout; return whether it does."""
    if n_texts < len(column) or len(column) == 0:
        return False
    found = sorted(str(value) for value in pc.unique(column).to_pylist() if value is not None)
    example = ", ".join(f'"{value}"' for value in found[:SHOWN_NAMES])
    problems.add(
        f"holds texts: {show_names(found)}",
        f"write labels.{part.removeprefix('next_')} = [{example}] in the column map, in the order "
        "that numbers them from 0",
        column=name,
    )
    return True


def build_table(columns: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None) -> Any:
    """Return an Arrow table; (N, w) columns become lists of the fixed size w."""
    arrays = []
    for values in columns.values():
        plain = np.ascontiguousarray(values)
        if plain.ndim == 1:
            arrays.append(pa.array(plain))
        else:
            flat = pa.array(plain.reshape(-1))
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, plain.shape[1]))
    fields = [pa.field(n, a.type) for n, a in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))
