"""From raw columns to the content of a log: the one door, where everything is checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from nacre.logs.checks import columns as checks
from nacre.logs.checks import continuity
from nacre.logs.checks.completion import complete
from nacre.logs.checks.joining import tell_apart
from nacre.logs.checks.problems import Problems
from nacre.logs.schema.choices import combine_choices
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.masks import check_mask, declare_actions, fold_mask
from nacre.logs.schema.parts import FIELDS, FLAGS, VECTORS, is_reserved
from nacre.logs.schema.spaces import JSON, SpaceError, canonical_space, infer_space, like_space

ROW_ARRAYS = (
    "observations",
    "actions",
    "rewards",
    "next_observations",
    "terminated",
    "truncated",
)
"""Fields of a log that have one entry a transition."""


@dataclass(frozen=True, eq=False, repr=False)
class Content:
    """The fields of a `Log`, which says what they are, checked and in order."""

    observations: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[np.float32]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    observation_space: Space[Any]
    action_space: Space[Any]
    provenance: Mapping[str, JSON] = field(default_factory=dict)
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def assemble(draft: Draft, problems: Problems) -> Content | None:
    """Check everything and return the content of a log, or None when `problems` says why not.

    The checks go on after the first problem as far as what is right allows. `draft` is used up.
    """
    same_length = _check_lengths(draft, problems)
    _check_provenance(draft, problems)
    if same_length:
        combine_choices(draft, problems)
    declare_actions(draft)
    _check_spaces(draft, problems)
    _check_fields(draft, problems)
    _check_columns(draft, problems)
    check_mask(draft, problems)
    # Next to a row that could not be read, its neighbours would seem not to fit together.
    if not same_length or problems.unreadable:
        return None
    if draft.single_steps:
        draft.fields["episode"] = np.arange(len(draft.fields["terminated"]))
    if "episode" not in draft.fields and not problems:
        draft.fields["episode"] = continuity.episode_from_flags(_ended(draft))
    if "episode" not in draft.fields:
        return None
    tell_apart(draft)
    grouping = continuity.group_rows(
        draft.fields.pop("episode"), draft.columns.get("step", draft.order)
    )
    if grouping.moved:
        draft.select_rows(grouping.rows)
        also = "time" if "step" not in draft.columns and draft.order is not None else "step"
        draft.notes.append(f"rows were put in order by episode, and by {also} where that is given")
    _check_structure(draft, grouping, problems)
    if not problems:
        fold_mask(draft, grouping.offsets)
    offsets = None if problems else complete(draft, grouping.offsets, problems)
    return None if offsets is None else _content(draft, offsets)


def _check_lengths(draft: Draft, problems: Problems) -> bool:
    lengths = {
        name: len(values) for name, values in (draft.fields | draft.columns).items() if values.ndim
    }
    if not lengths:
        return False
    common = Counter(lengths.values()).most_common(1)[0][0]
    for name, length in lengths.items():
        if length != common:
            problems.add(
                f"has {length} rows where the others have {common}",
                "give every column one entry a transition",
                column=problems.label(name),
            )
    if common == 0:
        problems.add("the log is empty", "give at least one transition")
    return common > 0 and len(set(lengths.values())) == 1


def _check_provenance(draft: Draft, problems: Problems) -> None:
    try:
        draft.provenance = json.loads(json.dumps(dict(draft.provenance), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        problems.add(
            f"the provenance cannot be written as JSON ({error})",
            "use texts, finite numbers, lists and dictionaries with texts as keys",
        )


def _check_spaces(draft: Draft, problems: Problems) -> None:
    for name, space in list(draft.spaces.items()):
        try:
            draft.spaces[name] = canonical_space(space)
        except SpaceError as error:
            del draft.spaces[name]
            problems.add(f"the {name} space cannot be", str(error))


def _check_fields(draft: Draft, problems: Problems) -> None:
    for name in FIELDS:
        values = draft.fields.pop(name, None)
        if values is None:
            continue
        if name in VECTORS:
            space = _expected_space(name, draft)
            checked: NDArray[Any] | None = checks.conform(
                name, values, space, problems, draft.store
            )
        elif name == "episode":
            checked = checks.check_whole(name, values, problems)
        elif name == "reward":
            checked = checks.check_rewards(name, values, problems)
        else:
            checked = checks.check_flags(name, values, problems)
        if checked is not None:
            draft.fields[name] = checked
    for name in ("observation", "action"):
        vectors = [draft.fields[n] for n in (name, f"next_{name}") if n in draft.fields]
        if name not in draft.spaces and vectors and not problems:
            draft.spaces[name], guess = infer_space(vectors, bounded=name == "action")
            draft.notes.append(f"the {name} space was not given: {guess}")


def _expected_space(name: str, draft: Draft) -> Space[Any] | None:
    """Return the space of a vector field, for successors at least one of the observations' form."""
    space = draft.spaces.get(name.removeprefix("next_"))
    observation = draft.fields.get("observation")
    if space is None and name == "next_observation" and observation is not None:
        return like_space(observation)
    return space


def _check_columns(draft: Draft, problems: Problems) -> None:
    for name in list(draft.columns):
        values = draft.columns.pop(name)
        if is_reserved(name):
            problems.add("cannot be the name of a further column", "rename it", column=name)
            continue
        check = checks.check_whole if name == "step" else checks.check_further
        checked: NDArray[Any] | None = check(name, values, problems)
        if name == "propensity" and checked is not None:
            actions = draft.fields.get("action")
            checks.check_propensities(name, checked, problems, actions is None or actions.ndim == 1)
        if checked is not None:
            draft.columns[name] = draft.store.keep(checked)


def _check_structure(draft: Draft, grouping: continuity.Grouping, problems: Problems) -> None:
    pairs = continuity.inner_pairs(grouping.offsets)
    following = pairs
    if "step" in draft.columns:
        step = draft.columns["step"]
        following = continuity.check_steps(step, grouping, pairs, problems)
        pairs = pairs & (np.diff(step) != 0)
    for name in FLAGS:
        if name in draft.fields:
            continuity.check_ends(name, draft.fields[name], grouping, pairs, problems)
    if {"observation", "next_observation"} <= draft.fields.keys():
        goes_on = following & ~_ended(draft)[:-1]
        continuity.check_successors(draft.fields, grouping, goes_on, problems)


def _ended(draft: Draft) -> NDArray[np.bool_]:
    """Return where rows say that their episode ends; nowhere if the flags could not be read."""
    ended = np.zeros(len(next(iter(draft.fields.values()))), dtype=np.bool_)
    for name in FLAGS:
        if name in draft.fields:
            ended |= draft.fields[name]
    return ended


def _content(draft: Draft, offsets: NDArray[np.int64]) -> Content:
    provenance = draft.provenance
    for key, entries in (("missing", draft.missing), ("left_out", draft.left_out)):
        if entries:
            provenance = {**provenance, key: dict(entries)}
    if draft.notes:
        earlier = provenance.get("notes", [])
        notes = earlier if isinstance(earlier, list) else [earlier]
        provenance = {**provenance, "notes": [*notes, *draft.notes]}
    return Content(
        observations=draft.fields["observation"],
        actions=draft.fields["action"],
        rewards=draft.fields["reward"],
        next_observations=draft.fields["next_observation"],
        terminated=draft.fields["terminated"],
        truncated=draft.fields["truncated"],
        offsets=offsets,
        observation_space=draft.spaces["observation"],
        action_space=draft.spaces["action"],
        provenance=provenance,
        columns=draft.columns,
    )
