"""Many decisions at once: how many of the switches among them may be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def find_q_values(probabilities: Sequence[float], *, any_dependence: bool = False) -> list[float]:
    """The least false-discovery rate at which each decision is still among the switches.

    A decision's p-value is one minus the confidence at which it would just be a switch. With the
    m p-values in ascending order, q_(i) = min_{j ≥ i} m p_(j) / j (Benjamini and Hochberg, 1995).

    Args:
        probabilities: Confidence at which each would just be a switch; 0 for one that failed.
        any_dependence: Times Σ 1/j (Benjamini and Yekutieli, 2001), which holds however the
            decisions depend on each other. Else they are independent or positively dependent.
    """
    p_values = np.clip(1.0 - np.asarray(probabilities, np.float64), 0.0, 1.0)
    m = len(p_values)
    if m == 0:
        return []
    order, ranks = np.argsort(p_values, kind="stable"), np.arange(1, m + 1)
    factor = float(np.sum(1.0 / ranks)) if any_dependence else 1.0
    stepped = np.minimum.accumulate((factor * m * p_values[order] / ranks)[::-1])[::-1]
    q_values = np.empty(m)
    q_values[order] = np.minimum(stepped, 1.0)
    return [float(one) for one in q_values]
