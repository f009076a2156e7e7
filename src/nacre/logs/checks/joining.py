"""Episodes over the files of a folder: which go on in a later file, and which are others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nacre.logs.schema.draft import Draft
from nacre.logs.schema.parts import FLAGS


def tell_apart(draft: Draft) -> None:
    """Give an episode another number where its file only counts anew.

    The same number in two files is one episode if it had not ended before, and its rows go on: they
    are in order by time, or their steps are later, or, where neither is known, its last row is the
    last of a file and its next row the first of the next file.

    Args:
        draft: Checked columns, in the order of the files.
    """
    files, episode = draft.files, draft.fields["episode"]
    if files is None or not draft.numbered or not files.any():
        return
    numbers, codes = np.unique(episode, return_inverse=True)
    # A pair for each episode in each file, in order; `first` and `last` are its rows.
    keys = codes.astype(np.int64) * (int(files[-1]) + 1) + files
    pairs, first, places = np.unique(keys, return_index=True, return_inverse=True)
    if len(pairs) == len(numbers):
        return
    last = np.zeros(len(pairs), np.int64)
    np.maximum.at(last, places, np.arange(len(places)))
    follows = np.flatnonzero(np.diff(pairs // (int(files[-1]) + 1)) == 0)
    goes_on = np.zeros(len(pairs), np.bool_)
    if not draft.whole_episodes:
        goes_on[follows + 1] = ~_has_ended(draft, places)[follows] & _is_later(
            draft, places, first[follows + 1], last[follows], follows
        )
    draft.fields["episode"] = (np.cumsum(~goes_on) - 1)[places]
    joined, apart = int(goes_on.sum()), len(follows) - int(goes_on.sum())
    if joined:
        draft.notes.append(f"{joined} times an episode goes on in a later file")
    if apart:
        draft.notes.append(
            f"{apart} times a later file has the number of an earlier episode for another one"
        )


def _has_ended(draft: Draft, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether an episode ends in a file."""
    found = np.zeros(int(places.max()) + 1, np.bool_)
    for name in FLAGS:
        if name in draft.fields:
            found[places[draft.fields[name]]] = True
    return found


def _is_later(
    draft: Draft,
    places: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    follows: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether the rows in the later file go on where those in the earlier one stop."""
    if "step" in draft.columns:
        step = draft.columns["step"]
        low = np.full(int(places.max()) + 1, np.iinfo(np.int64).max)
        high = np.full_like(low, np.iinfo(np.int64).min)
        np.minimum.at(low, places, step)
        np.maximum.at(high, places, step)
        return np.asarray(low[follows + 1] > high[follows])
    if draft.order is not None:
        return np.ones(len(follows), np.bool_)
    return np.asarray(first == last + 1)
