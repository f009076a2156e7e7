"""What another policy's first action gains, read off the critics of the policy in force."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import NDArray

from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy, ask
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import as_rows
from nacre.training.noise import draw_uniforms

CHUNK = 512
N_ACTIONS = 16
"""Actions drawn at each state where the advantage of vectors of actions is read."""


def read_advantage(
    old_critics: Critics,
    new_policy: Policy,
    old_policy: Policy,
    states: NDArray[np.generic],
    *,
    seed: int,
) -> NDArray[np.float64]:
    """(N,) gain of the new policy's first action at states (N, …), the old policy going on.

    A_π_o(s, π_n) = E_{a ~ π_n}[Q_π_o(s, a)] - V_π_o(s), by the mean of the critics.
    """
    parts = [
        _read(old_critics, ask(new_policy, rows), ask(old_policy, rows), rows, jax.random.key(seed))
        for rows in (
            as_rows(states[begin : begin + CHUNK], old_policy.signature)
            for begin in range(0, len(states), CHUNK)
        )
    ]
    return np.concatenate(parts).astype(np.float64)


@eqx.filter_jit
def _read(
    critics: Critics,
    new: ActionDistribution,
    old: ActionDistribution,
    states: Array,
    key: PRNGKeyArray,
) -> Float[Array, " states"]:
    """Mean Q of one policy's actions minus that of the other's; both by the same noise."""

    def read(actions: ActionDistribution) -> Float[Array, " states"]:
        uniforms = draw_uniforms(key, N_ACTIONS, len(states), actions.noise_size, "quasi")
        return critics.expectation(states, actions, uniforms, "mean")

    return read(new) - read(old)
