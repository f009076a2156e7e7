"""The price of a switch over a log in many files: each file by itself, where an engine says.

Both policies are compared at every state of a file, in blocks of one size, and the terms are added
up for each episode, row after row. What is put together are numbers of episodes, and a file has
whole episodes: the price does not depend on how many files there are. A worker holds one file.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import NDArray

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.family import CELLS, CHUNK, SwitchingCost, apply_link, weigh_states
from nacre.costs.fit import check_log_fits, check_same_spaces
from nacre.costs.group_names import name_groups
from nacre.costs.measures import LogStates
from nacre.costs.statewise import Comparison
from nacre.errors import InputError
from nacre.logs import Log, read_log
from nacre.logs.addresses import show_address
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.shards import list_files
from nacre.parallel.engine import EngineSource, map_tasks
from nacre.policies.policy import Policy


@dataclass(frozen=True)
class _Task:
    address: str
    columns: ColumnMap
    cost: SwitchingCost
    old_policy: Policy
    new_policy: Policy


@dataclass(frozen=True)
class Terms:
    """Sums over each episode.

    Args:
        states: How many there are in all.
        learning: (E,) of the learning term times importance.
        transaction: (E,) of the transaction term times importance.
        flows: (E, groups, groups) of the mass that goes from group to group.
    """

    states: int
    learning: NDArray[np.float64]
    transaction: NDArray[np.float64]
    flows: NDArray[np.float64]


def evaluate_by_file(
    cost: SwitchingCost,
    old_policy: Policy,
    new_policy: Policy,
    address: str,
    *,
    columns: ColumnMap | None = None,
    engine: EngineSource | None = None,
) -> CostBreakdown:
    """The price of a switch at all states of a log, however large it is.

    Args:
        cost: Averages over the log's states, all of them, and draws no actions.
        old_policy: The policy in force.
        new_policy: The one proposed.
        address: A folder of Parquet files, here or behind an address such as s3://bucket/log; one
            file is a log too.
        columns: Which column holds what.
        engine: Where files are read; here, one after the other, if not given.

    Returns:
        The price and its parts; `per_state` is empty.

    Raises:
        InputError: If a file cannot be read, or the cost cannot be computed file by file.
    """
    check_same_spaces(old_policy, new_policy)
    cost.check(new_policy.observation_space, new_policy.action_space)
    if not isinstance(cost.state_measure, LogStates) or cost.state_measure.n is not None:
        raise InputError(
            f"the cost averages over {cost.state_measure}, not over all states of the log: "
            "evaluate it at once"
        )
    columns = columns or ColumnMap()
    tasks = [_Task(one, columns, cost, old_policy, new_policy) for one in list_files(address)]
    found: dict[int, Terms] = dict(map_tasks(_add_up, tasks, engine=engine))
    parts = [found[place] for place in range(len(tasks))]
    return _combine(parts, cost, new_policy)


def _add_up(task: _Task) -> Terms:
    log = read_log(task.address, columns=task.columns)
    check_log_fits(log, task.new_policy)
    terms = add_up_terms(log, task.cost, task.old_policy, task.new_policy)
    if not np.isfinite(terms.learning + terms.transaction).all():
        episode = int(np.argmin(np.isfinite(terms.learning + terms.transaction)))
        raise InputError(
            f"{show_address(task.address)}: the switching cost is not finite in episode {episode}; "
            "evaluate it for this file alone, which says more"
        )
    return terms


def add_up_terms(log: Log, cost: SwitchingCost, old_policy: Policy, new_policy: Policy) -> Terms:
    """The terms of each episode. The last block is filled up: all blocks have the same size."""
    first = jnp.asarray(np.asarray(log.observations[:1]))
    if cost.statewise.samples_actions(old_policy(first), new_policy(first)):
        raise InputError(
            "the cost draws actions, and its terms would depend on how the log is divided: "
            "evaluate it at once"
        )
    space = new_policy.action_space
    size = min(CHUNK, max(CELLS // cost.statewise.count_cells(space), 1))
    n_groups = len(cost.statewise.group_names(space))
    learning, transaction = np.zeros(log.n_episodes), np.zeros(log.n_episodes)
    flows = np.zeros((log.n_episodes, n_groups, n_groups))
    ids, key = log.episode_ids, jax.random.key(0)
    for begin in range(0, len(log), size):
        rows = np.arange(begin, min(begin + size, len(log)))
        states = jnp.asarray(log.observations[np.resize(rows, size)])
        terms = _compare(cost, old_policy, new_policy, states, key)
        # Row after row: sums over an episode are the same wherever blocks begin.
        for sums, term in (
            (learning, terms.learning),
            (transaction, terms.transaction),
            (flows, terms.flows),
        ):
            np.add.at(sums, ids[rows], np.asarray(term, np.float64)[: len(rows)])
    return Terms(len(log), learning, transaction, flows)


@eqx.filter_jit
def _compare(
    cost: SwitchingCost, old_policy: Policy, new_policy: Policy, states: Array, key: PRNGKeyArray
) -> Comparison:
    """Terms times importance."""
    found = cost.statewise.compare(old_policy(states), new_policy(states), key, states)
    weights = weigh_states(cost.importance, states, found.learning.shape)
    return Comparison(
        found.learning * weights,
        found.transaction * weights,
        found.flows * weights[..., None, None],
    )


def _combine(parts: list[Terms], cost: SwitchingCost, policy: Policy) -> CostBreakdown:
    """Averages over all states, from the sums of all episodes in the order of the files."""
    n = sum(one.states for one in parts)
    learning = float(np.concatenate([one.learning for one in parts]).sum()) / n
    transaction = float(np.concatenate([one.transaction for one in parts]).sum()) / n
    flows = np.concatenate([one.flows for one in parts]).sum(axis=0) / n
    masses = cost.statewise.masses(learning, transaction, flows)
    prices = cost.learning_weight * learning, cost.transaction_weight * transaction
    total = sum(prices)
    if cost.link != "identity":
        total, _ = apply_link(cost.link_function(policy.observation_space), total, 0.0)
    return CostBreakdown(
        total=total,
        learning=prices[0],
        transaction=prices[1],
        learning_mass=masses[0],
        transaction_mass=masses[1],
        flows=flows,
        group_names=name_groups(cost.statewise, policy.action_space, own=cost.group_labels),
        per_state=np.empty(0),
        standard_error=0.0,
        n_states=n,
    )
