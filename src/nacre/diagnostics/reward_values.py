"""Do rewards come back by chance, and which of them are the same up to rounding?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

VALUES_REPEAT = 20.0
"""Vectors and rewards are discrete if each value is there so many times on average."""
VALUES_A_CONTEXT = 5.0
"""So many values that occur nowhere else are no list of prizes."""
VALUES_TWICE = 3.0
"""Values that are there less often on average are real numbers, or copies of them, anyway."""
DIGITS = 4
"""Numbers that people write down have at most so many."""
ROUNDING = 1e-4
"""Share of the rewards' spread up to which two of them are the same."""
WIDEST = 3.0
"""Roundings that a chain of equal rewards may span; a longer one is a dense series of values."""


def are_real(rewards: Floats, context: Hashes) -> bool:
    """Whether no reward comes back by chance.

    Values that come back do so in several contexts, or are few in one, or have few digits. Copies
    make real numbers repeat, too, but each of them in one context only, and many to a context.

    Args:
        rewards: (N,) of each row.
        context: (N,) equal for equal states, actions and successors.
    """
    values, number = np.unique(rewards, return_inverse=True)
    pairs, first = np.unique(
        context + number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), return_index=True
    )
    if len(values) < 0.5 * len(pairs):
        return False
    _, sizes = np.unique(context[first], return_counts=True)
    varying = sizes[sizes > 1]
    rare = len(rewards) < VALUES_REPEAT * len(values)
    if not rare and (not len(varying) or varying.mean() < VALUES_A_CONTEXT):
        return False
    return len(rewards) < VALUES_TWICE * len(values) or not _have_few_digits(values)


def _have_few_digits(values: Floats) -> bool:
    """Whether all values are multiples of a last digit."""
    step = 10.0 ** (np.ceil(np.log10(max(float(np.abs(values).max()), 1e-30))) - DIGITS)
    return bool(np.all(np.abs(values / step - np.round(values / step)) < 0.02))


def group_rewards(rewards: Floats, context: Hashes) -> Integers:
    """(N,) numbers that are equal for rewards of one context that differ by rounding only.

    Args:
        rewards: (N,) of each row.
        context: (N,) equal for equal states, actions and successors.
    """
    order = np.lexsort((rewards, context))
    ranked, where = rewards[order], context[order]
    low, high = np.quantile(rewards, [0.25, 0.75])
    gaps = np.diff(ranked, prepend=ranked[:1])
    turns = np.append(True, where[1:] != where[:-1])
    chain = np.cumsum(turns | (gaps > ROUNDING * (high - low))) - 1
    first = np.unique(chain, return_index=True)[1]
    width = np.maximum.reduceat(ranked, first) - ranked[first]
    dense = width > WIDEST * ROUNDING * (high - low)
    split = turns | (gaps > ROUNDING * (high - low)) | (dense[chain] & (gaps > 0))
    groups = np.empty(len(rewards), np.int64)
    groups[order] = np.cumsum(split)
    return groups
