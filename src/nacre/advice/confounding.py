"""How strong hidden confounding would have to be to turn a switch: the factor Λ of one advice."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.inference.sensitivity import LARGEST_FACTOR, decision_drop, turning_factor
from nacre.logs import Log
from nacre.policies.policy import Policy, ask

MOST_ROWS = 20_000
"""Of whole episodes, from the first on."""
LARGEST_LOG_RATIO = 20.0


def describe_confounding(
    log: Log, old_policy: Policy, new_policy: Policy, discount: float, *, low: float, cost: float
) -> dict[str, Any]:
    """Λ at which the lower bound of the gain no longer exceeds the cost, with a sentence.

    Args:
        log: Episodes of the old policy.
        old_policy: The policy in force.
        new_policy: The one that is switched to.
        discount: γ.
        low: Lower bound of the gain, before the cost.
        cost: What the switch costs.
    """
    if not low > cost:
        return {}
    rows = _choose_rows(log)
    answers = read_ratios(log, old_policy, new_policy, rows)
    if answers is None:
        return {
            "factor": None,
            "text": "The old policy has no probabilities to change: nothing can be said about "
            "hidden confounding.",
        }
    ratios, probabilities = answers
    steps = rows - log.offsets[log.episode_ids[rows]]
    outcomes = np.asarray(log.returns_to_go(discount), float)[rows]
    totals = np.bincount(steps, outcomes) / np.maximum(np.bincount(steps), 1)

    def drop(factor: float) -> float:
        return decision_drop(
            ratios, outcomes - totals[steps], probabilities, steps, factor, discount
        )

    factor = turning_factor(low, drop, cost)
    if math.isinf(factor):
        text = f"No hidden confounding up to a factor of {LARGEST_FACTOR:g} would turn the answer."
    else:
        text = (
            f"A hidden variable that changes the odds of the old policy's actions by a factor of "
            f"{factor:.2f} could turn the answer."
        )
    return {"factor": factor if math.isfinite(factor) else None, "text": text}


def _choose_rows(log: Log) -> NDArray[np.int64]:
    ends = log.offsets[1:]
    last = int(ends[max(0, int(np.searchsorted(ends, MOST_ROWS, side="right")) - 1)])
    return np.arange(min(last, len(log)), dtype=np.int64)


def read_ratios(
    log: Log, old_policy: Policy, new_policy: Policy, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """π_new / π_old and π_old at the actions taken; None for policies without densities."""
    states, actions = jnp.asarray(log.observations[rows]), jnp.asarray(log.actions[rows])
    try:
        old = np.asarray(ask(old_policy, states).log_prob(actions), float)
        new = np.asarray(ask(new_policy, states).log_prob(actions), float)
    except TypeError:
        return None
    # A foreign episode's action may be impossible for both; then neither prefers it.
    neither = np.isneginf(old) & np.isneginf(new)
    gap = np.where(neither, 0.0, new) - np.where(neither, 0.0, old)
    ratios = np.exp(np.clip(np.nan_to_num(gap), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO))
    discrete = isinstance(log.action_space, Discrete)
    probabilities = np.clip(np.exp(old), 0.0, 1.0) if discrete else np.zeros(len(rows))
    return ratios, probabilities
