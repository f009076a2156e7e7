"""Columns by name, wherever they lie, and how they become the draft of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from nacre.logs.checks.columns import check_flags, check_numeric
from nacre.logs.checks.problems import Problems, show, show_names
from nacre.logs.schema.draft import FIELDS, VECTORS, Draft, is_reserved
from nacre.logs.schema.mapping import ColumnMap, Label
from nacre.logs.schema.metadata import ColumnForm, Metadata
from nacre.logs.schema.recognition import Reading, find_numbered, listed, recognise
from nacre.logs.storage.stores import MEMORY, Store, blocks


class Source(Protocol):
    """A file that has been opened: names at once, columns when asked for."""

    names: list[str]
    metadata: Metadata
    store: Store

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""
        ...

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read.

        Args:
            name: The column.
            part: The field that it is for, if it is for one.
        """
        ...

    def load_codes(self, name: str, labels: tuple[Label, ...] | None) -> NDArray[Any] | None:
        """Return (N,) the place of each value among `labels`, or None after reporting.

        Without labels the values are numbered in the order in which they first appear.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def draft_log(
    source: Source,
    spaces: Mapping[str, Space[Any]],
    problems: Problems,
    columns: ColumnMap | None = None,
) -> Draft | None:
    """Read all columns of a source; None if its columns are not those of a log.

    Args:
        source: Where the columns are.
        spaces: Given by the caller; they count more than those in the file.
        problems: Receives what is wrong.
        columns: Which of them holds what.
    """
    repeated = [name for name, count in Counter(source.names).items() if count > 1]
    for name in repeated:
        problems.add("appears more than once", "keep one of them", column=name)
    if repeated:
        return None
    reading = recognise(columns or ColumnMap(), source.names, problems)
    _name_parts(reading, problems)
    metadata = source.metadata
    draft = Draft({}, {}, {**metadata.spaces, **spaces}, dict(metadata.provenance))
    draft.store = source.store
    draft.notes += reading.notes
    _load_fields(_OnceSource(source, reading), reading, draft, problems)
    _apply_labels(reading, draft, problems)
    _settle_ends(reading, draft, problems)
    if reading.names:
        draft.provenance["columns"] = dict(reading.names)
    _load_further(source, reading, draft, problems)
    return draft


def _name_parts(reading: Reading, problems: Problems) -> None:
    """Let problems name the columns as their owner does."""
    for part, names in reading.columns.items():
        if isinstance(names, tuple):
            problems.parts[part] = names
            problems.labels.setdefault(part, part)
        elif names != part:
            problems.labels[part] = names


class _OnceSource:
    """Loads columns from a source that gives each only once, also those needed twice."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self._source = source
        self._left = Counter(n for names in reading.columns.values() for n in listed(names))
        self._kept: dict[str, NDArray[Any] | None] = {}

    def load(self, name: str, part: str) -> NDArray[Any] | None:
        self._left[name] -= 1
        if name in self._kept:
            return self._kept[name]
        values = self._source.load(name, part)
        if self._left[name]:
            self._kept[name] = values
        return values

    def load_field(
        self, part: str, names: str | tuple[str, ...], problems: Problems
    ) -> NDArray[Any] | None:
        if isinstance(names, tuple):
            return _load_beside(
                part, names, lambda name: self.load(name, part), self._source.store, problems
            )
        return self.load(names, part)

    def load_codes(self, name: str, labels: tuple[Label, ...] | None) -> NDArray[Any] | None:
        return self._source.load_codes(name, labels)

    def is_numeric(self, name: str) -> bool:
        return self._source.is_numeric(name)


def _load_fields(source: _OnceSource, reading: Reading, draft: Draft, problems: Problems) -> None:
    for part in (*FIELDS, "done", "step"):
        names = reading.columns.get(part)
        if names is None:
            continue
        labels = reading.labels.get(part.removeprefix("next_"))
        if labels is not None and isinstance(names, tuple):
            problems.add(
                f"has labels but is spread over {show_names(names)}",
                "labels number the values of a single column",
                column=part,
            )
            continue
        if isinstance(names, str) and labels is not None:
            values = source.load_codes(names, labels)
        elif isinstance(names, str) and part == "episode" and not source.is_numeric(names):
            values = source.load_codes(names, None)
            draft.notes.append("episodes were numbered in the order in which they appear")
        else:
            values = source.load_field(part, names, problems)
        if values is not None:
            (draft.columns if part == "step" else draft.fields)[part] = values


