"""Which episodes each part of a split has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError


def divide_episodes(
    n_episodes: int, fraction: float, *, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the episodes in each part of a split at random, in their order."""
    if n_episodes < 2:
        raise InputError(
            f"log: cannot split {n_episodes} episode by whole episodes; collect at least 2 episodes"
        )
    if not 0 < fraction < 1:
        raise InputError(f"log: cannot split off {fraction}; give a fraction between 0 and 1")
    first = min(max(round(fraction * n_episodes), 1), n_episodes - 1)
    order = np.random.default_rng(seed).permutation(n_episodes)
    return np.sort(order[:first]), np.sort(order[first:])
