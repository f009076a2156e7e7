"""What can be seen of a column without knowing what it means."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nacre.logs.formats.cleaning import suggest_cleaning, write_sign
from nacre.logs.formats.csv_style import MISSING_TEXTS
from nacre.logs.schema.categories import Categories
from nacre.logs.schema.source import Source

Kind = Literal["number", "category", "time", "other"]

SAMPLE = 2000
"""Different values that are looked at to say what a column holds."""
FEWEST_COUNTED = 10
"""Rows from which on numbers that rise by one count them."""
MOST_WORDS = 3
"""Different words among numbers that may stand for what is missing."""


@dataclass(frozen=True)
class Facts:
    """What one column holds.

    Attributes:
        name: The column.
        kind: Numbers, categories, times, or nothing that can be used (vectors, objects).
        n_rows: How many rows there are.
        n_missing: How many of them miss a value.
        values: The different values, in order, up to `SAMPLE` of them.
        n_distinct: How many different values there are.
        counts: How many rows have each of the values.
        cleaning: What the column map has to say for texts to be read as numbers.
        absent: Texts among numbers that seem to stand for what is missing.
        time_formats: How times may be written: none for ISO 8601, several if it is not sure.
        seconds: (N,) times in seconds since 1970, NaN where missing; none for others.
        numbers: (N,) numbers, NaN where missing; none for others.
    """

    name: str
    kind: Kind
    n_rows: int
    n_missing: int = 0
    values: tuple[Any, ...] = ()
    n_distinct: int = 0
    counts: tuple[int, ...] = ()
    cleaning: str = ""
    absent: tuple[str, ...] = ()
    time_formats: tuple[str, ...] = ()
    seconds: NDArray[np.float64] | None = None
    numbers: NDArray[np.float64] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all rows say the same."""
        return self.n_distinct <= 1 and self.n_missing == 0

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        numbers = self.numbers
        return numbers is not None and bool(
            (np.isnan(numbers) | (np.floor(numbers) == numbers)).all()
        )

    @property
    def counts_rows(self) -> bool:
        """Whether it is the number of the row, as an index is."""
        numbers = self.numbers
        if numbers is None or self.n_rows < FEWEST_COUNTED:
            return False
        return bool((np.diff(numbers[~np.isnan(numbers)]) == 1).all())

    @property
    def is_flag(self) -> bool:
        """Whether it holds zeros and ones."""
        return self.kind == "number" and set(self.values) <= {0, 1}


def look_at(source: Source, name: str) -> Facts:
    """Return what a column holds; nothing is reported, whatever it is."""
    if source.is_numeric(name):
        numbers = source.load(name)
        if numbers is None or numbers.ndim != 1:
            return Facts(name, "other", 0 if numbers is None else len(numbers))
        return _look_at_numbers(name, numbers.astype(np.float64))
    categories = source.load_categories(name)
    if categories is None:
        return Facts(name, "other", 0)
    return _look_at_values(name, categories)


def _look_at_numbers(name: str, numbers: NDArray[np.float64]) -> Facts:
    known = numbers[~np.isnan(numbers)]
    values, counts = np.unique(known, return_counts=True)
    whole = bool((np.floor(values) == values).all()) if len(values) else False
    shown = [int(v) if whole and abs(v) < 2**53 else float(v) for v in values[:SAMPLE]]
    return Facts(
        name,
        "number",
        len(numbers),
        len(numbers) - len(known),
        tuple(shown),
        len(values),
        tuple(counts[:SAMPLE].tolist()),
        numbers=numbers,
    )


def _look_at_values(name: str, categories: Categories) -> Facts:
    ordered = categories.sort()
    places = {value: place for place, value in enumerate(categories.values)}
    counts = categories.count()
    facts = Facts(
        name,
        "category",
        len(categories.codes),
        int((categories.codes < 0).sum()),
        tuple(ordered[:SAMPLE]),
        len(ordered),
        tuple(int(counts[places[value]]) for value in ordered[:SAMPLE]),
    )
    texts = [value for value in facts.values if isinstance(value, str)]
    if not texts:
        timed = facts.values and all(isinstance(value, datetime.date) for value in facts.values)
        return _as_times(facts, categories, ()) if timed else replace(facts, kind="other")
    usual = [text for text in texts if text.strip() in MISSING_TEXTS]
    given = [text for text in texts if text not in usual]
    strange = [text for text in given if not is_number_text(write_sign(text))]
    wordy = tuple(text for text in strange if not any(map(str.isdigit, text)))
    worded = 0 < len(wordy) <= MOST_WORDS and len(wordy) < len(given) / 2
    if worded:
        strange = [text for text in strange if text not in wordy]
    cleaning = suggest_cleaning(name, strange)
    if cleaning or (given and not strange):
        absent = wordy if worded else ()
        lost = sum(facts.counts[facts.values.index(text)] for text in (*usual, *absent))
        n_missing = facts.n_missing + lost
        read = None if cleaning else _read_numbers(categories, (*usual, *absent))
        return replace(
            facts,
            kind="number",
            cleaning=cleaning,
            absent=absent,
            n_missing=n_missing,
            numbers=read,
        )
    from nacre.logs.formats.arrow_times import find_time_formats

    formats = find_time_formats(given)
    return facts if formats is None else _as_times(facts, categories, formats)


def _read_numbers(categories: Categories, absent: Sequence[str]) -> NDArray[np.float64]:
    """(N,) numbers that are written as texts, NaN where one is missing."""
    told = [
        np.nan if text in absent or text is None else float(write_sign(str(text)))
        for text in categories.values
    ]
    return np.array([*told, np.nan])[categories.codes]


def _as_times(facts: Facts, categories: Categories, formats: tuple[str, ...]) -> Facts:
    import pyarrow as pa

    from nacre.logs.formats.arrow_times import parse_times

    values = list(categories.values)
    if isinstance(values[0], str):
        form = formats[0] if formats else None
        parsed = parse_times(pa.array(values, pa.large_string()), form).cast(pa.int64())
        seconds = np.asarray(parsed.cast(pa.float64()).to_numpy(zero_copy_only=False))
    else:
        zoned = [getattr(value, "tzinfo", None) is not None for value in values]
        if any(zoned):
            values = [value.astimezone(datetime.UTC).replace(tzinfo=None) for value in values]
        seconds = np.array(values, "datetime64[s]").astype(np.int64).astype(np.float64)
    return replace(
        facts,
        kind="time",
        time_formats=formats,
        seconds=np.append(seconds, np.nan)[categories.codes],
    )


def is_number_text(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def open_facts(source: Source) -> dict[str, Facts]:
    """Return what all columns hold, by name; one without a name is left out when it is read."""
    named = [name for name in dict.fromkeys(source.names) if name.strip()]
    return {name: look_at(source, name) for name in named}


def find_size(text: object) -> tuple[float, str]:
    """By the first number in a text such as "2,5 mg"."""
    found = re.search(r"[0-9]+(?:[.,][0-9]+)?", str(text))
    return float(found[0].replace(",", ".")) if found else 0.0, str(text)


def is_settled(state: Facts, masks: Sequence[Facts]) -> bool:
    """Whether what is allowed follows from the number of the state."""
    columns = [one.numbers for one in (state, *masks) if one.numbers is not None]
    pairs = np.unique(np.stack(columns), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])))
