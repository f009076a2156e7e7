"""Is a whole log there several times? Then all its episodes are there a multiple of times.

Short episodes are equal by chance, and how often each is there says nothing about copies, as any
number is possible. But numbers that chance made are even in half of the cases, multiples of three
in a third of them, and so on. A log of which every episode was written d times gives itself away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Integers = NDArray[np.int64]

MOST_TIMES = 100
CHANCE = 1e-3
"""That any divisor is found where there are no copies."""
EVENNESS = 3.0
"""A number whose spread is at least a third of d leaves all remainders alike, up to a quarter."""


def find_multiple(counts: Integers, n_episodes: int) -> int:
    """How many times the whole log was written; 1 where nothing says more than once.

    Args:
        counts: (C,) how often each different episode is there.
        n_episodes: Their sum.
    """
    spread = np.sqrt(counts * (1.0 - counts / n_episodes))
    best = 0
    for times in range(2, min(MOST_TIMES, int(counts.max())) + 1):
        told = counts[EVENNESS * spread >= times]
        hits = int((told % times == 0).sum())
        # The last number follows from the others and the length of the log.
        p_value = stats.binom.sf(hits - 2, max(len(told) - 1, 0), min(1.0, 1.25 / times))
        # Over all divisors the levels sum up to the chance: Σ 1/d² is less than one.
        if p_value < CHANCE / times**2 and hits > 0.5 * len(counts):
            best = times
    if best == 0:
        return 1
    return int(np.gcd.reduce(counts[counts % best == 0]))
