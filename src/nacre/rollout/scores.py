"""From outcomes of units to scores of sets: what the new policy's units have more than the others.

Each score is an unbiased estimate of the gain, whatever happens to the world in between: which
units run the new policy was drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.rollout.design import Design
from nacre.rollout.sequences import Bounds, Floats, bound_mean


@dataclass(frozen=True)
class Scores:
    """Scores of whole sets.

    Args:
        values: (..., sets) mean of the new units minus mean of the old ones.
        spreads: (..., sets, 2) variance that a score would have if both arms varied like the old
            units of its set, and like the new ones; zero where there is only one.
        new: (..., sets) mean of the new units.
        old: (..., sets) mean of the old ones; NaN where there are none.
    """

    values: Floats
    spreads: Floats
    new: Floats
    old: Floats

    def bound(self, alpha: float, best_at: float) -> Bounds:
        """Bounds of the gain after each set; each side alone holds with 1 - α."""
        return bound_mean(self.values, alpha, best_at, self.spreads)

    def scale(self, factor: float) -> Scores:
        """The same with a spread that is so many times as large."""
        return Scores(
            factor * self.values, factor**2 * self.spreads, factor * self.new, factor * self.old
        )

    @property
    def variance(self) -> float:
        """Variance of a score, with the same floor as the bounds."""
        if self.values.shape[-1] < 2:
            return float("inf")
        return float(max(self.values.var(ddof=1), *self.spreads.mean(axis=-2)))


def score_sets(outcomes: Floats, chosen: NDArray[np.bool_], design: Design) -> Scores:
    """Scores of outcomes (..., sets, m) of units of which `chosen` (sets, m) run the new policy."""
    k, m = design.new_per_set, design.set_size
    # New units first: a stable sort keeps each arm in its order.
    order = np.broadcast_to(np.argsort(~chosen, axis=-1, kind="stable"), outcomes.shape)
    sorted_outcomes = np.take_along_axis(outcomes, order, axis=-1)
    new, old = sorted_outcomes[..., :k], sorted_outcomes[..., k:]
    new_mean = new.mean(axis=-1)
    old_mean = old.mean(axis=-1) if k < m else np.full(new_mean.shape, np.nan)
    spreads = np.stack([_spread(arm, design) for arm in (old, new)], axis=-1)
    values = new_mean if design.complete else new_mean - old_mean
    return Scores(values, spreads, new_mean, old_mean)


def _spread(arm: Floats, design: Design) -> Floats:
    if arm.shape[-1] < 2:
        return np.zeros(arm.shape[:-1])
    return np.asarray(arm.var(axis=-1, ddof=1) * design.score_factor)
