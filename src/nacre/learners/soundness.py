"""Whether learning collapsed: one sentence for people, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from nacre.learners.base import LearningProblem
from nacre.policies.policy import Policy, ask

LARGEST_LOSS = 2.0
"""Of critics, in units of the returns' variance: the mean return alone has a loss of one."""
LARGEST_FALL = 0.5
"""Share of the range that the estimate moved in by which it may lie below its best at the end."""
LEAST_FALL = 0.1
"""In units of the range of the log's returns: a smaller fall is none."""
LEAST_EPOCHS = 3
LARGEST_SATURATION = 0.9
"""Share of actions that may lie at the bounds of their space."""
EDGE = 0.01
"""In units of the range of actions: what is nearer to a bound lies at it."""
MOST_STRANGE = 0.5
"""Share of actions that may lie beyond all actions of the log."""
LOOKED_AT = 2_000


def find_collapse(curve: Sequence[float], critic_loss: float, value_range: float) -> str:
    """What the course of learning shows: critics without use, or an estimate that fell.

    Args:
        curve: Estimated net value after each epoch.
        critic_loss: Mean loss of the last epoch, in units of the returns' variance.
        value_range: Range of the log's returns.
    """
    if not critic_loss <= LARGEST_LOSS:
        return (
            f"Its critics explain nothing of the log (loss {critic_loss:.2g} in units of the "
            "returns' variance)."
        )
    if not all(map(math.isfinite, curve)):
        return "Its own estimate of the net value is not finite."
    if len(curve) >= LEAST_EPOCHS:
        best, span = max(curve), max(curve) - min(curve)
        limit = max(LARGEST_FALL * span, LEAST_FALL * value_range)
        if curve[-1] < curve[0] and best - curve[-1] > limit:
            return f"Its own estimate of the net value fell from {best:.3g} to {curve[-1]:.3g}."
    return ""


def find_saturation(policy: Policy, problem: LearningProblem) -> str:
    """Whether nearly all actions lie at the bounds, where those of the old policy do not."""
    if policy.signature.discrete_actions:
        return ""
    low, high = (np.asarray(limit, np.float64) for limit in policy.signature.action_limits)
    if not np.all(np.isfinite(high - low)):
        return ""
    states = jnp.asarray(problem.log.observations[:: max(1, len(problem.log) // LOOKED_AT)])

    def find_share(one: Policy) -> float:
        actions = np.asarray(ask(one, states).mode(), np.float64)
        inner = (actions - low > EDGE * (high - low)) & (high - actions > EDGE * (high - low))
        return float(1.0 - np.mean(inner))

    share = find_share(policy)
    if share <= LARGEST_SATURATION or find_share(problem.old_policy) > LARGEST_SATURATION / 2:
        return ""
    return f"{share:.0%} of its actions lie at the bounds of what is possible."


def find_departure(policy: Policy, problem: LearningProblem) -> str:
    """Whether action vectors lie beyond those of the log, where no critic can know anything."""
    if policy.signature.discrete_actions:
        return ""
    every = slice(None, None, max(1, len(problem.log) // LOOKED_AT))
    taken = np.asarray(problem.log.actions, np.float64)
    actions = np.asarray(ask(policy, jnp.asarray(problem.log.observations[every])).mode())
    beyond = np.any((actions < taken.min(axis=0)) | (actions > taken.max(axis=0)), axis=-1)
    share = float(np.mean(beyond | ~np.all(np.isfinite(actions), axis=-1)))
    if share <= MOST_STRANGE:
        return ""
    return f"{share:.0%} of its actions lie beyond all actions of the log."


def find_disagreement(claimed: float, second: float) -> str:
    """Whether another kind of estimate finds a loss where the learner promises a gain.

    Args:
        claimed: Net gain by the learner's own critics.
        second: Net gain by the other kind, from the same episodes; NaN where it can say nothing.
    """
    if math.isnan(second) or second > 0.0:
        return ""
    return (
        f"It promises a net gain of {claimed:.3g}; a second estimate of another kind says "
        f"{second:.3g}."
    )
