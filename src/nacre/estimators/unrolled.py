"""Episodes of a log side by side, a column for each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log


@dataclass(frozen=True)
class Unrolled:
    """Rows of a log as episodes by time (E, T): -1 where an episode is over."""

    rows: NDArray[np.int64]
    seen: NDArray[np.bool_]
    last: NDArray[np.bool_]


def unroll(log: Log, n_steps: int) -> Unrolled:
    """The first steps of every episode."""
    lengths = np.minimum(log.episode_lengths, n_steps)
    steps = np.arange(n_steps)
    seen = steps < lengths[:, None]
    rows = np.where(seen, log.offsets[:-1, None] + steps, -1)
    return Unrolled(rows, seen, steps == lengths[:, None] - 1)
