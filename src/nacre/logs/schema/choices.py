"""Several choices at once, as one Discrete action: the number of their combination."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show
from nacre.logs.schema.draft import Draft
from nacre.logs.schema.spaces import JSON

MOST_COMBINATIONS = 1000
"""Combinations of several choices."""


def combine_choices(draft: Draft, problems: Problems) -> None:
    """Make actions of a MultiDiscrete space Discrete ones: the last choice counts fastest.

    Each combination keeps the numbers it is made of as its label, such as "2, 0".
    """
    space, actions = draft.spaces.get("action"), draft.fields.get("action")
    if not isinstance(space, MultiDiscrete) or actions is None:
        return
    sizes = np.ravel(space.nvec).astype(np.int64)
    first = np.broadcast_to(np.ravel(space.start), sizes.shape).astype(np.int64)
    del draft.spaces["action"]
    n = int(np.prod(sizes))
    if n > MOST_COMBINATIONS:
        problems.add(
            f"has {n:,} combinations of choices, more than {MOST_COMBINATIONS:,}",
            "give the choices that matter as the action, and leave the others out",
            column="action",
        )
        return
    choices = _find_choices(actions, sizes, first, problems)
    if choices is None:
        return
    draft.fields["action"] = np.ravel_multi_index(tuple(choices.T), tuple(sizes.tolist()))
    draft.spaces["action"] = Discrete(n)
    ranges = (range(low, low + size) for low, size in zip(first, sizes, strict=True))
    labels: list[JSON] = [", ".join(map(str, one)) for one in product(*ranges)]
    recorded = draft.provenance.get("labels")
    earlier = recorded if isinstance(recorded, dict) else {}
    draft.provenance["labels"] = {**earlier, "action": labels}
    if len(sizes) > 1:
        draft.notes.append(f"{len(sizes)} choices at once are one action of {n:,} combinations")


def _find_choices(
    actions: NDArray[Any], sizes: NDArray[np.int64], first: NDArray[np.int64], problems: Problems
) -> NDArray[np.int64] | None:
    """(N, k) choices that count from 0, or None after reporting."""
    rows = actions.reshape(len(actions), -1) if actions.ndim else actions
    if rows.ndim != 2 or rows.shape[1] != len(sizes) or rows.dtype.kind not in "biuf":
        problems.add(
            f"has the shape {actions.shape} where its space has {len(sizes)} choices",
            "give one whole number for each choice",
            column="action",
        )
        return None
    with np.errstate(invalid="ignore"):
        choices = rows.astype(np.int64) - first
    fits = (choices >= 0) & (choices < sizes) & (rows == choices + first)
    wrong, places = np.nonzero(~fits)
    problems.add_rows(
        "action",
        wrong,
        lambda i: ("is no choice of its space", show(rows[wrong[i], places[i]])),
        "write a whole number that the space has, or give a space that has it",
        elements=places,
    )
    return None if len(wrong) else choices
