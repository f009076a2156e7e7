"""How a column of somebody's table becomes numbers of an observation, and how to do it again.

An encoding is fitted to a column once and kept with the log and with every policy that is learned
from it: raw rows can then be given to the policy. `nacre.policies.formats.numpy_predictor` does the
same with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nacre.logs.schema.map_values import Label, Missing
from nacre.logs.schema.spaces import JSON

Kind = Literal["number", "one_hot", "ordinal", "time", "date"]

MOST_CATEGORIES = 100
"""Categories of one column that get a place of their own."""
DAY = 86400.0
CYCLES: Mapping[str, Mapping[str, float]] = {
    "time": {"day": DAY, "week": 7 * DAY},
    "date": {"week": 7 * DAY},
}
"""Times are seen by where they lie in these, in seconds: as sine and cosine. Not in the year: in a
log of less than some years that only says how late it is, and no later episode is like it."""
DAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")
"""Seconds are counted from a Thursday, the first of January 1970."""


@dataclass(frozen=True)
class ColumnEncoding:
    """How one column becomes one or several numbers.

    Attributes:
        column: As its owner calls it.
        kind: number, one_hot (one place for each label), ordinal (the label's number), time (sine
            and cosine of its place in the day and in the week) or date (in the week).
        labels: The categories in order.
        other: Whether a last place stands for categories that are rare.
        missing: refuse, drop, mean, median, a number, or category.
        fill: What was put in where a value is missing.
        time_format: How times are written.
        unit: What is removed from numbers.
    """

    column: str
    kind: Kind = "number"
    labels: tuple[Label, ...] = ()
    other: bool = False
    missing: Missing = "refuse"
    fill: float | None = None
    time_format: str | None = None
    unit: str | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the numbers that it gives."""
        if self.kind == "one_hot":
            names = [f"{self.column}={label}" for label in self.labels]
            names += [f"{self.column}=other"] if self.other else []
            return tuple(names + ([f"{self.column}=missing"] if self.missing == "category" else []))
        names = [self.column]
        if self.kind in CYCLES:
            waves = [(cycle, wave) for cycle in CYCLES[self.kind] for wave in ("sin", "cos")]
            names = [f"{self.column} in the {cycle} ({wave})" for cycle, wave in waves]
        return tuple(names + ([f"{self.column} is missing"] if self.fill is not None else []))

    def place_codes(self, codes: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return (N, w) features of labels' numbers: -1 is missing, len(labels) is other."""
        if self.kind == "ordinal":
            return self.place_numbers(np.where(codes < 0, np.nan, codes))
        width = len(self.features)
        # The last row is that of what is missing: a place of its own, or nothing that counts.
        table = np.eye(width, dtype=np.float32)
        if self.missing != "category":
            table = np.concatenate([table, np.full((1, width), np.nan, np.float32)])
        return table.take(codes, axis=0)

    def place_numbers(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return (N, w) features of numbers, NaN where one is missing."""
        with np.errstate(over="ignore"):
            numbers = np.asarray(values, np.float64)
        absent = np.isnan(numbers)
        parts = [self._spread(numbers)]
        if self.fill is not None:
            parts = [np.where(absent[:, None], self._spread(np.array([self.fill])), parts[0])]
            parts.append(absent[:, None].astype(np.float64))
        with np.errstate(over="ignore"):
            return np.concatenate(parts, axis=1).astype(np.float32)

    def _spread(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.kind not in CYCLES:
            return numbers[:, None]
        lengths = CYCLES[self.kind].values()
        angles = [2 * np.pi * np.mod(numbers, length) / length for length in lengths]
        return np.stack([wave(angle) for angle in angles for wave in (np.sin, np.cos)], axis=1)

    def fit_fill(self, values: NDArray[Any]) -> ColumnEncoding:
        """Return the same with what is put in where one of these values is missing."""
        if self.missing in ("refuse", "drop", "category"):
            return self
        if self.missing not in ("mean", "median"):
            return replace(self, fill=float(self.missing))
        known = np.asarray(values, np.float64)
        known = known[np.isfinite(known)]
        centre = np.mean if self.missing == "mean" else np.median
        return replace(self, fill=float(centre(known)) if len(known) else 0.0)

    def show(self, numbers: Sequence[float]) -> str:
        """The value of the column that these numbers stand for, for people; (w,)."""
        if self.kind == "one_hot":
            return self._show_place(int(np.argmax(numbers)))
        if self.fill is not None and numbers[-1] > 0.5:
            return "missing"
        if self.kind in CYCLES:
            return _show_time(numbers, tuple(CYCLES[self.kind].values()))
        if self.labels:
            return str(self.labels[int(np.clip(round(numbers[0]), 0, len(self.labels) - 1))])
        return f"{numbers[0]:.6g}"

    def _show_place(self, place: int) -> str:
        if place < len(self.labels):
            return str(self.labels[place])
        return "other" if self.other and place == len(self.labels) else "missing"

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ColumnEncoding:
        """What `as_json` has kept; what else is in it is left out."""
        known = {one.name: document[one.name] for one in fields(cls) if one.name in document}
        texts = {"column": str(document.get("column")), "labels": tuple(known.get("labels", ()))}
        return cls(**{**known, **texts})

    def as_json(self) -> dict[str, JSON]:
        """What is kept with logs and policies; what is not set is left out."""
        document = {**asdict(self), "labels": list(self.labels)}
        kept = ("column", "kind")
        return {k: v for k, v in document.items() if k in kept or v not in (None, [], False)}


def read_encodings(entries: object) -> tuple[ColumnEncoding, ...]:
    """The encodings that logs and records keep; none where something else is there."""
    if not isinstance(entries, list | tuple):
        return ()
    for entry in entries:
        known = isinstance(entry, Mapping) and entry.get("kind") in get_args(Kind)
        if not known or not isinstance(entry.get("labels", []), list):
            return ()
    return tuple(ColumnEncoding.from_json(entry) for entry in entries)


def show_columns(encodings: Sequence[ColumnEncoding], numbers: Sequence[float]) -> list[str]:
    """An observation as its owner knows it: a text such as "region north" for each column."""
    shown, place = [], 0
    for encoding in encodings:
        width = len(encoding.features)
        shown.append(f"{encoding.column} {encoding.show(numbers[place : place + width])}")
        place += width
    return shown


def _show_time(numbers: Sequence[float], lengths: Sequence[float]) -> str:
    """The day of the week, and the time of the day where that is known."""
    seconds = [
        np.arctan2(numbers[2 * i], numbers[2 * i + 1]) / (2 * np.pi) % 1.0 * length
        for i, length in enumerate(lengths)
    ]
    in_day = seconds[0] if len(seconds) > 1 else 0.0
    day = DAYS[round((seconds[-1] - in_day) / DAY) % 7]
    minute = round(in_day / 60) % 1440
    return day if len(seconds) < 2 else f"{day} {minute // 60:02d}:{minute % 60:02d}"
