"""How strong hidden confounding would have to be to turn a verdict.

The marginal sensitivity model (Tan, 2006): a hidden variable u may have moved the old policy, but
the odds of the action taken differ from the given ones by a factor of at most Λ,

    1/Λ ≤ [p(a|x,u) / (1 - p(a|x,u))] / [p(a|x) / (1 - p(a|x))] ≤ Λ.

So the weight ρ = π(a|x) / p(a|x) of an episode lies between ρ (p + (1 - p) / Λ) and
ρ (p + (1 - p) Λ). The worst case of the self-normalised gain is a linear-fractional programme; its
solution gives the largest weights to the smallest outcomes, so sorting solves it (Zhao, Small and
Bhattacharya, 2019).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError

Floats = NDArray[np.float64]

LARGEST_FACTOR = 100.0
"""Up to which Λ is looked for; what no such confounding turns is robust to any."""
TOLERANCE = 1e-4
"""Relative accuracy of the Λ found."""


@dataclass(frozen=True)
class WeightedOutcomes:
    """What a weighted estimate of a gain is made of: mean(baseline) + Σ ρ e / Σ ρ.

    Scores of one-step episodes give it: `WeightedOutcomes(*scores.split(), scores.probabilities)`.

    Args:
        ratios: (n,) ρ = π_new(a|x) / π_old(a|x) at the actions taken, not negative.
        outcomes: (n,) e: rewards, or what a model of the rewards left over.
        baselines: (n,) what is added whatever the weights are; for a doubly robust gain the model's
            value of the candidate minus the reward. Zero if all are.
        probabilities: (n,) π_old(a|x) of the actions taken; zero for densities, whose odds ratio is
            the plain ratio.
    """

    ratios: Floats
    outcomes: Floats
    baselines: Floats
    probabilities: Floats

    def __post_init__(self) -> None:
        arrays = (self.ratios, self.outcomes, self.baselines, self.probabilities)
        if len({np.shape(values) for values in arrays}) != 1 or np.ndim(self.ratios) != 1:
            shapes = ", ".join(str(np.shape(values)) for values in arrays)
            raise InputError(f"arrays of shapes {shapes}: give four of the same length (n,)")
        if not all(np.all(np.isfinite(values)) for values in arrays):
            raise InputError(
                "ratios, outcomes or probabilities are not finite: leave such rows out"
            )
        if not np.all(self.ratios >= 0) or not np.any(self.ratios > 0):
            raise InputError("ratios must not be negative, and one at least positive")
        if not np.all((self.probabilities >= 0) & (self.probabilities <= 1)):
            raise InputError("probabilities must lie in [0, 1]; give 0 for densities")


def worst_weights(sample: WeightedOutcomes, factor: float) -> Floats:
    """(n,) weights within the reach of Λ at which the self-normalised gain is smallest.

    With outcomes in increasing order, the first k have their largest weight and the others their
    smallest one; the best k of all n + 1 is found from cumulative sums.
    """
    _check_factor(factor)
    p = sample.probabilities
    low = sample.ratios * (p + (1.0 - p) / factor)
    high = sample.ratios * (p + (1.0 - p) * factor)
    order = np.argsort(sample.outcomes, kind="stable")
    outcomes, low_sorted, high_sorted = sample.outcomes[order], low[order], high[order]
    extra = high_sorted - low_sorted
    weight = np.concatenate([[0.0], np.cumsum(extra)]) + low_sorted.sum()
    total = np.concatenate([[0.0], np.cumsum(extra * outcomes)]) + low_sorted @ outcomes
    best = int(np.argmin(total / weight))
    weights = low
    weights[order[:best]] = high[order[:best]]
    return weights


def worst_gain(sample: WeightedOutcomes, factor: float) -> tuple[float, float]:
    """Smallest gain that confounding of Λ allows, and its standard error.

    The error is that of the linearised ratio at the worst weights w, over independent rows:
    s_i = baseline_i + w_i (e_i - θ) / mean(w), θ = Σ w e / Σ w.
    """
    weights = worst_weights(sample, factor)
    mean = weights.mean()
    theta = float(weights @ sample.outcomes / weights.sum())
    influence = sample.baselines + weights * (sample.outcomes - theta) / mean
    n = len(weights)
    error = float(np.std(influence, ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return float(sample.baselines.mean()) + theta, error


def bound_drop(sample: WeightedOutcomes, factor: float, quantile: float = 0.0) -> float:
    """By how much confounding of Λ lowers the lower bound: B(1) - B(Λ), never negative.

    B(Λ) = worst gain - quantile · its standard error. Subtract the drop from the bound that
    decides, whatever estimator it comes from: at Λ = 1 nothing changes.

    Args:
        sample: Weights and outcomes.
        factor: Λ ≥ 1.
        quantile: Standard errors between estimate and bound, such as 1.645 at 95 %.
    """
    gain, error = worst_gain(sample, 1.0)
    worst, wider = worst_gain(sample, factor)
    # The error at the worst weights may be a little smaller; no confounding never makes surer.
    return gain - worst + quantile * max(0.0, wider - error)


def decision_drop(
    ratios: Floats,
    outcomes: Floats,
    probabilities: Floats,
    steps: NDArray[np.int64],
    factor: float,
    discount: float,
) -> float:
    """The same for logs of several steps, decision by decision: Σ_t γ^t s_t [B_t(1) - B_t(Λ)].

    B_t is the worst gain of taking the candidate's action at step t and going on as before, from
    the single ratios and returns-to-go of the rows at that step; s_t is the share of episodes that
    are still running.

    Assumes that the hidden variable is drawn afresh at every decision, and that the candidate meets
    the states that the log met: what confounding adds by leading elsewhere is left out. It is a
    first-order figure for small changes, not a bound for all of them. Products of Λ over the steps
    would be one, but would allow anything after a few steps.

    Args:
        ratios: (N,) π_new(a|s) / π_old(a|s) of each row.
        outcomes: (N,) returns-to-go, best less a value of the state.
        probabilities: (N,) π_old(a|s), zero for densities.
        steps: (N,) place of each row in its episode, from 0.
        factor: Λ ≥ 1.
        discount: γ.
    """
    order = np.argsort(steps, kind="stable")
    edges = np.searchsorted(steps[order], np.arange(int(steps.max()) + 2))
    n_episodes, total = int(edges[1] - edges[0]), 0.0
    for step, (first, last) in enumerate(itertools.pairwise(edges)):
        rows = order[first:last]
        if not np.any(ratios[rows] > 0):
            continue
        sample = WeightedOutcomes(
            ratios[rows], outcomes[rows], np.zeros(len(rows)), probabilities[rows]
        )
        share = len(rows) / n_episodes
        total += discount**step * share * bound_drop(sample, factor)
    return total


def turning_factor(lower: float, drop: Callable[[float], float], threshold: float = 0.0) -> float:
    """Smallest Λ ≥ 1 at which a lower bound of the gain no longer exceeds the switching cost.

    Args:
        lower: The lower bound that decides, without confounding.
        drop: From Λ to what it takes from the bound; grows with Λ, 0 at 1.
        threshold: The switching cost.

    Returns:
        1 if the bound does not exceed the cost anyway; infinity if no Λ up to `LARGEST_FACTOR`
        turns it; otherwise Λ by bisection of its logarithm, from below: up to it the verdict holds.
    """
    if not lower > threshold:
        return 1.0
    if lower - drop(LARGEST_FACTOR) > threshold:
        return math.inf
    safe, turned = 0.0, math.log(LARGEST_FACTOR)
    while turned - safe > TOLERANCE:
        middle = (safe + turned) / 2.0
        if lower - drop(math.exp(middle)) > threshold:
            safe = middle
        else:
            turned = middle
    return math.exp(safe)


def _check_factor(factor: float) -> None:
    if not 1.0 <= factor < math.inf:
        raise InputError(f"confounding factor {factor}: give a number of at least 1")
