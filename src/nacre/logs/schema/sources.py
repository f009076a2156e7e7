"""How columns, wherever they lie, become the draft of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from nacre.logs.checks.columns import check_flags
from nacre.logs.checks.problems import Problems, show, show_key, show_names
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.fields import FieldReader, load_beside
from nacre.logs.schema.map_values import BY_COLUMN
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.masks import name_mask
from nacre.logs.schema.metadata import ColumnForm, Metadata
from nacre.logs.schema.parts import FIELDS, MASK, VECTORS, is_reserved
from nacre.logs.schema.recognition import (
    Reading,
    find_numbered,
    listed,
    missing_episode,
    recognise,
)
from nacre.logs.schema.source import Source

PARTS = (*FIELDS, "done", "step", "order", "propensity", MASK)
"""Entries of a column map may name a part instead of its column."""


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
    columns = columns or ColumnMap()
    reading = recognise(columns, source.names, problems)
    _name_parts(reading, problems)
    metadata = source.metadata
    draft = Draft({}, {}, {**metadata.spaces, **spaces}, dict(metadata.provenance))
    draft.store = source.store
    draft.notes += [*getattr(source, "notes", ()), *reading.notes]
    files = getattr(source, "file_rows", ())
    if len(files) > 1:
        draft.files = np.repeat(np.arange(len(files), dtype=np.int32), files)
        draft.numbered = _has_numbers(source, reading)
        draft.whole_episodes = getattr(source, "whole_episodes", False)
    _check_entries(columns, source.names, problems)
    if _is_observed("action", reading, problems):
        return None
    fields = FieldReader(source, reading, columns, draft, problems)
    fields.read()
    _settle_ends(reading, draft, problems)
    if draft.single_steps:
        _is_observed("reward", reading, problems)
    if reading.names or fields.expanded:
        draft.provenance["columns"] = {**reading.names, **fields.expanded}
    observed, masked = (listed(reading.columns.get(part, ())) for part in ("observation", MASK))
    name_mask(draft, observed, masked)
    draft.record_encodings()
    written = getattr(getattr(source, "cleaning", None), "written", {})
    if written:
        draft.provenance["written"] = written
    _load_further(source, reading, draft, problems)
    draft.drop_missing(problems)
    draft.sort_single_steps(problems)
    return draft


def _has_numbers(source: Source, reading: Reading) -> bool:
    name = reading.columns.get("episode")
    return isinstance(name, str) and source.is_numeric(name)


def _check_entries(columns: ColumnMap, names: Sequence[str], problems: Problems) -> None:
    """Report entries of the map about columns that are not there: they would change nothing."""
    for key in BY_COLUMN:
        for name in getattr(columns, key):
            if name in names or name in PARTS:
                continue
            near = get_close_matches(name, names, n=1)
            remedy = f"write {key}.{show_key(near[0])}" if near else "remove it"
            problems.add(
                f"the column map has {key}.{show_key(name)}, but no column is called so; there are "
                f"{show_names(names)}",
                remedy,
            )


def _is_observed(part: str, reading: Reading, problems: Problems) -> bool:
    """Report a column that is observed, although nobody has it before the action is chosen."""
    observed = listed(reading.columns.get("observation", ()))
    shared = [name for name in listed(reading.columns.get(part, ())) if name in observed]
    for name in shared:
        problems.add(
            f"is named for the {part} and for an observation: a policy would see what is known "
            "only after it has chosen",
            f"remove {show(name)} from observation in the column map",
            column=name,
        )
    return bool(shared)


def _name_parts(reading: Reading, problems: Problems) -> None:
    """Let problems name the columns as their owner does."""
    for part, names in reading.columns.items():
        if isinstance(names, tuple):
            problems.parts[part] = names
            problems.labels.setdefault(part, part)
        elif names != part:
            problems.labels[part] = names


def _settle_ends(reading: Reading, draft: Draft, problems: Problems) -> None:
    """Derive `terminated` where it has no column of its own; refuse what could mean two things."""
    fields = draft.fields
    if reading.constant_end is not None and fields:
        n_rows = next(len(values) for values in fields.values() if values.ndim)
        fields["terminated"] = np.zeros(n_rows, dtype=np.bool_)
        draft.always_terminates = reading.constant_end
    done = fields.pop("done", None)
    if done is not None and "truncated" in fields:
        ended = check_flags("done", done, problems)
        cut = check_flags("truncated", fields["truncated"], problems)
        if ended is not None and cut is not None and len(ended) == len(cut):
            fields["terminated"] = ended & ~cut
    if reading.ambiguous_done and {"terminated", "truncated"} <= fields.keys():
        _refuse_ambiguous(fields["terminated"], fields["truncated"], problems)
    if reading.lacks_episode:
        _settle_single_steps(reading, draft, problems)
    if reading.ends_by_flags:
        fields.pop("episode", None)
        if draft.always_terminates:
            draft.single_steps = True
            fields["terminated"] = np.ones_like(fields["terminated"])


def _settle_single_steps(reading: Reading, draft: Draft, problems: Problems) -> None:
    """Without a column of episodes, every row is one of its own if every row is terminated."""
    ended = draft.fields.get("terminated")
    if ended is None:
        return
    if ended.ndim == 1 and ended.dtype.kind in "biuf" and (ended == 1).all():
        draft.single_steps = True
        draft.notes.append("every row is terminated: each is an episode of one step")
    else:
        missing_episode(reading, problems)


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
                load_beside(stem, names, source.load, source.store, problems),
                draft,
                source.metadata,
            )
    for name in left:
        if name in used:
            continue
        if not name.strip():
            draft.notes.append("a column without a name was left out")
            continue
        if not source.is_numeric(name) and not is_reserved(name):
            draft.notes.append(f"the column {show_names([name])} is not numeric and was left out")
            draft.left_out[name] = "not numeric"
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
