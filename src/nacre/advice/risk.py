"""How bad an episode may be, under the old policy and under the new one; it decides nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.advice.confounding import read_ratios
from nacre.advice.record import Interval
from nacre.inference.risk import (
    Floats,
    RiskFigure,
    count_effective,
    find_tail_mean,
    find_weighted_quantile,
)
from nacre.logs import Log
from nacre.policies.policy import Policy

SHARE = 0.1
"""Of the episodes: the worst tenth."""
MOST_CUT = 0.01
"""Discounted share of episodes that may go on unseen."""
LEAST_EFFECTIVE = 50.0


def describe_risk(
    log: Log, old_policy: Policy, new_policy: Policy, discount: float, level: float
) -> dict[str, Any]:
    """Quantiles and CVaR of one episode's return, each with bounds; or why they are not known.

    Args:
        log: Episodes of the old policy that nothing was learned from.
        old_policy: The policy in force.
        new_policy: The candidate.
        discount: γ.
        level: One-sided, of each bound.
    """
    last = log.offsets[1:] - 1
    going_on = ~np.asarray(log.terminated)[last]
    if float(np.mean(going_on * discount**log.episode_lengths)) > MOST_CUT:
        return {"reason": "episodes are cut off before they end, so their returns are not known"}
    returns = np.asarray(log.returns(discount), np.float64)
    return describe_returns(returns, weigh_episodes(log, old_policy, new_policy), level)


def describe_returns(returns: Floats, weights: Floats | None, level: float) -> dict[str, Any]:
    """The same of returns (E,) of the old policy, and weights (E,) that stand for the new one."""
    described = {"share": SHARE, "old": _measure(returns, np.ones(len(returns)), level)}
    if weights is None:
        return described | {"reason": "the old policy has no probabilities to weigh episodes by"}
    effective = count_effective(weights)
    described["effective_episodes"] = effective
    if effective < LEAST_EFFECTIVE:
        reason = (
            f"{effective:.0f} episodes act like the new policy, {LEAST_EFFECTIVE:.0f} are needed"
        )
        return described | {"reason": reason}
    return described | {"new": _measure(returns, weights, level)}


def _measure(returns: Floats, weights: Floats, level: float) -> dict[str, Any]:
    return {
        "quantile": _as_json(find_weighted_quantile(returns, weights, SHARE, level)),
        "median": _as_json(find_weighted_quantile(returns, weights, 0.5, level)),
        "tail_mean": _as_json(find_tail_mean(returns, weights, SHARE, level)),
    }


def weigh_episodes(log: Log, old_policy: Policy, new_policy: Policy) -> Floats | None:
    """(E,) products of ratios, one for each episode; None where there are no probabilities."""
    answers = read_ratios(log, old_policy, new_policy, np.arange(len(log)))
    if answers is None:
        return None
    with np.errstate(divide="ignore"):
        sums = np.add.reduceat(np.log(answers[0]), log.offsets[:-1])
    return np.exp(np.minimum(sums, 50.0))


def _as_json(figure: RiskFigure) -> dict[str, Any]:
    return Interval.of(figure.mean, figure.low, figure.high).model_dump(mode="json")
