"""Where a series of sums with known variances changes: runs of episodes that belong together.

With S_τ and V_τ the sums and variances up to τ, the bridge c_τ = |S_τ - v S_n| / √(V_n v (1 - v)),
v = V_τ / V_n, is largest near a change of the mean. The series is cut there and each part is looked
at in the same way, until no part holds a change that is beyond chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def widen_score(score: float, n_units: int) -> float:
    """A limit for one sum, for the largest over all of the n² runs: √(score² + 4 log n).

    Chance is beyond a score s with a probability of less than 2 exp(-s²/2).
    """
    return float(np.sqrt(score**2 + 4.0 * np.log(max(n_units, 1))))


def find_runs(sums: Floats, variances: Floats, limit: float) -> list[slice]:
    """Runs of units (n, k) within which no mean changes by more than chance, in order.

    Args:
        sums: What each unit adds up to, of mean zero or of one mean.
        variances: The variances of these sums if that is so.
        limit: Standard deviations of the bridge up to which it is chance.
    """
    totals, spreads = (
        np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
        for values in (sums, variances)
    )
    runs, waiting = [], [(0, len(sums))]
    while waiting:
        first, last = waiting.pop()
        change = _find_change(totals[first : last + 1], spreads[first : last + 1], limit)
        if change is None:
            runs.append(slice(first, last))
        else:
            waiting += [(first + change, last), (first, first + change)]
    return runs


def _find_change(totals: Floats, spreads: Floats, limit: float) -> int | None:
    """Units before the likeliest change, or None where there is none beyond chance."""
    if len(totals) < 3:
        return None
    total, spread = totals - totals[0], spreads - spreads[0]
    whole = np.maximum(spread[-1], 1e-30)
    share = np.clip(spread[1:-1] / whole, 0.0, 1.0)
    room = np.maximum(whole * share * (1.0 - share), 1e-30)
    # Where a column has no variance at all it tells nothing.
    told = (spread[-1] > 1e-30) & (share > 0.0) & (share < 1.0)
    bridge = np.where(told, np.abs(total[1:-1] - share * total[-1]) / np.sqrt(room), 0.0)
    heights = bridge.max(axis=1)
    best = int(heights.argmax())
    return best + 1 if heights[best] > limit else None
