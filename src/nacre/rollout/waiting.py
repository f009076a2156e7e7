"""What it is worth to go in steps: against switching at once, and against keeping.

What the advice knows of the gain is a normal distribution around its estimate. In each draw the
plan goes through its stages: it pays for each, sees its scores, and goes on, stops there or steps
back. Gains count once, as in the advice: those of the share that runs the new policy in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def value_plan(
    promised: Interval,
    seen: float,
    curve: CostCurve,
    stages: Sequence[Stage],
    risk: float,
    seed: int,
) -> dict[str, Any]:
    """Mean net gain of three ways, and how often the plan ends where; empty where it is not known.

    A stage is looked at once, when it has the sets that it needs: that is the least it can do.
    """
    if promised.mean is None or promised.low is None or promised.high is None or not stages:
        return {}
    error = (promised.high - promised.low) / (2.0 * float(ndtri(LEVEL)))
    rng = np.random.default_rng([seed, 7])
    gains = rng.normal(promised.mean, error, DRAWS)
    share, paid = np.zeros(DRAWS), np.zeros(DRAWS)
    running = np.ones(DRAWS, bool)
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
    values = gains / seen
    staged, at_once = share * values - paid, values - curve.whole
    return {
        "staged": float(staged.mean()),
        "at_once": float(at_once.mean()),
        "keep": 0.0,
        "staged_loss": float(np.quantile(staged, 0.05)),
        "at_once_loss": float(np.quantile(at_once, 0.05)),
        "switched": float(np.mean(share >= 1.0)),
        "stepped_back": float(np.mean(share == 0.0)),
    }


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