def _apply_labels(reading: Reading, draft: Draft, problems: Problems) -> None:
    """Give labelled fields their space, and keep the labels for whoever writes them back."""
    for part, labels in reading.labels.items():
        space = draft.spaces.setdefault(part, Discrete(len(labels)))
        if space != Discrete(len(labels)):
            problems.add(
                f"has {len(labels)} labels where its space is {space}",
                f"leave the space out or give Discrete({len(labels)})",
                column=problems.label(part),
            )
    if reading.labels:
        draft.provenance["labels"] = {p: list(labels) for p, labels in reading.labels.items()}


def _settle_ends(reading: Reading, draft: Draft, problems: Problems) -> None:
    """Derive `terminated` where it has no column of its own; refuse what could mean two things."""
    fields = draft.fields
    if reading.never_terminates and fields:
        n_rows = next(len(values) for values in fields.values() if values.ndim)
        fields["terminated"] = np.zeros(n_rows, dtype=np.bool_)
    done = fields.pop("done", None)
    if done is not None and "truncated" in fields:
        ended = check_flags("done", done, problems)
        cut = check_flags("truncated", fields["truncated"], problems)
        if ended is not None and cut is not None and len(ended) == len(cut):
            fields["terminated"] = ended & ~cut
    if reading.ambiguous_done and {"terminated", "truncated"} <= fields.keys():
        _refuse_ambiguous(fields["terminated"], fields["truncated"], problems)
    if reading.ends_by_flags:
        fields.pop("episode", None)


def _refuse_ambiguous(done: NDArray[Any], cut: NDArray[Any], problems: Problems) -> None:
    if done.shape != cut.shape or done.ndim != 1:
        return
    rows = np.flatnonzero((done == 1) & (cut == 1))
    name, other = problems.label("terminated"), problems.label("truncated")
    if len(rows):
        problems.add(
            f"is true in row {rows[0]}, where {show(other)} is true too: either the world ended "
            "the episode there, or the column marks every end",
            f'write terminated = "{name}" in the column map for the first, '
            f'done = "{name}" for the second',
            column=name,
        )


def _load_beside(
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
            dtype = np.dtype(np.float32) if part in VECTORS and len(names) > 1 else values.dtype
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


def _load_further(source: Source, reading: Reading, draft: Draft, problems: Problems) -> None:
    """Load the columns that are not part of a transition; numeric ones are kept."""
    forms = source.metadata.forms
    used = reading.used | set(reading.unused)
    draft.notes += [note for note in reading.unused.values() if note]
    left = [name for name in source.names if name not in used]
    for stem, family in find_numbered(left).items():
        if stem in VECTORS or stem in source.names:
            continue
        width = len(family)
        stored = None if forms is None else forms.get(stem, ColumnForm("")).width
        grouped = width > 1 if forms is None else stored == width
        complete = sorted(family) == list(range(width))
        if grouped and complete and all(source.is_numeric(name) for name in family.values()):
            names = tuple(family[i] for i in range(width))
            problems.parts[stem] = names
            used |= set(names)
            _keep(
                stem,
                _load_beside(stem, names, source.load, source.store, problems),
                draft,
                source.metadata,
            )
    for name in left:
        if name in used:
            continue
        if not source.is_numeric(name) and not is_reserved(name):
            draft.notes.append(f"the column {show_names([name])} is not numeric and was left out")
            continue
        _keep(name, source.load(name), draft, source.metadata)
    if "step" in draft.columns:
        draft.columns["step"] = _in_form("step", draft.columns["step"], source.metadata)


def _keep(name: str, values: NDArray[Any] | None, draft: Draft, metadata: Metadata) -> None:
    if values is not None:
        draft.columns[name] = _in_form(name, values, metadata)


def _in_form(name: str, values: NDArray[Any], metadata: Metadata) -> NDArray[Any]:
    form = (metadata.forms or {}).get(name)
    if form is None or values.dtype.kind not in "biuf":
        return values
    with np.errstate(all="ignore"):
        return values.astype(form.dtype)
