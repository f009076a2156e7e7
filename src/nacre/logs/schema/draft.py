"""A log in the making: named columns, spaces and provenance on their way through the checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike, NDArray

from nacre.logs.checks.problems import Problems, show
from nacre.logs.schema.spaces import JSON
from nacre.logs.storage.stores import MEMORY, Store, take_rows

VECTORS = ("observation", "action", "next_observation")
FLAGS = ("terminated", "truncated")
FIELDS = ("episode", *VECTORS, "reward", *FLAGS)
REQUIRED = ("episode", "observation", "action", "reward", "terminated")
_RESERVED = re.compile(rf"({'|'.join(FIELDS)})|({'|'.join(VECTORS)})_[0-9]+")


def is_reserved(name: object) -> bool:
    """Return whether a further column must not have this name."""
    return not isinstance(name, str) or not name or _RESERVED.fullmatch(name) is not None


@dataclass
class Draft:
    """Columns as they were found, replaced step by step by what the log will keep.

    Attributes:
        fields: By the names of `FIELDS`; what is absent or wrong is left out.
        columns: Further columns; one called `step` has to count up within an episode.
        spaces: For "observation" and "action", as far as known.
        provenance: Where the log comes from.
        notes: What was assumed or left out; becomes part of the provenance.
        store: Where arrays go that are made on the way.
    """

    fields: dict[str, NDArray[Any]]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    spaces: dict[str, Space[Any]] = field(default_factory=dict)
    provenance: dict[str, JSON] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    store: Store = MEMORY

    def select_rows(self, rows: NDArray[Any]) -> None:
        """Keep the given rows, in the given order."""
        for group in (self.fields, self.columns):
            for name in group:
                group[name] = take_rows(group[name], rows, self.store)


def as_arrays(given: Mapping[str, ArrayLike], problems: Problems) -> dict[str, NDArray[Any]]:
    """Return what was given as arrays, without what is ragged."""
    arrays = {}
    for name, values in given.items():
        try:
            arrays[name] = np.asarray(values)
        except ValueError:
            problems.add(
                "is ragged: its entries differ in length",
                "give every row the same number of entries",
                column=problems.label(name),
            )
    return arrays


def apply_offsets(fields: dict[str, NDArray[Any]], offsets: ArrayLike, problems: Problems) -> None:
    """Replace offsets by the equivalent `episode` column."""
    n_rows = len(fields["reward"]) if "reward" in fields and fields["reward"].ndim else 0
    values = np.asarray(offsets)
    remedy = f"give whole numbers that rise from 0 to the number of rows, {n_rows}"
    if "episode" in fields:
        problems.add("both episode and offsets are given", "give one of them")
    elif (
        values.ndim != 1
        or values.dtype.kind not in "iu"
        or len(values) < 2
        or values[0] != 0
        or values[-1] != n_rows
        or (np.diff(values.astype(np.int64)) <= 0).any()
    ):
        problems.add(
            "do not mark out episodes", remedy, column="offsets", value=show(values.tolist())
        )
    else:
        fields["episode"] = np.repeat(np.arange(len(values) - 1), np.diff(values))
