"""Categories: texts and other values that stand for the elements of a Discrete space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import SHOWN_ROWS, Problems, show, show_names
from nacre.logs.schema.mapping import Label


class Numbering:
    """Numbers values by their place among labels or, without labels, as they first appear.

    Args:
        name: The column, as its owner calls it.
        labels: The values in order; None to number whatever comes.
    """

    def __init__(self, name: str, labels: tuple[Label, ...] | None) -> None:
        self._name = name
        self._labels = labels
        self._codes: dict[Any, int] = {label: i for i, label in enumerate(labels or ())}
        self._parts: list[NDArray[np.int64]] = []
        self._unknown: list[NDArray[np.int64]] = []
        self._shown: list[Any] = []
        self._n_rows = 0

    def add(self, values: Iterable[Any], indices: NDArray[Any]) -> None:
        """Add rows, given as the different values among them and which of these each row has.

        Args:
            values: All different values; None is one that is missing.
            indices: (n,) places in `values`; negative where a value is missing.
        """
        distinct = list(values)
        places = np.array([self._look_up(value) for value in distinct] or [-1], dtype=np.int64)
        codes = np.where(indices < 0, -1, places[indices])
        rows = np.flatnonzero(codes < 0)
        for row in rows[: SHOWN_ROWS - len(self._shown)]:
            self._shown.append(None if indices[row] < 0 else distinct[indices[row]])
        self._unknown.append(rows + self._n_rows)
        self._parts.append(codes)
        self._n_rows += len(codes)

    def _look_up(self, value: Any) -> int:
        if value is None:
            return -1
        if self._labels is None:
            return self._codes.setdefault(value, len(self._codes))
        return self._codes.get(value, -1)

    def finish(self, problems: Problems) -> NDArray[np.int64] | None:
        """Return (N,) the number of each row, or None after naming the rows that have none."""
        rows = np.concatenate(self._unknown) if self._unknown else np.empty(0, np.int64)
        if self._labels is None:
            what, remedy = "is missing", "name the episode of every row"
        else:
            what = f"is none of the labels {show_names([str(label) for label in self._labels])}"
            remedy = "add it to the labels in the column map, or mend the value"
        problems.add_rows(self._name, rows, lambda i: (what, show(self._shown[i])), remedy)
        if len(rows):
            return None
        return np.concatenate(self._parts) if self._parts else np.empty(0, np.int64)


def number_array(
    name: str, values: NDArray[Any], labels: tuple[Label, ...] | None, problems: Problems
) -> NDArray[np.int64] | None:
    """Return the numbers of the values of an array, (N,) texts or numbers."""
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
    numbering = Numbering(name, labels)
    numbering.add(distinct[order].tolist(), rank[indices.reshape(-1)])
    return numbering.finish(problems)
