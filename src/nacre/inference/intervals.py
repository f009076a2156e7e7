"""Bounds of a gain at a level: of one estimate, and of several that all have to prove it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from nacre.estimators.base import Estimate

Floats = NDArray[np.float64]

LEAST_ERROR = 1e-9
LARGEST_ERROR = 0.5


def find_quantile(level: float, degrees: float = math.inf) -> float:
    """Standard errors between a centre and its one-sided bound at this level."""
    if math.isinf(degrees):
        return float(special.ndtri(level))
    return float(special.stdtrit(degrees, level))


def bound_below(estimate: Estimate, level: float) -> float:
    """What the gain exceeds with probability `level`: gain - penalty - t · standard error."""
    reach = find_quantile(level, estimate.degrees) * estimate.standard_error
    return estimate.gain - estimate.overlap_penalty - reach


def bound_above(estimate: Estimate, level: float) -> float:
    """What the gain stays below with probability `level`."""
    reach = find_quantile(level, estimate.degrees) * estimate.standard_error
    return estimate.gain + estimate.allowance + reach


def list_informative(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Those that may be used: informative, and nothing about them is NaN or without a spread."""
    return [
        one
        for one in estimates
        if one.informative
        and math.isfinite(one.gain)
        and math.isfinite(one.overlap_penalty + one.allowance)
        and 0.0 < one.standard_error < math.inf
    ]


def find_hull(estimates: Sequence[Estimate], level: float) -> tuple[float, float]:
    """The smallest interval that holds the interval of every informative estimate.

    Its lower end is what all of them prove: an intersection-union test, whose error is at most that
    of its best member. Without an informative estimate it is the whole line.
    """
    usable = list_informative(estimates)
    if not usable:
        return -math.inf, math.inf
    lows = [bound_below(one, level) for one in usable]
    highs = [bound_above(one, level) for one in usable]
    return min(lows), max(highs)


def find_centre(estimates: Sequence[Estimate]) -> float:
    """One number for the gain: informative estimates, weighted by how much they know.

    The weights are 1 / (standard error² + room²), room the larger of penalty and allowance, so that
    it lies within every hull. NaN if nobody knows anything.
    """
    usable = list_informative(estimates)
    rooms = [max(one.overlap_penalty, one.allowance) for one in usable]
    weights = [
        1.0 / (one.standard_error**2 + room**2) for one, room in zip(usable, rooms, strict=True)
    ]
    total = math.fsum(weights)
    if not usable or not math.isfinite(total) or total <= 0:
        return math.nan
    return math.fsum(w * one.gain for w, one in zip(weights, usable, strict=True)) / total


def find_error(
    estimates: Sequence[Estimate], cost: float, cost_error: float, share: float = 1.0
) -> float:
    """The error probability e at which a bound of the net gain, at level 1 - share·e, is zero.

    Positive where it is the lower bound that reaches zero, negative where it is the upper one. One
    half where neither does: then the penalty alone spans zero, or nobody knows anything.
    """
    usable = list_informative(estimates)
    if not usable:
        return 0.5
    rows = [
        (one.gain - cost, one.standard_error, one.overlap_penalty, one.allowance) for one in usable
    ]
    centres, errors, penalties, allowances = np.array(rows).T
    degrees = np.array([one.degrees for one in usable])
    normal = np.isinf(degrees)

    def reach(error: float) -> Floats:
        level = 1.0 - share * error
        place = special.ndtri(level)
        students = special.stdtrit(np.where(normal, 1.0, degrees), level)
        return np.asarray(np.where(normal, place, students) * errors + place * cost_error)

    def low(error: float) -> float:
        return float(np.min(centres - penalties - reach(error)))

    def high(error: float) -> float:
        return float(np.max(centres + allowances + reach(error)))

    for bound, sign in ((low, 1.0), (high, -1.0)):
        if sign * bound(LARGEST_ERROR) > 0:
            if sign * bound(LEAST_ERROR) > 0:
                return sign * LEAST_ERROR
            return sign * float(optimize.brentq(bound, LEAST_ERROR, LARGEST_ERROR))
    return 0.5
