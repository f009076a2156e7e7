"""The parts of a transition from their columns: numbers, labels, features, times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.logs.checks.columns import check_numeric
from nacre.logs.checks.problems import Problems, show, show_key, show_names
from nacre.logs.schema.bins import bin_numbers
from nacre.logs.schema.categories import number_categories
from nacre.logs.schema.choices import MOST_COMBINATIONS
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.features import FeatureReader, is_encoded
from nacre.logs.schema.mapping import ColumnMap, Label
from nacre.logs.schema.parts import FIELDS, MASK, VECTORS
from nacre.logs.schema.recognition import Reading, listed
from nacre.logs.schema.source import Source
from nacre.logs.schema.spaces import JSON
from nacre.logs.storage.stores import MEMORY, Store, blocks


class FieldReader:
    """Reads the parts of a transition into a draft.

    Args:
        source: Where the columns are. It may give each only once; those needed twice are kept.
        reading: Which column holds what.
        columns: The map.
        draft: Receives the values.
        problems: Receives what is wrong.
    """

    def __init__(
        self,
        source: Source,
        reading: Reading,
        columns: ColumnMap,
        draft: Draft,
        problems: Problems,
    ) -> None:
        self._source = source
        self._reading = reading
        self._columns = columns
        self._draft = draft
        self._problems = problems
        self._features = FeatureReader(source, columns, draft, problems)
        self._left = Counter(n for names in reading.columns.values() for n in listed(names))
        self._kept: dict[str, NDArray[Any] | None] = {}
        self._labels: dict[str, tuple[Label, ...]] = {}
        self.expanded: dict[str, JSON] = {}

    def read(self) -> None:
        """Read all of them; what is wrong is left out."""
        for part in (*FIELDS, "done", "step", "order", "propensity", MASK):
            names = self._reading.columns.get(part)
            values = None if names is None else self._read_part(part, names)
            if values is None:
                continue
            if part == "reward" and self._columns.lower_is_better:
                values = self._turn(values)
            if part == "order":
                self._draft.order = values
            elif part == "propensity":
                self._draft.columns[part] = self._as_share(str(names), values)
            elif part in ("step", MASK):
                self._draft.columns[part] = values
            else:
                self._draft.fields[part] = values
        self._apply_labels()

    def _as_share(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        return values / 100.0 if self._columns.unit.get(name) == "%" else values

    def _turn(self, rewards: NDArray[Any]) -> NDArray[Any]:
        """What is earned where less is better: minus what the column says."""
        if rewards.dtype.kind not in "biuf":
            return rewards
        self._draft.provenance["lower_is_better"] = True
        return 0.0 - rewards.astype(np.float64)

    def _read_part(self, part: str, names: str | tuple[str, ...]) -> NDArray[Any] | None:
        if self._has_labels_of_several(part, names):
            return None
        if part in ("observation", "next_observation") and self._has_features(names):
            return self._features.read(part, listed(names))
        if isinstance(names, tuple):
            return self._read_several(part, names)
        if part == "action" and names in self._columns.bins:
            return self._read_combinations((names,))
        labels = self._columns.find_labels(part, names)
        if labels is not None and part != "episode":
            return self._read_labels(part, names, labels)
        if part == "episode":
            return self._read_episode(names)
        if part == "order" and not self._source.is_numeric(names):
            return self._source.load_times(names, self._columns.time_format.get(names))
        return self._drop(part, names, self._load(names, part))

    def _has_labels_of_several(self, part: str, names: str | tuple[str, ...]) -> bool:
        """Report labels that are given for a part of several columns as if it was one."""
        if isinstance(names, str) or part not in self._columns.labels:
            return False
        self._problems.add(
            f"has labels.{part} but is spread over {show_names(names)}",
            f"remove labels.{part}, and write labels.COLUMN = […] for a column that needs them",
            column=part,
        )
        return True

    def _has_features(self, names: str | tuple[str, ...]) -> bool:
        if self._draft.encodings or isinstance(names, tuple):
            return bool(self._draft.encodings) or is_encoded(self._columns, names)
        columns = self._columns
        return names in columns.encode or names in columns.rare or names in columns.time_format

    def _load(self, name: str, part: str) -> NDArray[Any] | None:
        self._left[name] -= 1
        if name in self._kept:
            return self._kept[name]
        values = self._source.load(name, part)
        if self._left[name]:
            self._kept[name] = values
        return values

    def _drop(self, part: str, name: str, values: NDArray[Any] | None) -> NDArray[Any] | None:
        """Mark the rows that miss this value, where they are to be dropped."""
        wanted = self._columns.missing.get(name, self._columns.missing.get(part))
        if values is None or wanted is None:
            return values
        if wanted not in ("drop", "refuse"):
            self._problems.add(
                f"cannot be filled with {show(wanted)}: it is no observation",
                f'write missing.{show_key(name)} = "drop" in the column map',
                column=name,
            )
            return None
        if values.dtype.kind == "f":
            absent = np.isnan(values)
            self._draft.note_missing(name, absent.reshape(len(values), -1).any(axis=1), wanted)
        return values

    def _read_labels(self, part: str, name: str, labels: tuple[Label, ...]) -> NDArray[Any] | None:
        categories = self._source.load_categories(name)
        if categories is None:
            return None
        wanted = self._columns.missing.get(name, self._columns.missing.get(part, "refuse"))
        codes = number_categories(
            name, categories, labels, self._problems, may_miss=wanted == "drop"
        )
        if codes is None:
            return None
        self._labels[part.removeprefix("next_")] = labels
        self._draft.note_missing(name, codes < 0, wanted)
        return codes

    def _read_episode(self, name: str) -> NDArray[Any] | None:
        if self._columns.period is not None:
            times = self._source.load_times(name, self._columns.time_format.get(name))
            return None if times is None else self._cut_periods(name, times)
        if self._source.is_numeric(name):
            return self._load(name, "episode")
        categories = self._source.load_categories(name)
        if categories is None:
            return None
        self._draft.notes.append("episodes were numbered in the order in which they appear")
        return number_categories(name, categories, None, self._problems)

    def _cut_periods(self, name: str, times: NDArray[Any]) -> NDArray[Any] | None:
        """Number the hours, days, weeks (from Monday) or months in which times lie."""
        rows = np.flatnonzero(np.isnan(times))
        self._problems.add_rows(
            name, rows, lambda i: ("is missing", None), "write the time of every row"
        )
        if len(rows):
            return None
        period = self._columns.period
        seconds = times.astype(np.int64)
        self._draft.notes.append(f"an episode is a {period} of {show(name)}")
        if period == "month":
            return seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
        if period == "week":
            return (seconds - 4 * 86400) // (7 * 86400)
        return seconds // (3600 if period == "hour" else 86400)

    def _read_several(self, part: str, names: tuple[str, ...]) -> NDArray[Any] | None:
        if part == "action":
            if self._columns.encode.get("action") == "from_one_hot":
                return self._read_one_hot(names)
            if any(name in self._columns.labels or name in self._columns.bins for name in names):
                return self._read_combinations(names)
        if part in VECTORS and all(name.startswith(f"{part}.") for name in names):
            return self._read_dotted(part, names)
        values = load_beside(
            part, names, lambda name: self._load(name, part), self._source.store, self._problems
        )
        for place, name in enumerate(names):
            if values is not None and name in self._columns.missing:
                self._drop(part, name, values[:, place])
        return values

    def _read_dotted(self, part: str, names: tuple[str, ...]) -> NDArray[Any] | None:
        """Put columns of a dictionary side by side, numbers and vectors alike."""
        columns, expanded = [], []
        for name in names:
            values = self._load(name, part)
            if values is None or not check_numeric(name, values, self._problems, axes=2):
                return None
            columns.append(values.reshape(len(values), -1))
            width = columns[-1].shape[1]
            expanded += [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]
        self._problems.parts[part] = expanded
        self._problems.labels.setdefault(part, part)
        if part in ("observation", "action"):
            self.expanded[part] = list(expanded)
        return np.concatenate(columns, axis=1)

    def _read_one_hot(self, names: tuple[str, ...]) -> NDArray[Any] | None:
        """Read columns of zeros and a single one as the number of the one."""
        marks = load_beside(
            "", names, lambda name: self._load(name, "action"), MEMORY, self._problems
        )
        if marks is None:
            return None
        wrong = np.flatnonzero(((marks != 0) & (marks != 1)).any(axis=1) | (marks.sum(axis=1) != 1))
        self._problems.add_rows(
            None,
            wrong,
            lambda i: (
                f"has {int((marks[wrong[i]] == 1).sum())} ones in {show_names(names)}",
                None,
            ),
            "write 1 in exactly one of these columns and 0 in the others",
        )
        self._labels["action"] = names
        return None if len(wrong) else marks.argmax(axis=1)

    def _read_combinations(self, names: tuple[str, ...]) -> NDArray[Any] | None:
        """Number the combinations of several labelled columns: one Discrete action."""
        codes: NDArray[Any] | None = None
        lists: list[tuple[Label, ...]] = []
        for name in names:
            choice = self._read_choice(name)
            if choice is None:
                return None
            numbers, labels = choice
            lists.append(labels)
            codes = numbers if codes is None else codes * len(labels) + numbers
        combined = tuple(", ".join(map(str, one)) for one in product(*lists))
        if len(combined) > MOST_COMBINATIONS:
            self._problems.add(
                f"has {len(combined):,} combinations of labels, more than {MOST_COMBINATIONS:,}",
                self._suggest_bins(names, lists),
                column="action",
            )
            return None
        self._labels["action"] = combined
        return codes

    def _suggest_bins(self, names: tuple[str, ...], lists: list[tuple[Label, ...]]) -> str:
        """What to do about too many combinations: intervals of the column that has most values."""
        most = max(range(len(names)), key=lambda place: len(lists[place]))
        if not isinstance(lists[most][0], str):
            return f"write bins.{show_key(names[most])} = 5 in the column map: intervals of numbers"
        return "name fewer columns, or group their labels"

    def _read_choice(self, name: str) -> tuple[NDArray[np.int64], tuple[Label, ...]] | None:
        """Read one of several columns that are chosen together: labels, or intervals."""
        bins = self._columns.bins.get(name)
        if bins is not None:
            values = self._load(name, "action")
            if values is None or not check_numeric(name, values, self._problems, axes=1):
                return None
            return bin_numbers(name, values, bins, self._problems)
        categories = self._source.load_categories(name)
        if categories is None:
            return None
        labels = self._columns.labels.get(name) or tuple(categories.sort())
        numbers = number_categories(name, categories, labels, self._problems)
        return None if numbers is None else (numbers, labels)

    def _apply_labels(self) -> None:
        """Give labelled fields their space, and keep the labels for whoever writes them back."""
        kept = {part: labels for part, labels in self._labels.items() if part in VECTORS}
        for part, labels in kept.items():
            space = self._draft.spaces.setdefault(part, Discrete(len(labels)))
            if space != Discrete(len(labels)):
                self._problems.add(
                    f"has {len(labels)} labels where its space is {space}",
                    f"leave the space out or give Discrete({len(labels)})",
                    column=self._problems.label(part),
                )
        if kept:
            self._draft.provenance["labels"] = {p: list(labels) for p, labels in kept.items()}


def load_beside(
    part: str,
    names: Sequence[str],
    load: Callable[[str], NDArray[Any] | None],
    store: Store,
    problems: Problems,
) -> NDArray[Any] | None:
    """Put columns side by side, in memory one at a time to need little of it."""
    vectors: NDArray[Any] | None = None
    columns: list[NDArray[Any]] = []
    complete = True
    for index, name in enumerate(names):
        values = load(name)
        if values is None or not check_numeric(name, values, problems, axes=1):
            complete = False
            continue
        if vectors is None:
            dtype = (
                np.dtype(np.float32)
                if part in (*VECTORS, MASK) and len(names) > 1
                else values.dtype
            )
            vectors = store.empty((len(values), len(names)), dtype)
        if len(values) != len(vectors):
            problems.add(
                f"has {len(values)} rows where {len(vectors)} are expected",
                "give every column one entry a transition",
                column=name,
            )
            complete = False
        elif store is not MEMORY:
            columns.append(values)
        else:
            with np.errstate(over="ignore"):
                vectors[:, index] = values
    if vectors is None or not complete:
        return None
    if columns:
        _interleave(columns, vectors)
    return vectors


def _interleave(columns: Sequence[NDArray[Any]], vectors: NDArray[Any]) -> None:
    """Fill files row by row: column by column would write them as often as there are columns."""
    with np.errstate(over="ignore"):
        for rows in blocks(vectors, *columns):
            for index, values in enumerate(columns):
                vectors[rows, index] = values[rows]
