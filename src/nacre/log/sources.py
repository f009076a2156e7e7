"""Columns by name, wherever they lie, and how they become the draft of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from nacre.log.checks import check_numeric
from nacre.log.draft import FIELDS, REQUIRED, VECTORS, Draft, is_reserved
from nacre.log.metadata import ColumnForm, Metadata
from nacre.log.problems import Problems, show_names

_NUMBERED = re.compile(r"(.+)_([0-9]{1,6})", re.DOTALL)


class Source(Protocol):
    """A file that has been opened: names at once, columns when asked for."""

    names: Sequence[str]
    metadata: Metadata

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""
        ...

    def load(self, name: str) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def draft_log(source: Source, spaces: dict[str, Space[Any]], problems: Problems) -> Draft | None:
    """Read all columns of a source; None if its columns are not those of a log.

    Args:
        source: Where the columns are.
        spaces: Given by the caller; they count more than those in the file.
        problems: Receives what is wrong.
    """
    repeated = [name for name, count in Counter(source.names).items() if count > 1]
    for name in repeated:
        problems.add("appears more than once", "keep one of them", column=name)
    if repeated:
        return None
    numbered = _find_numbered(source.names)
    missing = [n for n in REQUIRED if n not in source.names and n not in numbered]
    for name in missing:
        either = f"{name} or {name}_0, {name}_1, …" if name in VECTORS else name
        problems.add(
            f"is missing; there are {show_names(source.names)}",
            f"add the column {either}",
            column=name,
        )
    fields = {}
    for name in FIELDS:
        values = _load_field(source, name, numbered.get(name, {}), problems)
        if values is not None:
            fields[name] = values
    draft = Draft(
        fields, {}, {**source.metadata.spaces, **spaces}, dict(source.metadata.provenance)
    )
    _load_further(source, numbered, draft, problems)
    return draft


def _find_numbered(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return, for each stem, its numbered columns; of two with one number the later is left out."""
    families: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match:
            families.setdefault(match[1], {}).setdefault(int(match[2]), name)
    return {
        stem: family for stem, family in families.items() if stem in VECTORS or stem not in FIELDS
    }


def _load_field(
    source: Source, name: str, family: dict[int, str], problems: Problems
) -> NDArray[Any] | None:
    if name in source.names:
        if family:
            problems.add(
                f"is there twice, also as {show_names(family.values())}",
                "keep one of the two forms",
                column=name,
            )
            return None
        return source.load(name)
    if not family:
        return None
    problems.numbered.add(name)
    absent = [f"{name}_{i}" for i in range(max(family)) if i not in family]
    if absent:
        problems.add(
            f"is missing: there are {show_names(family.values())}",
            "number the columns from 0 without a gap",
            column=absent[0],
        )
        return None
    return _load_numbered(source, name, family, problems)


def _load_numbered(
    source: Source, name: str, family: dict[int, str], problems: Problems
) -> NDArray[Any] | None:
    """Put `name_0, name_1, …` side by side, one at a time to need little memory."""
    vectors: NDArray[Any] | None = None
    complete = True
    for index in range(len(family)):
        values = source.load(family[index])
        if values is None or not check_numeric(family[index], values, problems, axes=1):
            complete = False
            continue
        if vectors is None:
            dtype = np.dtype(np.float32) if name in VECTORS and len(family) > 1 else values.dtype
            vectors = np.empty((len(values), len(family)), dtype=dtype)
        if len(values) != len(vectors):
            problems.add(
                f"has {len(values)} rows where {len(vectors)} are expected",
                "give every column one entry a transition",
                column=family[index],
            )
            complete = False
            continue
        with np.errstate(over="ignore"):
            vectors[:, index] = values
    return vectors if complete else None


def _load_further(
    source: Source, numbered: dict[str, dict[int, str]], draft: Draft, problems: Problems
) -> None:
    """Load the columns that are not part of a transition; numeric ones are kept."""
    forms = source.metadata.forms
    used = set(FIELDS)
    for stem in VECTORS:
        used |= set(numbered.get(stem, {}).values())
    for stem, family in numbered.items():
        if stem in VECTORS or stem in source.names:
            continue
        width = len(family)
        told = None if forms is None else forms.get(stem, ColumnForm("")).width
        grouped = width > 1 if forms is None else told == width
        complete = sorted(family) == list(range(width))
        if grouped and complete and all(source.is_numeric(name) for name in family.values()):
            problems.numbered.add(stem)
            used |= set(family.values())
            values = _load_numbered(source, stem, family, problems)
            _keep(stem, values, draft, source.metadata)
    for name in source.names:
        if name in used:
            continue
        if not source.is_numeric(name) and not is_reserved(name):
            draft.notes.append(f"the column {show_names([name])} is not numeric and was left out")
            continue
        _keep(name, source.load(name), draft, source.metadata)


def _keep(name: str, values: NDArray[Any] | None, draft: Draft, metadata: Metadata) -> None:
    if values is None:
        return
    form = (metadata.forms or {}).get(name)
    if form is not None and values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            values = values.astype(form.dtype)
    draft.columns[name] = values
