"""Units of a log that may change places if nothing drifts: whole episodes, or blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log

MOST_UNITS = 200
LEAST_UNITS = 20
"""With fewer the test could hardly ever alarm at its level."""
MOST_BLOCKS = 40
LEAST_BLOCK_ROWS = 50
"""Shorter blocks of one episode depend too much on their neighbours."""


@dataclass(frozen=True)
class Units:
    """Consecutive parts of a log, all of the same number of episodes (or of rows).

    Args:
        of_row: (N,) the unit of each row, -1 for the few that are in none.
        first_episodes: (G,) the first episode of each unit.
        are_episodes: Whether units are whole episodes. Blocks of a few long episodes are
            exchangeable only as far as they are independent.
    """

    of_row: NDArray[np.int64]
    first_episodes: NDArray[np.int64]
    are_episodes: bool

    def __len__(self) -> int:
        return len(self.first_episodes)


def find_units(log: Log, seed: int) -> Units | None:
    """Whole episodes in equal numbers, else equal blocks of long episodes, else nothing.

    Episodes that are one too many for equal numbers are left out at random.
    """
    n_episodes = log.n_episodes
    if n_episodes >= LEAST_UNITS:
        each = -(-n_episodes // MOST_UNITS)
        n_units = n_episodes // each
        spare = np.random.default_rng(seed).choice(
            n_episodes, n_episodes - each * n_units, replace=False
        )
        used = np.setdiff1d(np.arange(n_episodes), spare)
        unit = np.full(n_episodes, -1, np.int64)
        unit[used] = np.arange(len(used)) // each
        return Units(np.repeat(unit, log.episode_lengths), used[::each], are_episodes=True)
    size = max(-(-len(log) // MOST_BLOCKS), LEAST_BLOCK_ROWS)
    counts = log.episode_lengths // size
    if counts.sum() < LEAST_UNITS:
        return None
    within = np.arange(len(log)) - np.repeat(log.offsets[:-1], log.episode_lengths)
    first = np.repeat(np.cumsum(counts) - counts, log.episode_lengths)
    block = within // size
    whole = block < np.repeat(counts, log.episode_lengths)
    return Units(
        np.where(whole, first + block, -1),
        np.repeat(np.arange(n_episodes), counts),
        are_episodes=False,
    )
