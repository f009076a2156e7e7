"""What it is worth to go in steps: against switching at once, and against keeping.

What is known of the gain is a distribution. With the log it is that of the worlds which an
estimator fitted to it: resampled tables, or the members of a model ensemble. Without the log it is
a normal one around the advice's estimate. In each draw the plan goes through its stages: it pays
for each, sees its scores, and goes on, stops there or steps back. Gains count once, as in the
advice: those of the share that runs the new policy in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from nacre.advice.record import Interval
from nacre.rollout.plan_record import Stage
from nacre.rollout.sequences import Floats, find_rho, one_sided_width
from nacre.rollout.stages import CostCurve

DRAWS = 2000
LEVEL = 0.95
"""Taken for the level of the promised bounds: their real one is higher, so the spread is no less
than it should be."""
BY_BOUNDS = "the advice's bounds"


@dataclass(frozen=True)
class Worlds:
    """Gains of the whole switch in worlds that were fitted to the log.

    Args:
        estimator: Whose worlds they are.
        gains: (B,) from the start on, before the cost.
        error: What the estimator says the standard error of the gain is: worlds of one log may
            differ less than that.
    """

    estimator: str
    gains: Floats
    error: float

    @classmethod
    def of(cls, estimator: str, gains: Floats, error: float) -> Worlds:
        """Those that are finite."""
        numbers = np.asarray(gains, np.float64)
        return cls(estimator, numbers[np.isfinite(numbers)], float(error))

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """(n,) gains: a world each, with the part of the error that the worlds do not show."""
        missing = math.sqrt(max(0.0, self.error**2 - float(np.var(self.gains))))
        return np.asarray(rng.choice(self.gains, n) + missing * rng.normal(size=n))


def value_plan(
    promised: Interval,
    seen: float,
    curve: CostCurve,
    stages: Sequence[Stage],
    risk: float,
    seed: int,
    worlds: Worlds | None = None,
) -> dict[str, Any]:
    """Mean net gain of three ways, and how often the plan ends where; empty where it is not known.

    A stage is looked at once, when it has the sets that it needs: that is the least it can do.

    Args:
        promised: Gain of an episode as it is logged, before the cost.
        seen: Share of the gain that falls into an episode as it is logged.
        curve: What shares cost.
        stages: Of the plan.
        risk: Of each verdict.
        seed: Everything random follows from it.
        worlds: What is known of the gain; by the promised bounds if not given.
    """
    gains = _draw_gains(promised, seen, np.random.default_rng([seed, 7]), worlds)
    if gains is None or not stages:
        return {}
    share, paid = _go_through(gains, stages, risk, np.random.default_rng([seed, 8]))
    values = gains / seen
    staged, at_once = share * values - paid, values - curve.whole
    means = {"keep": 0.0, "at_once": float(at_once.mean()), "staged": float(staged.mean())}
    # Of ways that are worth the same, the simplest.
    most = max(means.values())
    best = next(way for way, mean in means.items() if mean >= most - 1e-9 * (1.0 + abs(most)))
    return {
        **means,
        "best": best,
        "staged_loss": float(np.quantile(staged, 0.05)),
        "at_once_loss": float(np.quantile(at_once, 0.05)),
        "switched": float(np.mean(share >= 1.0)),
        "stepped_back": float(np.mean(share == 0.0)),
        "gain": float(values.mean()),
        "worlds": BY_BOUNDS if worlds is None else worlds.estimator,
        "n_worlds": None if worlds is None else len(worlds.gains),
    }


def _draw_gains(
    promised: Interval, seen: float, rng: np.random.Generator, worlds: Worlds | None
) -> Floats | None:
    """(DRAWS,) gains of an episode as it is logged."""
    if worlds is not None and len(worlds.gains):
        return seen * worlds.draw(rng, DRAWS)
    if promised.mean is None or promised.low is None or promised.high is None:
        return None
    error = (promised.high - promised.low) / (2.0 * float(ndtri(LEVEL)))
    return rng.normal(promised.mean, error, DRAWS)


def _go_through(
    gains: Floats, stages: Sequence[Stage], risk: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The share of the new policy at the end of the plan, and what was paid on the way."""
    share, paid = np.zeros(len(gains)), np.zeros(len(gains))
    running = np.ones(len(gains), bool)
    for stage in stages:
        paid[running] += stage.step_cost
        share[running] = stage.share
        if stage.share >= 1.0:
            break
        goes_on, goes_back = _decide(stage, gains, risk, rng)
        back = running & goes_back
        paid[back] += stage.step_back_cost
        share[back] = 0.0
        running &= goes_on
    return share, paid


def _decide(
    stage: Stage, gains: Floats, risk: float, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the scores of one stage prove that going on pays, or that there is a loss."""
    if stage.sets is None or stage.score_variance is None:
        nobody = np.zeros(len(gains), bool)
        return nobody, nobody
    variance, n = stage.score_variance, max(1.0, stage.sets)
    means = rng.normal(gains, math.sqrt(variance / n))
    width = float(one_sided_width(variance, n, risk, find_rho(2.0 * risk, stage.best_at)))
    return means - width > stage.break_even, means + width < 0
