"""Who acted in each episode, where several known policies made a log.

The column `acting_policy` holds one whole number an episode: 0 for the old policy, k for the k-th
of the further policies that are given with the log. A log without it is the old policy's alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs.episodes import Log

ACTING = "acting_policy"
"""The column's name."""


def read_episode_numbers(log: Log, name: str, source: str = "log") -> NDArray[np.int64]:
    """(E,) a column of whole numbers from 0 on that is the same in all rows of an episode.

    Raises:
        InputError: With the column, the row and the value that are not so.
    """
    values = np.asarray(log.columns[name], np.float64)
    if values.ndim != 1:
        raise InputError(f"{source}: column {name!r} has {values.ndim} axes; give one number a row")
    first = values[log.offsets[:-1]]
    wrong = (values != np.repeat(first, log.episode_lengths)) | (values != np.round(values))
    if np.any(wrong | (values < 0)):
        row = int(np.argmax(wrong | (values < 0)))
        raise InputError(
            f"{source}: column {name!r}, row {row}: found {values[row]:g}; give one whole number "
            "from 0 on, the same in all rows of an episode"
        )
    return first.astype(np.int64)


def find_acting(log: Log) -> NDArray[np.int64]:
    """(E,) number of the policy that acted in each episode; all 0 where the log does not say."""
    if ACTING not in log.columns:
        return np.zeros(log.n_episodes, np.int64)
    return read_episode_numbers(log, ACTING)


def select_own(log: Log) -> Log:
    """The episodes in which the old policy acted."""
    own = np.flatnonzero(find_acting(log) == 0)
    return log if len(own) == log.n_episodes else log.select(own)
