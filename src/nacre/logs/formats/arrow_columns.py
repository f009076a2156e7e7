"""Arrow columns as NumPy arrays, without a Python object per value, and what is wrong in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nacre.logs.checks.problems import (
    SHOWN_CHARACTERS,
    SHOWN_ROWS,
    Problems,
    show,
    show_key,
    show_names,
    tell_twins,
)
from nacre.logs.formats.cleaning import NUMBER, suggest_cleaning
from nacre.logs.schema.parts import FLAGS, VECTORS
from nacre.logs.storage.stores import MEMORY, Store, copy_blocks, release

_FLAG = r"^\s*([tT]rue|TRUE|[fF]alse|FALSE|[01])\s*$"
_NUMBER = rf"^\s*{NUMBER}\s*$"
_LIST = re.compile(r"\s*[\[(].*[\])]\s*")
_MOST_LABELS = 50
_LONGEST_LABELS = 800


@dataclass(frozen=True)
class ArrowColumn:
    """A column to be read.

    Attributes:
        name: As its owner calls it.
        kind: Its Arrow type, plain.
        n_rows: How many rows it has, as far as is claimed.
        part: The field it is for, if it is for one.
        store: Where its values go.
    """

    name: str
    kind: Any
    n_rows: int
    part: str | None = None
    store: Store = MEMORY


def plain_kind(kind: Any) -> Any:
    """Return the kind that values have outside a dictionary, texts as one kind of text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_string_view(kind)
    return pa.large_string() if is_text else kind


def plain(chunk: Any) -> Any:
    """Return a chunk without its dictionary, texts as one kind of text."""
    if pa.types.is_dictionary(chunk.type):
        # Some kinds of text cannot be taken out of a dictionary before they are made plain.
        values = plain(chunk.dictionary)
        return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()
    kind = plain_kind(chunk.type)
    return chunk if kind == chunk.type else pc.cast(chunk, kind)


def read_column(
    column: ArrowColumn, chunks: Iterable[Any], problems: Problems
) -> NDArray[Any] | None:
    """Return a column of plain Arrow chunks as (N,) or (N, w); missing values become NaN."""
    name, kind = column.name, column.kind
    if is_list(kind) and is_number(kind.value_type):
        return _read_vectors(column, chunks, problems)
    if is_number(kind):
        room = _Room(column)
        for chunk in chunks:
            room.add(_read_scalars(chunk))
        return room.finish()
    if pa.types.is_large_string(kind):
        _report_text(name, list(chunks), column.part, problems)
    elif pa.types.is_null(kind):
        return np.full(sum(len(chunk) for chunk in chunks), np.nan)
    else:
        problems.add(
            f"has the type {show(str(kind))}, not numbers",
            "store numbers, or lists of numbers of one length",
            column=name,
        )
    return None


class _Room:
    """The values of a column, filled chunk by chunk."""

    def __init__(self, column: ArrowColumn) -> None:
        self._column = column
        self._values: NDArray[Any] | None = None
        self.n_filled = 0

    def add(self, part: NDArray[Any]) -> None:
        n_rows, store = self._column.n_rows, self._column.store
        stop = self.n_filled + len(part)
        if stop > n_rows:
            raise ValueError(f"more rows than the {n_rows} that are claimed")
        dtype = self._choose_dtype(part)
        if self._values is None or self._values.dtype != dtype:
            earlier, self._values = self._values, store.empty((n_rows, *part.shape[1:]), dtype)
            if earlier is not None:
                copy_blocks(earlier[: self.n_filled], self._values[: self.n_filled])
        with np.errstate(over="ignore"):
            self._values[self.n_filled : stop] = part
        release(self._values)
        self.n_filled = stop

    def _choose_dtype(self, part: NDArray[Any]) -> np.dtype[Any]:
        # Vectors of a transition end as float32: saves holding them in double precision. Those of
        # one entry may hold the elements of a Discrete space, whole numbers of any size.
        if self._column.part in VECTORS and part.ndim == 2 and part.shape[1] > 1:
            return np.dtype(np.float32)
        earlier = part.dtype if self._values is None else self._values.dtype
        return np.result_type(earlier, part.dtype)

    def finish(self) -> NDArray[Any]:
        if self._values is None:
            return np.empty(0)
        whole = self.n_filled == len(self._values)
        return self._values if whole else self._values[: self.n_filled]


