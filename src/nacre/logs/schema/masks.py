"""Action masks: which actions were allowed in each row, as a part of the observation.

What is allowed is known before the action is chosen, so it belongs to the state. The mask becomes
the last coordinates of the observation, and the space says so (`MaskedBox`). States that are
numbers keep them, and the space says what each allows (`MaskedDiscrete`). Every policy between such
spaces gives no probability to what is not allowed, whoever asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show, show_key, show_names
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.encoding import ColumnEncoding
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.parts import MASK
from nacre.logs.schema.spaces import MaskedDiscrete, add_mask

STEMS = (MASK, "action_mask", "action_masks", "allowed_actions", "legal_actions")
"""What columns of masks are called: one of vectors, numbered ones, or with an action's label."""


def find_labelled(
    columns: ColumnMap,
    parts: Mapping[str, str | tuple[str, ...]],
    names: Sequence[str],
    problems: Problems,
) -> tuple[str, ...] | None:
    """Return the columns `allowed_LABEL` in the order of the action's labels, or None."""
    labels = _find_labels(columns, parts)
    by_name = {normalise_name(name): name for name in names}
    for stem in STEMS:
        wanted = [normalise_name(f"{stem}_{label}") for label in labels]
        absent = [one for one in wanted if one not in by_name]
        if wanted and not absent:
            return tuple(by_name[one] for one in wanted)
        if 0 < len(absent) < len(wanted):
            present = [by_name[one] for one in wanted if one in by_name]
            listed = ", ".join(f'"{name}"' for name in present)
            problems.add(
                f"{show_names(present)} say whether actions are allowed, but there is no column "
                f"{show_names(absent)}",
                f"add it, or write ignore = [{listed}] in the column map",
            )
            return None
    return None


def _find_labels(columns: ColumnMap, parts: Mapping[str, str | tuple[str, ...]]) -> tuple[str, ...]:
    action = parts.get("action")
    if isinstance(action, tuple):
        return action if columns.encode.get("action") == "from_one_hot" else ()
    return tuple(map(str, columns.find_labels("action", action) or ()))


def normalise_name(name: str) -> str:
    """Return a name without capitals, blanks and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def name_mask(draft: Draft, observed: Sequence[str], masked: Sequence[str]) -> None:
    """Keep the names of the mask's columns with those of the observation, also for raw rows."""
    mask = draft.columns.get(MASK)
    if mask is None or mask.ndim != 2 or len(masked) != mask.shape[1]:
        return
    if draft.encodings:
        draft.encodings += tuple(ColumnEncoding(name) for name in masked)
        return
    observation = draft.fields.get("observation")
    if observation is None or observation.ndim != 2 or len(observed) != observation.shape[1]:
        return
    recorded = draft.provenance.get("columns")
    earlier = recorded if isinstance(recorded, dict) else {}
    draft.provenance["columns"] = {**earlier, "observation": [*observed, *masked]}


def declare_actions(draft: Draft) -> None:
    """A mask says how many actions there are, also those that were never taken."""
    mask, action = draft.columns.get(MASK), draft.fields.get("action")
    if mask is None or action is None or mask.ndim != 2 or action.ndim != 1:
        return
    if action.dtype.kind not in "biu":
        return
    draft.spaces.setdefault("action", Discrete(mask.shape[1]))


def fold_mask(draft: Draft, offsets: NDArray[np.int64]) -> None:
    """Append the mask to observations and successors.

    Args:
        draft: Checked columns in the order of their episodes.
        offsets: (E+1,) where the episodes start.
    """
    mask = draft.columns.get(MASK)
    if mask is None or mask.ndim != 2:
        return
    del draft.columns[MASK]
    flags = np.asarray(mask, np.float32)
    if draft.fields["observation"].ndim == 1:
        _mask_states(draft, flags > 0.5)
        return
    following = draft.fields.get("next_observation")
    if following is not None:
        draft.fields["next_observation"] = _append(draft, following, _follow(flags, offsets))
        draft.notes.append(
            "which actions are allowed next was taken from the following row, at the end of an "
            "episode from its last row"
        )
    draft.fields["observation"] = _append(draft, draft.fields["observation"], flags)
    draft.spaces["observation"] = add_mask(draft.spaces["observation"], flags.shape[1])
    draft.notes.append(
        f"the last {flags.shape[1]} numbers of an observation say which actions are allowed; no "
        "policy takes one that is not"
    )


