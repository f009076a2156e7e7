"""Confidence sequences by betting: bounds of the mean of bounded scores, for every sample size.

Waudby-Smith and Ramdas (2024). For each possible mean m of scores in [0, 1] somebody bets against
m: the capital Π (1 ± λ_i (x_i - m)) can hardly grow if m is the mean; what has made 1/α out of 1 is
ruled out. Bets follow the variance of the scores before (their predictable plug-in). Nothing is
asymptotic here. It asks for bounds of the scores that are true and not too wide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.rollout.sequences import Bounds, Floats

GRID = 1001
"""Means that are asked about; the bounds are rounded outwards to the next of them."""
LARGEST_BET = 0.5
"""Share of the capital that one score may take at most."""
CHUNK = 1 << 16


def betting_bounds(scores: Floats, alpha: float, least: float, most: float) -> Bounds:
    """Bounds of the mean of scores (n,) that lie in [least, most], after each of them.

    Each side alone holds with 1 - α, at all looks together.

    Raises:
        InputError: If a score lies outside.
    """
    if not least < most:
        raise InputError(f"bounds {least:g} and {most:g}: the first has to be the smaller one")
    outside = (scores < least - 1e-9) | (scores > most + 1e-9)
    if np.any(outside):
        raise InputError(
            f"a score of {float(scores[outside][0]):g} lies outside of [{least:g}, {most:g}]; give "
            "bounds that hold always, or leave them out"
        )
    unit = np.clip((scores - least) / (most - least), 0.0, 1.0)
    grid = np.linspace(0.0, 1.0, GRID)
    bets = find_bets(unit, alpha)
    limit = math.log(1.0 / alpha)
    low, high = np.empty(len(unit)), np.empty(len(unit))
    capital = np.zeros((2, GRID))
    for first in range(0, len(unit), max(1, CHUNK // GRID)):
        part = slice(first, first + max(1, CHUNK // GRID))
        rising, falling = (
            capital[side]
            + np.cumsum(log_growth(unit[part, None], bets[part, None], grid, sign), axis=0)
            for side, sign in enumerate((1.0, -1.0))
        )
        capital = np.stack([rising[-1], falling[-1]])
        low[part] = _first_kept(rising < limit, grid)
        high[part] = 1.0 - _first_kept((falling < limit)[:, ::-1], grid)
    mean = np.cumsum(scores) / np.arange(1, len(scores) + 1)
    width = most - least
    return Bounds(mean, least + width * low, least + width * high)


def find_bets(unit: Floats, alpha: float) -> Floats:
    """(..., n) √(2 log(1/α) / (v t log(1 + t))), v the variance before, from a prior of 1/4."""
    t = np.arange(1, unit.shape[-1] + 1)
    means = (0.5 + np.cumsum(unit, axis=-1)) / (t + 1)
    variances = (0.25 + np.cumsum((unit - means) ** 2, axis=-1)) / (t + 1)
    first = np.full((*unit.shape[:-1], 1), 0.25)
    before = np.concatenate([first, variances[..., :-1]], axis=-1)
    return np.asarray(np.sqrt(2.0 * math.log(1.0 / alpha) / (before * t * np.log1p(t))))


def log_growth(unit: Floats, bets: Floats, means: Floats, sign: float) -> Floats:
    """The growth log(1 ± λ (x - m)); bets are cut so that no score takes more than a share."""
    room = means if sign > 0 else 1.0 - means
    with np.errstate(divide="ignore"):
        most = np.where(room > 0, LARGEST_BET / np.maximum(room, 1e-300), np.inf)
    cut = np.minimum(bets, most)
    return np.asarray(np.log1p(sign * cut * (unit - means)))


def _first_kept(kept: NDArray[np.bool_], grid: Floats) -> Floats:
    """The mean just below the first that is not ruled out; 1 where all are."""
    first = np.where(kept.any(axis=1), kept.argmax(axis=1), len(grid) - 1)
    return np.asarray(grid[np.maximum(first - 1, 0)])