def is_list(kind: Any) -> bool:
    """Return whether values are lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def is_number(kind: Any) -> bool:
    """Return whether values are numbers or truth values."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _read_scalars(chunk: Any) -> NDArray[Any]:
    """Convert a chunk of numbers; NaN stands for what is missing."""
    if pa.types.is_decimal(chunk.type) or (
        chunk.null_count and not pa.types.is_floating(chunk.type)
    ):
        chunk = pc.cast(chunk, pa.float64(), safe=False)
    return np.asarray(chunk.to_numpy(zero_copy_only=False))


def _read_vectors(
    column: ArrowColumn, chunks: Iterable[Any], problems: Problems
) -> NDArray[Any] | None:
    room, lengths = _Room(column), []
    width: int | None = None
    for chunk in chunks:
        counts = _count_entries(chunk)
        lengths.append(counts)
        width = int(counts[0]) if width is None and len(counts) else width
        if width is not None and width > 0 and (counts == width).all():
            room.add(_read_scalars(chunk.flatten()).reshape(len(chunk), width))
    if room.n_filled != sum(map(len, lengths)):
        _report_ragged(column.name, np.concatenate(lengths), problems)
        return None
    return room.finish()


def _count_entries(chunk: Any) -> NDArray[Any]:
    """Return the length of each list, -1 where there is none."""
    if pa.types.is_fixed_size_list(chunk.type) and not chunk.null_count:
        return np.broadcast_to(np.int32(chunk.type.list_size), len(chunk))
    counts = pc.fill_null(pc.list_value_length(chunk), -1)
    return np.asarray(counts.to_numpy(zero_copy_only=False))


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
    is_flag = part in FLAGS or part == "done"
    pattern = _FLAG if is_flag else _NUMBER
    fits = pc.fill_null(pc.match_substring_regex(column, pattern), False)
    rows = np.flatnonzero(~fits.to_numpy())
    if len(rows) == 0:
        problems.add("holds its values as text", "store numbers or truth values", column=name)
        return
    wrong = column.take(pa.array(rows))
    texts = [text for text in pc.unique(wrong).to_pylist() if text and text.strip()]
    several = part == "action" and name in problems.parts.get(part, ())
    remedy = _suggest(name, part, texts, len(rows) == len(column), several=several)
    what = "is neither true nor false" if is_flag else "is not a number"
    if len(rows) == len(column) and texts and not is_flag and len(texts) <= _MOST_LABELS:
        problems.add(f"holds texts: {show_names(sorted(texts))}", remedy, column=name)
        return
    problems.add_rows(name, rows, lambda i: (what, show(column[int(rows[i])].as_py())), remedy)


def _suggest(
    name: str, part: str | None, texts: list[str], all_texts: bool, *, several: bool
) -> str:
    """What to write in the column map so that a column of texts can be used."""
    key = show_key(name)
    whose = key if several else part
    cleaning = suggest_cleaning(name, texts)
    labels = ", ".join(json.dumps(text, ensure_ascii=False) for text in sorted(texts))
    if texts and all(_LIST.fullmatch(text) for text in texts):
        return f"write one column for each number, {name}_0, {name}_1, …, or Parquet with lists"
    if len(labels) > _LONGEST_LABELS:
        texts = texts * _MOST_LABELS
    order = "in the order that numbers them from 0"
    if cleaning and part not in FLAGS:
        return f"write {cleaning} in the column map"
    if part in FLAGS or part == "done":
        if len(texts) == 2:
            return f"write labels.{part} = [{labels}] in the column map: first what means false"
        return "write true or false"
    if all_texts and part in ("observation", "next_observation"):
        whole = f", or labels.observation = [{labels}] if it is the only column, {order}"
        return f'write encode.{key} = "one_hot" in the column map' + (
            whole if len(texts) <= _MOST_LABELS else ""
        )
    if all_texts and part is not None and len(texts) <= _MOST_LABELS:
        return f"write labels.{whose} = [{labels}] in the column map, {order}{tell_twins(texts)}"
    if len(texts) <= SHOWN_ROWS and len(labels) <= SHOWN_CHARACTERS:
        observed = part in ("observation", "next_observation")
        choice = '"median" or "drop"' if observed else '"drop"'
        return (
            f"write a number in every row, or missing_values = [{labels}] in the column map if "
            f"that stands for a missing value, with missing.{key} = {choice}"
        )
    return "write a number in every row"
