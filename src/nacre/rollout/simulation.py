"""How many sets a stage needs and what it may lose, by simulation from the log's own returns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from nacre.rollout.design import Design
from nacre.rollout.scores import Scores, score_sets
from nacre.rollout.sequences import LEAST_SCORES, Floats

STREAMS = 400
LEAST_STREAMS = 100
MOST_SCORES = 2_000_000
PILOT_SETS = 2000
MOST_SETS = 5000
MOST_NUMBERS = 8_000_000
"""Outcomes that are held in memory at a time."""
BUDGET_SHARE = 0.975
"""Of simulated losses that lie within the budget: more than the 95 % that are promised."""


@dataclass(frozen=True)
class Need:
    """What one stage needs.

    Args:
        fixed_sets: Sets of a test with one look at the end, at the same error and power.
        mean_sets: Mean number of sets until the gain is proven, looked at after each.
        late_sets: Number after which 90 % of the streams have proven it.
        proven: Share of streams that prove it within about four times the fixed number.
        loss: What a loss of the size of the gain costs until it is found, in 95 % of cases.
        variance: Variance of a score.
    """

    fixed_sets: int
    mean_sets: float
    late_sets: float
    proven: float
    loss: float
    variance: float


def simulate_stage(
    returns: Floats,
    design: Design,
    gain: float,
    break_even: float,
    *,
    alpha: float,
    power: float,
    seed: int,
) -> Need | None:
    """Streams of the log's returns, to which the new policy's units add a constant.

    Args:
        returns: (E,) of the log's episodes, in their order.
        design: Of the stage.
        gain: Promised gain of an episode.
        break_even: What the gain has to exceed.
        alpha: Error of each side.
        power: Probability with which the fixed-size test would prove the gain.
        seed: Everything random follows from it.

    Returns:
        None where the promised gain does not exceed what it has to, or would take forever.
    """
    rng = np.random.default_rng([seed, design.stage])
    pilot = draw_scores(returns, design, (PILOT_SETS,), rng)
    gap, variance = gain - break_even, pilot.variance
    if not (gap > 0 and variance > 0):
        return None
    fixed = count_fixed(gap, variance, alpha, power)
    if fixed > MOST_SETS:
        return None
    inflation = find_inflation(returns)
    n_sets = max(2 * LEAST_SCORES, math.ceil(4 * fixed * inflation**2))
    n_streams = min(STREAMS, max(LEAST_STREAMS, MOST_SCORES // n_sets))
    streams = draw_scores(returns, design, (n_streams, n_sets), rng)
    stops = first_above(streams, gain, break_even, alpha, fixed)
    found = np.isfinite(stops)
    waited = np.where(found, stops, n_sets)
    backs = first_below(streams.scale(inflation), -abs(gain), alpha, fixed)
    lost = np.where(np.isfinite(backs), backs, n_sets) * design.new_per_set
    per_set = abs(gain) * design.episodes_per_unit
    return Need(
        fixed,
        float(waited.mean()),
        float(np.quantile(waited, 0.9)),
        float(found.mean()),
        float(np.quantile(lost, BUDGET_SHARE)) * per_set,
        variance,
    )


def find_inflation(returns: Floats) -> float:
    """By how much the spread may be larger than the log's.

    As if the log had two more returns, three times as far from the mean as the furthest of them.
    Where returns are rare and large, a log has seen few of them, and what a loss costs until it is
    found would be told too low.
    """
    squares = (returns - returns.mean()) ** 2
    return math.sqrt(1.0 + 18.0 * float(squares.max()) / float(squares.sum()))


def count_fixed(gap: float, variance: float, alpha: float, power: float) -> int:
    """Scores of a test with one look: ((z_α + z_β) s / gap)²."""
    reach = float(ndtri(1.0 - alpha) + ndtri(power))
    return max(LEAST_SCORES, math.ceil(variance * (reach / gap) ** 2))


def first_above(
    scores: Scores, gain: float, break_even: float, alpha: float, best_at: int
) -> Floats:
    """(streams,) after how many scores the lower bound exceeds what it has to; infinite if never.

    The scores are those of no gain; `gain` is added.
    """
    low = scores.bound(alpha, best_at).low + gain
    return _first(low > break_even)


def first_below(scores: Scores, gain: float, alpha: float, best_at: int) -> Floats:
    """(streams,) after how many scores the upper bound is below zero."""
    return _first(scores.bound(alpha, best_at).high + gain < 0)


def draw_scores(
    returns: Floats, design: Design, shape: tuple[int, ...], rng: np.random.Generator
) -> Scores:
    """Scores (*shape,) of sets whose units are the log's episodes in a row, no gain among them.

    Episodes of a set follow each other as they do in the log, so that what neighbours share is
    kept. Single episodes are drawn one by one.
    """
    m, e, n = design.set_size, design.episodes_per_unit, len(returns)
    total = math.prod(shape)
    chunk = max(1, MOST_NUMBERS // (m * e))
    parts = []
    for first in range(0, total, chunk):
        count = min(chunk, total - first)
        if design.unit == "block":
            start = rng.integers(n, size=(count, 1))
            rows = (start + np.arange(m * e)) % n
        else:
            rows = rng.integers(n, size=(count, m * e))
        episodes = returns[rows].reshape(count, m, e)
        units = episodes[..., design.gap :].mean(axis=-1)
        chosen = rng.random((count, m)).argsort(axis=-1) < design.new_per_set
        parts.append(score_sets(units, chosen, design))
    return Scores(
        *(
            np.concatenate([getattr(part, name) for part in parts]).reshape(
                *shape, *((2,) if name == "spreads" else ())
            )
            for name in ("values", "spreads", "new", "old")
        )
    )


def _first(reached: np.ndarray) -> Floats:
    any_reached = reached.any(axis=-1)
    return np.where(any_reached, reached.argmax(axis=-1) + 1.0, np.inf)
