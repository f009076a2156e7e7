"""What single actions cost, state by state: for learners that choose among discrete actions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.policies.distributions import ActionDistribution
from nacre.policies.distributions.categorical import deterministic_choice
from nacre.policies.policy import Policy, ask

Floats = NDArray[np.float64]


def charge_actions(cost: SwitchingCost, old_policy: Policy, states: NDArray[np.generic]) -> Floats:
    """(n, A) what it costs to take one action for sure in a state."""
    rows, n_actions = jnp.asarray(states), old_policy.signature.action_size
    said = ask(old_policy, rows)
    choices = (
        deterministic_choice(jnp.full(len(rows), action), n_actions) for action in range(n_actions)
    )
    return np.stack([_compare(cost, said, choice, rows) for choice in choices], axis=1)


def charge_keeping(cost: SwitchingCost, old_policy: Policy, states: NDArray[np.generic]) -> Floats:
    """(n,) what a state costs that a new policy leaves as it was."""
    rows = jnp.asarray(states)
    said = ask(old_policy, rows)
    return _compare(cost, said, said, rows)


def _compare(
    cost: SwitchingCost, old: ActionDistribution, new: ActionDistribution, states: Array
) -> Floats:
    charged = cost.statewise_cost(cost.statewise.compare(old, new, jax.random.key(0), states))
    if cost.importance is not None:
        charged = charged * jnp.asarray(cost.importance(states))
    return np.asarray(charged, np.float64)
