"""Columns of an observation as features: each encoded by itself, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.columns import check_numeric
from nacre.logs.checks.problems import SHOWN_NAMES, Problems, show_key, show_names
from nacre.logs.schema.categories import Categories, number_categories
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.encoding import CYCLES, MOST_CATEGORIES, ColumnEncoding
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.source import Source


def is_encoded(columns: ColumnMap, names: Sequence[str]) -> bool:
    """Return whether the map says of one of these columns how it becomes numbers."""
    entries = (columns.encode, columns.missing, columns.rare, columns.time_format, columns.labels)
    return any(name in entry for name in names for entry in entries)


class FeatureReader:
    """Reads columns as the map says, and fits what the map leaves open.

    Args:
        source: Where the columns are.
        columns: The map.
        draft: Receives missing values and rows to drop.
        problems: Receives what is wrong.
    """

    def __init__(
        self, source: Source, columns: ColumnMap, draft: Draft, problems: Problems
    ) -> None:
        self._source = source
        self._columns = columns
        self._draft = draft
        self._problems = problems

    def read(self, part: str, names: Sequence[str]) -> NDArray[np.float32] | None:
        """Return (N, w) features, or None after reporting.

        Successors are encoded as the observations before them, column by column.
        """
        fitted: Sequence[ColumnEncoding | None] = [None] * len(names)
        if part == "next_observation" and self._draft.encodings:
            fitted = self._draft.encodings
            if len(fitted) != len(names):
                self._problems.add(
                    f"has {len(names)} columns where observation has {len(fitted)}",
                    "name as many, in the same order",
                    column=part,
                )
                return None
        parts, encodings = [], []
        for name, encoding in zip(names, fitted, strict=True):
            read = self._read_column(part, name, encoding)
            if read is not None:
                encodings.append(read[0])
                parts.append(read[1])
        if len(parts) < len(names):
            return None
        if part == "observation":
            self._draft.encodings = tuple(encodings)
        features = [feature for encoding in encodings for feature in encoding.features]
        self._problems.parts[part] = features
        self._problems.labels.setdefault(part, part)
        vectors = self._draft.store.empty((len(parts[0]), len(features)), np.float32)
        np.concatenate(parts, axis=1, out=vectors)
        return vectors

    def _read_column(
        self, part: str, name: str, fitted: ColumnEncoding | None
    ) -> tuple[ColumnEncoding, NDArray[np.float32]] | None:
        encoding = self._plan(name) if fitted is None else fitted
        if encoding.kind in ("one_hot", "ordinal"):
            return self._read_categories(name, encoding, fitted is None)
        if encoding.kind in CYCLES:
            values = self._source.load_times(name, encoding.time_format)
        else:
            values = self._source.load(name, part)
        if values is None or not check_numeric(name, values, self._problems, axes=1):
            return None
        encoding = encoding.fit_fill(values) if fitted is None else encoding
        self._draft.note_missing(name, np.isnan(values.astype(np.float64)), encoding.missing)
        return encoding, encoding.place_numbers(values)

    def _plan(self, name: str) -> ColumnEncoding:
        columns = self._columns
        labels = columns.labels.get(name, ())
        usual = "time" if name in columns.time_format else "ordinal" if labels else "number"
        kind: Any = columns.encode.get(name, "one_hot" if name in columns.rare else usual)
        missing = columns.missing.get(name, "refuse")
        return ColumnEncoding(
            name,
            kind,
            labels,
            other=kind == "one_hot" and name in columns.rare,
            missing=missing,
            time_format=columns.time_format.get(name),
            unit=columns.unit.get(name),
        )

    def _read_categories(
        self, name: str, encoding: ColumnEncoding, fit: bool
    ) -> tuple[ColumnEncoding, NDArray[np.float32]] | None:
        categories = self._source.load_categories(name)
        if categories is None or not self._check_missing(name, encoding, categories):
            return None
        fitted = self._fit_labels(name, encoding, categories) if fit else encoding
        if fitted is None:
            return None
        known = set(fitted.labels)
        if fitted.other:
            strange = np.array([*(v not in known for v in categories.values), False], np.bool_)
            codes = np.where(strange[categories.codes], -1, categories.codes)
            numbers = number_categories(
                name,
                replace(categories, codes=codes),
                fitted.labels,
                self._problems,
                may_miss=True,
            )
            if numbers is not None:
                numbers = np.where(strange[categories.codes], len(fitted.labels), numbers)
        else:
            numbers = number_categories(
                name, categories, fitted.labels, self._problems, may_miss=True
            )
        if numbers is None:
            return None
        self._draft.note_missing(name, numbers < 0, fitted.missing)
        if fit and fitted.kind == "ordinal":
            fitted = fitted.fit_fill(np.where(numbers < 0, np.nan, numbers))
        return fitted, fitted.place_codes(numbers)

    def _check_missing(self, name: str, encoding: ColumnEncoding, categories: Categories) -> bool:
        rows = np.flatnonzero(categories.codes < 0)
        one_hot = encoding.kind == "one_hot"
        allowed = ("drop", "category") if one_hot else ("drop", "mean", "median")
        fine = encoding.missing in allowed or not (one_hot or isinstance(encoding.missing, str))
        if len(rows) == 0 or fine:
            return True
        choice = " or ".join(f'"{one}"' for one in allowed)
        self._problems.add_rows(
            name,
            rows,
            lambda i: ("is missing", None),
            f"write missing.{show_key(name)} = {choice} in the column map",
        )
        return False

    def _fit_labels(
        self, name: str, encoding: ColumnEncoding, categories: Categories
    ) -> ColumnEncoding | None:
        if encoding.labels:
            return encoding
        labels = categories.sort()
        texts = any(isinstance(label, str) for label in labels)
        if encoding.kind == "ordinal" and texts:
            example = ", ".join(f'"{label}"' for label in labels)
            self._problems.add(
                f"is ordinal, but the order of {show_names(labels)} is not known",
                f"write labels.{show_key(name)} = [{example}] in the column map, in their order",
                column=name,
            )
            return None
        least = self._columns.rare.get(name, 0)
        if least:
            counts = dict(zip(categories.values, categories.count().tolist(), strict=True))
            labels = tuple(label for label in labels if counts[label] >= least)
        if encoding.kind == "one_hot" and len(labels) > MOST_CATEGORIES:
            self._problems.add(
                f"has {len(labels):,} categories, more than {MOST_CATEGORIES}",
                _suggest_rare(name, categories),
                column=name,
            )
            return None
        return replace(encoding, labels=tuple(_plain(label) for label in labels))


def _suggest_rare(name: str, categories: Categories) -> str:
    """What to do about too many categories: those with few rows become one, if others remain."""
    counted = np.sort(categories.count())[::-1]
    enough = max(int(counted[SHOWN_NAMES - 1]), int(counted[MOST_CATEGORIES]) + 1)
    if enough > counted[0]:
        return f'write ignore = ["{name}"] in the column map and leave it out of observation'
    return (
        f"write rare.{show_key(name)} = {enough} in the column map, so that categories with fewer "
        "rows become one, or leave the column out"
    )


def _plain(label: Any) -> Any:
    return label if isinstance(label, str | bool | int | float) else str(label)