def _mask_states(draft: Draft, flags: NDArray[np.bool_]) -> None:
    """Numbered states keep their numbers: the space says what each of them allows."""
    states, space = draft.fields["observation"], draft.spaces["observation"]
    assert isinstance(space, Discrete)  # noqa: S101 - states are numbers
    allowed = np.ones((int(space.n), flags.shape[1]), np.bool_)
    allowed[states] = flags
    draft.spaces["observation"] = MaskedDiscrete(allowed)
    limited, silent = int((~allowed.all(axis=1)).sum()), int(space.n) - len(np.unique(states))
    note = f"{limited:,} of {int(space.n):,} states do not allow every action; no policy takes one"
    note += " that is not allowed"
    if silent:
        note += f"; {silent:,} states in which no row starts are taken to allow every action"
    draft.notes.append(note)


def _follow(flags: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    following = np.concatenate([flags[1:], flags[-1:]])
    last = offsets[1:] - 1
    following[last] = flags[last]
    return following


def _append(draft: Draft, vectors: NDArray[Any], flags: NDArray[np.float32]) -> NDArray[Any]:
    width = vectors.shape[1]
    whole = draft.store.empty((len(vectors), width + flags.shape[1]), np.float32)
    whole[:, :width] = vectors
    whole[:, width:] = flags
    return whole


def check_mask(draft: Draft, problems: Problems) -> None:
    """Report what is wrong with a mask."""
    mask = draft.columns.get(MASK)
    action, observation = draft.fields.get("action"), draft.fields.get("observation")
    if mask is None or mask.ndim != 2 or action is None or observation is None:
        return
    column = problems.label(MASK)
    if action.ndim != 1:
        problems.add(
            "says which actions are allowed, but actions are vectors of numbers",
            "write labels.action = […] in the column map if they are choices, or leave the column "
            "out with ignore",
            column=column,
        )
        return
    space = draft.spaces.get("action")
    if not isinstance(space, Discrete) or int(space.n) != mask.shape[1]:
        problems.add(
            f"has {mask.shape[1]} columns where the action space is {space}",
            "give one column for each action, also for those that were never taken",
            column=column,
        )
        return
    if observation.ndim == 1:
        _check_states(observation, mask, column, problems)
    _check_rows(action, mask, column, problems)


def _check_states(
    states: NDArray[Any], mask: NDArray[Any], column: str, problems: Problems
) -> None:
    """The same number has to be the same state: what it allows does not change."""
    first = np.unique(states, return_index=True)[1]
    place = np.searchsorted(states[first], states)
    differs = np.flatnonzero((mask != mask[first][place]).any(axis=1))
    if not len(differs):
        return
    row, earlier = int(differs[0]), int(first[place[differs[0]]])
    name = problems.label("observation")
    told = f"allows other actions than row {earlier} does in the same state, {states[row]}"
    problems.add_rows(
        column,
        differs[:1],
        lambda i: (f"{told}; what is allowed is a part of the state", None),
        f'write encode.{show_key(name)} = "one_hot" in the column map',
    )


def _check_rows(action: NDArray[Any], mask: NDArray[Any], column: str, problems: Problems) -> None:
    flags = mask.astype(np.float64)
    wrong, places = np.nonzero((flags != 0) & (flags != 1))
    problems.add_rows(
        MASK,
        wrong,
        lambda i: ("is neither true nor false", show(flags[wrong[i], places[i]])),
        "write true or false, or 1 or 0",
        elements=places,
    )
    if len(wrong):
        return
    none = np.flatnonzero(flags.sum(axis=1) == 0)
    problems.add_rows(
        column, none, lambda i: ("allows no action", None), "write 1 for the action taken at least"
    )
    taken = np.flatnonzero(flags[np.arange(len(action)), action] == 0)
    taken = np.setdiff1d(taken, none)
    problems.add_rows(
        MASK,
        taken,
        lambda i: ("does not allow the action that was taken", None),
        "mend the value, or leave the mask out with ignore in the column map",
        elements=action[taken],
    )
