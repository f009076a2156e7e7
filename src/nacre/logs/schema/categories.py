"""Categories: texts and other values that stand for the elements of a Discrete space."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show, show_key, show_names
from nacre.logs.schema.mapping import Label


@dataclass(frozen=True)
class Categories:
    """A column as the different values in it, and which of these each row has.

    Attributes:
        values: All different, in the order in which they first appear; none is missing.
        codes: (N,) places in `values`; -1 where a value is missing.
    """

    values: tuple[Any, ...]
    codes: NDArray[np.int64]

    def find(self, row: int) -> Any:
        """Return the value of a row; None where it is missing."""
        return None if self.codes[row] < 0 else self.values[self.codes[row]]

    def count(self) -> NDArray[np.int64]:
        """Return (k,) how many rows have each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def sort(self) -> tuple[Any, ...]:
        """Return the values in order: numbers by size, texts by the alphabet."""
        return tuple(sorted(self.values, key=lambda value: (isinstance(value, str), value)))


def gather_categories(parts: Iterable[tuple[Iterable[Any], NDArray[Any]]]) -> Categories:
    """Put parts of a column together.

    Args:
        parts: For each the different values in it, None for one that is missing, and (n,) places
            among them, negative where a value is missing.
    """
    codes: dict[Any, int] = {}
    rows = [np.empty(0, np.int64)]
    for values, indices in parts:
        places = [
            -1 if _is_missing(value) else codes.setdefault(value, len(codes)) for value in values
        ]
        known = np.array([*places, -1], dtype=np.int64)
        rows.append(np.where(indices < 0, -1, known[indices]))
    return Categories(tuple(codes), np.concatenate(rows))


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def gather_array(name: str, values: NDArray[Any], problems: Problems) -> Categories | None:
    """Return the categories of an array, (N,) texts or numbers, or None after reporting."""
    if values.dtype.kind not in "biufUS" or values.ndim != 1:
        problems.add(
            f"has the shape {values.shape} and the dtype {values.dtype}",
            "store one text or number a row",
            column=name,
        )
        return None
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    distinct, first, indices = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return gather_categories([(distinct[order].tolist(), rank[indices.reshape(-1)])])


def number_categories(
    name: str,
    categories: Categories,
    labels: tuple[Label, ...] | None,
    problems: Problems,
    *,
    may_miss: bool = False,
) -> NDArray[np.int64] | None:
    """Return (N,) the number of each row, or None after naming the rows that have none.

    Args:
        name: The column, as its owner calls it.
        categories: Its values.
        labels: The values in the order that numbers them; None to number them as they appear.
        problems: Receives what is wrong.
        may_miss: Whether -1 may stand for what is missing.
    """
    if labels is None:
        codes = categories.codes
        what, remedy = "is missing", "name the episode of every row"
    else:
        places = {label: place for place, label in enumerate(labels)}
        known = np.array([*(places.get(value, -2) for value in categories.values), -1], np.int64)
        codes = known[categories.codes]
        what = f"is none of the labels {show_names([str(label) for label in labels])}"
        remedy = "add it to the labels in the column map, or mend the value"
        if (codes == -1).any() and not (codes == -2).any():
            remedy = (
                f'write missing.{show_key(name)} = "drop" in the column map to leave such episodes '
                "out, or mend the value"
            )
    rows = np.flatnonzero(codes < -1 if may_miss else codes < 0)

    def describe(i: int) -> tuple[str, str | None]:
        value = categories.find(rows[i])
        return ("is missing", None) if value is None else (what, show(value))

    problems.add_rows(name, rows, describe, remedy)
    return None if len(rows) else codes
