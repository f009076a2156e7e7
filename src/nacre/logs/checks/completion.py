"""What a log needs and its columns may leave open: ends of episodes and successors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.draft import Draft
from nacre.logs.storage.stores import copy_blocks, release

OPEN_ENDS = "open_ends"
"""In the provenance: how many episodes had no end and count as truncated."""


def complete(
    draft: Draft, offsets: NDArray[np.int64], problems: Problems
) -> NDArray[np.int64] | None:
    """Derive ends and successors that were not given; return the offsets of what remains.

    Args:
        draft: Checked columns in the order of their episodes.
        offsets: (E+1,) where the episodes start.
        problems: Receives the one thing that can still be wrong: that nothing remains.
    """
    _mark_open_ends(draft, offsets)
    if "next_observation" in draft.fields:
        return offsets
    dropped = ~draft.fields["terminated"][offsets[1:] - 1]
    if dropped.any():
        draft.notes.append(
            f"{dropped.sum()} last rows of episodes that did not terminate were dropped: without "
            "next_observation they have no successor"
        )
    short = int((dropped & (np.diff(offsets) == 1)).sum())
    if short == len(dropped):
        problems.add(
            "no row has a successor: every episode is a single row that does not terminate",
            "write terminated = true in the column map if every row is a decision of its own; "
            f"else add {problems.label('next_observation')}",
        )
        return None
    if short:
        draft.notes.append(f"{short} of these were the only row of their episode")
    return _derive_successors(draft, offsets, dropped)


def _mark_open_ends(draft: Draft, offsets: NDArray[np.int64]) -> None:
    last = offsets[1:] - 1
    terminated = draft.fields["terminated"]
    truncated = draft.fields.get("truncated", np.zeros_like(terminated)).copy()
    is_open = ~(terminated[last] | truncated[last])
    if draft.always_terminates:
        terminated = terminated.copy()
        terminated[last[is_open]] = True
        draft.fields["terminated"] = terminated
        is_open = np.zeros_like(is_open)
    truncated[last[is_open]] = True
    draft.fields["truncated"] = truncated
    if is_open.any():
        draft.provenance[OPEN_ENDS] = int(is_open.sum())
        draft.notes.append(
            f"{is_open.sum()} episodes without an end, terminated or truncated, count as truncated"
        )


def _derive_successors(
    draft: Draft, offsets: NDArray[np.int64], dropped: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Take each successor from the following row; return the offsets that remain.

    The last row of an episode that terminated is never bootstrapped from and gets its own
    observation. The last row of any other episode (`dropped`) only serves as the successor of the
    row before it, which is then the truncated one.
    """
    observation = draft.fields["observation"]
    successor = draft.store.empty(observation.shape, observation.dtype)
    copy_blocks(observation[1:], successor[:-1])
    last = offsets[1:] - 1
    successor[last] = observation[last]
    release(successor, observation)
    draft.fields["next_observation"] = successor
    if not dropped.any():
        return offsets
    lengths = np.diff(offsets) - dropped
    draft.fields["truncated"][last[dropped & (lengths > 0)] - 1] = True
    keep = np.ones(len(observation), dtype=np.bool_)
    keep[last[dropped]] = False
    draft.select_rows(keep)
    return np.append(0, np.cumsum(lengths[lengths > 0]))
