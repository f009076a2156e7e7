"""Numbers among discrete actions: intervals of a column that was a number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show_key
from nacre.logs.schema.map_values import Bins


def bin_numbers(
    name: str, values: NDArray[Any], bins: Bins, problems: Problems
) -> tuple[NDArray[np.int64], tuple[str, ...]] | None:
    """Return (N,) the interval of each number and the intervals' labels, or None after reporting.

    Args:
        name: The column.
        values: (N,) its numbers.
        bins: Where intervals begin, or how many there should be, of about as many rows each.
        problems: Receives what is wrong.
    """
    rows = np.flatnonzero(~np.isfinite(values.astype(np.float64)))
    problems.add_rows(
        name, rows, lambda i: ("is missing", None), "write a number, or leave the episode out"
    )
    if len(rows):
        return None
    if isinstance(bins, tuple):
        edges = np.asarray(bins, np.float64)
    else:
        inside = np.quantile(values, np.arange(1, bins) / bins)
        edges = np.unique(inside[inside > values.min()])
    if len(edges) == 0:
        problems.add(
            "is the same in every row, so it has no intervals",
            f"remove bins.{show_key(name)} and the column from action",
            column=name,
        )
        return None
    shown = [f"{edge:.6g}" for edge in edges]
    inner = [f"{low} to {high}" for low, high in pairwise(shown)]
    labels = tuple(f"{name} {text}" for text in (f"below {shown[0]}", *inner, f"from {shown[-1]}"))
    return np.digitize(values, edges).astype(np.int64), labels
