"""A log in the making: named columns, spaces and provenance on their way through the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike, NDArray

from nacre.logs.checks.problems import Problems, show
from nacre.logs.schema.encoding import ColumnEncoding
from nacre.logs.schema.map_values import Missing
from nacre.logs.schema.parts import FLAGS
from nacre.logs.schema.spaces import JSON
from nacre.logs.storage.stores import MEMORY, Store, take_rows


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
        order: (N,) by which the rows of an episode are put in order, if given.
        encodings: How the columns of the observation became numbers, if not as they are.
        missing: How many values each column misses.
        left_out: Columns that are not kept, and why.
        dropped: (N,) rows whose episodes are to be dropped.
        always_terminates: Whether every episode ends by itself at its last row.
        single_steps: Whether every row is an episode of its own.
        files: (N,) the file of each row, counted from 0, where a folder has several.
        numbered: Whether the column of episodes holds numbers; names mean the same in all files.
        whole_episodes: Whether no episode goes on in another file.
    """

    fields: dict[str, NDArray[Any]]
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    spaces: dict[str, Space[Any]] = field(default_factory=dict)
    provenance: dict[str, JSON] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    store: Store = MEMORY
    order: NDArray[Any] | None = None
    encodings: tuple[ColumnEncoding, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    dropped: NDArray[np.bool_] | None = None
    always_terminates: bool = False
    single_steps: bool = False
    files: NDArray[np.int32] | None = None
    numbered: bool = False
    whole_episodes: bool = False

    def note_missing(self, name: str, absent: NDArray[np.bool_], wanted: Missing) -> None:
        """Remember where a column misses values, and whether these rows are to be dropped."""
        count = int(absent.sum())
        if count == 0:
            return
        self.missing[name] = count
        if wanted == "drop":
            self.dropped = absent if self.dropped is None else self.dropped | absent

    def record_encodings(self) -> None:
        """Keep how columns became numbers with the log, and the names of these numbers."""
        if not self.encodings:
            return
        self.provenance["encoding"] = [encoding.as_json() for encoding in self.encodings]
        features = [feature for encoding in self.encodings for feature in encoding.features]
        recorded = self.provenance.get("columns")
        earlier = recorded if isinstance(recorded, dict) else {}
        self.provenance["columns"] = {**earlier, "observation": list(features)}

    def drop_missing(self, problems: Problems) -> None:
        """Leave out the episodes that miss values, where the map says so."""
        if self.dropped is None:
            return
        episode = np.arange(len(self.dropped))
        if not self.single_steps:
            episode = self._find_episodes()
        drop = np.isin(episode, episode[self.dropped])
        count, total = len(np.unique(episode[drop])), len(np.unique(episode))
        self.notes.append(
            f"{count} of {total} episodes were dropped: they miss values. If values are missing "
            "for a reason that matters, what is left is not a fair sample"
        )
        if drop.all():
            problems.add(
                "every episode misses a value and would be dropped",
                'fill them in: write missing.COLUMN = "median" in the column map',
            )
            return
        self._keep_rows(np.flatnonzero(~drop), problems)

    def sort_single_steps(self, problems: Problems) -> None:
        """Put episodes of one step in their order in time."""
        if not self.single_steps or self.order is None or not (np.diff(self.order) < 0).any():
            return
        self._keep_rows(np.argsort(self.order, kind="stable"), problems)
        self.notes.append("rows were put in their order in time")

    def _find_episodes(self) -> NDArray[Any]:
        if "episode" in self.fields:
            return np.asarray(self.fields["episode"])
        ended = np.zeros(len(next(iter(self.fields.values()))), np.bool_)
        for name in FLAGS:
            if name in self.fields:
                ended |= np.asarray(self.fields[name]) == 1
        return np.cumsum(ended) - ended

    def _keep_rows(self, rows: NDArray[np.int64], problems: Problems) -> None:
        self.select_rows(rows)
        problems.rows = rows if problems.rows is None else problems.rows[rows]

    def select_rows(self, rows: NDArray[Any]) -> None:
        """Keep the given rows, in the given order."""
        for group in (self.fields, self.columns):
            for name in group:
                group[name] = take_rows(group[name], rows, self.store)
        if self.order is not None:
            self.order = self.order[rows]
        if self.files is not None:
            self.files = self.files[rows]


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
