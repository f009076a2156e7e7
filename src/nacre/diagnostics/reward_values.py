"""Do rewards come back by chance, and which of them are the same up to rounding?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Bools = NDArray[np.bool_]

VALUES_REPEAT = 20.0
"""Vectors and rewards are discrete if each value is there so many times on average."""
VALUES_A_CONTEXT = 5.0
"""So many values that occur nowhere else are no list of prizes."""
VALUES_TWICE = 3.0
"""Values of few digits that are there so many times on average are prices, on a grid or not."""
FLOAT_NOISE = 1e-6
"""Share of the largest reward below which a difference is that of binary fractions."""
SIGMAS = 4.0
"""Standard deviations that chance does not reach."""
DIGITS = 4
"""Numbers that people write down have at most so many."""
ROUNDING = 1e-4
"""Share of the rewards' spread up to which two of them are the same."""
WIDEST = 3.0
"""Roundings that a chain of equal rewards may span; a longer one is a dense series of values."""


def find_real(rewards: Floats, context: Hashes) -> Bools:
    """(N,) whether a reward does not come back by chance.

    Values that come back do so in several contexts, or are few in one, or are prices of few digits
    that each come back, or repeat no more often than rounding makes them. Copies make real numbers
    repeat, too, but each of them in one context only, and many to a context.

    Args:
        rewards: (N,) of each row.
        context: (N,) equal for equal states, actions and successors.
    """
    values, number = np.unique(rewards, return_inverse=True)
    pairs, first = np.unique(
        context + number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), return_index=True
    )
    real = (np.bincount(number[first]) == 1)[number]
    if len(values) < 0.5 * len(pairs) or not _are_many(values, rewards, context[first]):
        return np.zeros_like(real)
    return np.asarray(real & _repeat_beyond_rounding(rewards, context))


def _are_many(values: Floats, rewards: Floats, places: Hashes) -> bool:
    """Whether values are too many to be a list of prizes or prices.

    Args:
        values: (V,) the different rewards.
        rewards: (N,) of each row.
        places: (P,) the context of each different pair of context and value.
    """
    _, sizes = np.unique(places, return_counts=True)
    varying = sizes[sizes > 1]
    rare = len(rewards) < VALUES_REPEAT * len(values)
    if not rare and (not len(varying) or varying.mean() < VALUES_A_CONTEXT):
        return False
    return len(rewards) < VALUES_TWICE * len(values) or not _have_few_digits(values)


def _repeat_beyond_rounding(rewards: Floats, context: Hashes) -> bool:
    """Whether more values repeat than where values were rounded to a step.

    Another row is then as likely to have the same value as the value one step above. With μ rows a
    value on average, a share 1 - exp(-μ) of the values has the next one above in its context, and a
    share 1 - μ / (exp(μ) - 1) is there more than once.
    """
    gaps = np.diff(np.unique(rewards))
    gaps = gaps[gaps > FLOAT_NOISE * np.abs(rewards).max(initial=0.0)]
    if not len(gaps):
        return False
    steps = np.round(rewards / gaps.min()).astype(np.int64)
    cells, counts = np.unique(np.stack([context.view(np.int64), steps]), axis=1, return_counts=True)
    same = (cells[0, 1:] == cells[0, :-1]) & (cells[1, 1:] == cells[1, :-1] + 1)
    density = -np.log1p(-min(float(same.mean()), 0.99))
    by_rounding = 1.0 - density / np.expm1(density) if density > 0 else 0.0
    n_repeated, expected = int((counts > 1).sum()), by_rounding * len(counts)
    return bool(n_repeated > expected + SIGMAS * np.sqrt(expected))


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
