"""Where a switch changes what is done: a few states, and both policies' actions there."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import NDArray

from nacre.advice.names import Names
from nacre.costs.family import SwitchingCost
from nacre.costs.group_names import name_groups
from nacre.costs.statewise import Comparison, StatewiseCost
from nacre.logs import Log
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.policy import Policy

N_STATES = 4096
STEPS = 20
PLACES = {"highest cost": 1.0, "90th percentile": 0.9, "median": 0.5, "lowest cost": 0.0}
MOST_ACTIONS = 8


@dataclass(frozen=True)
class Change:
    """The part of `Evidence` that is about states."""

    state_names: tuple[str, ...]
    state_costs: NDArray[np.float64]
    action_names: tuple[str, ...]
    old_actions: NDArray[np.float64]
    new_actions: NDArray[np.float64]
    concentration: NDArray[np.float64]

    def as_fields(self) -> dict[str, Any]:
        """Arguments for `Evidence`."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def examine_change(
    old_policy: Policy,
    new_policy: Policy,
    cost: SwitchingCost,
    log: Log,
    *,
    seed: int = 0,
) -> Change:
    """Compare both policies at states of the log: from the highest switching cost to the lowest.

    Discrete actions are named one by one, vectors by their groups. Names are the log's own.

    Args:
        old_policy: The policy in force.
        new_policy: The one proposed.
        cost: The cost of the switch.
        log: The log whose states are looked at.
        seed: Of the states that are drawn.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(log), min(N_STATES, len(log)), replace=False))
    states = np.asarray(log.observations[rows])
    comparison, old, new = _compare(
        cost.statewise, old_policy, new_policy, jnp.asarray(states), jax.random.key(seed)
    )
    weights = (
        np.ones(len(rows))
        if cost.importance is None
        else np.broadcast_to(
            np.asarray(cost.importance(jnp.asarray(states)), np.float64), (len(rows),)
        )
    )
    costs = np.asarray(cost.statewise_cost(comparison), np.float64) * weights
    order = np.argsort(costs, kind="stable")
    places = {name: int(order[round(at * (len(order) - 1))]) for name, at in PLACES.items()}
    chosen = list(places.values())
    called = Names.of_log(log)
    names = (
        tuple(map(called.name_action, range(old.shape[-1])))
        if new_policy.signature.discrete_actions
        else name_groups(cost.statewise, new_policy.action_space, log, cost.group_labels)
    )
    kept = _most_changed(old[chosen], new[chosen])
    return Change(
        tuple(f"{place}: {called.name_state(states[row])}" for place, row in places.items()),
        costs[chosen],
        tuple(names[index] for index in kept),
        old[chosen][:, kept],
        new[chosen][:, kept],
        _concentrate(costs[order[::-1]]),
    )


@eqx.filter_jit
def _compare_policies(
    statewise: StatewiseCost,
    old_policy: Policy,
    new_policy: Policy,
    states: Array,
    key: PRNGKeyArray,
) -> tuple[Comparison, Array, Array]:
    old, new = old_policy(states), new_policy(states)
    comparison = statewise.compare(old, new, key, states)
    if isinstance(old, DiscreteDistribution) and isinstance(new, DiscreteDistribution):
        return comparison, old.probabilities, new.probabilities
    return comparison, comparison.flows.sum(axis=-1), comparison.flows.sum(axis=-2)


def _compare(
    statewise: StatewiseCost,
    old_policy: Policy,
    new_policy: Policy,
    states: Array,
    key: PRNGKeyArray,
) -> tuple[Comparison, NDArray[np.float64], NDArray[np.float64]]:
    comparison, old, new = _compare_policies(statewise, old_policy, new_policy, states, key)
    return comparison, np.asarray(old, np.float64), np.asarray(new, np.float64)


def _most_changed(old: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.int64]:
    """The actions that change most, in their order."""
    change = np.abs(new - old).sum(axis=0)
    return np.sort(np.argsort(-change, kind="stable")[:MOST_ACTIONS])


def _concentrate(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the cost in the first 0, 1/20, 2/20, … of the states, highest cost first."""
    running = np.concatenate([[0.0], np.cumsum(costs)])
    places = np.linspace(0, len(costs), STEPS + 1)
    shares = np.interp(places, np.arange(len(running)), running)
    return shares / running[-1] if running[-1] > 0 else np.zeros_like(shares)
