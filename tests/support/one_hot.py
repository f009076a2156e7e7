"""Finite worlds as worlds of vectors: states are unit vectors, and the truth stays exact."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.estimators import exact
from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.simulators import FiniteWorld, random_policy, random_world

Table = NDArray[np.float64]
DISCOUNT = 0.8
N_STATES, N_ACTIONS = 4, 3
WORLD: FiniteWorld = random_world(
    105, N_STATES, N_ACTIONS, discount=DISCOUNT, terminating=True
).starting_at(0)
OLD: Table = 0.5 * random_policy(101, WORLD) + 0.5 / N_ACTIONS
NEW: Table = 0.5 * OLD + 0.5 * random_policy(102, WORLD)
SPACE = gymnasium.spaces.Box(0.0, 1.0, (N_STATES,), np.float32)
SIGNATURE = Signature(SPACE, gymnasium.spaces.Discrete(N_ACTIONS))


def as_vectors(log: Log) -> Log:
    """The same log with unit vectors for states."""
    units = np.eye(N_STATES, dtype=np.float32)
    return Log.from_arrays(
        observations=units[np.asarray(log.observations)],
        actions=log.actions,
        rewards=log.rewards,
        terminated=log.terminated,
        truncated=log.truncated,
        next_observations=units[np.asarray(log.next_observations)],
        offsets=log.offsets,
        observation_space=SPACE,
        action_space=log.action_space,
    )


def as_network(table: Table) -> MLPPolicy:
    """A network without hidden layers that acts as the table says."""
    made = MLPPolicy.init(jax.random.key(0), SIGNATURE, head="categorical", hidden=())
    logits = jnp.log(jnp.asarray(table, jnp.float32))
    layers: Any = ((logits,), (jnp.zeros_like(made.network.biases[0]),))
    network: MLPPolicy = eqx.tree_at(
        lambda one: (one.network.weights, one.network.biases), made, layers
    )
    return network


def sample_vectors(n_rows: int = 4000, seed: int = 103) -> Log:
    """Episodes of the old policy."""
    return as_vectors(WORLD.sample_log(OLD, n_rows, seed=seed, horizon=12))


def pose_vectors(log: Log | None = None, start: Any = None) -> Problem:
    """What estimators are given; it starts where the log does."""
    log = sample_vectors() if log is None else log
    rows = log.starts if start is None else start
    return Problem(log, as_network(OLD), np.asarray(rows), DISCOUNT)


@functools.cache
def make_problem() -> Problem:
    """The usual one, made once."""
    return pose_vectors()


@functools.cache
def prepare(estimator: Estimator) -> Any:
    """What an estimator does once for the usual problem."""
    return estimator.prepare(jax.random.key(100), make_problem(), report_nothing)


def estimate(estimator: Estimator, table: Table, prepared: Any) -> Estimate:
    """What it says there of a table."""
    return estimator.estimate(
        jax.random.key(101), make_problem(), prepared, as_network(table), report_nothing
    )


def find_gain(table: Table = NEW) -> float:
    """The truth by linear solves."""
    return float(exact.start_value(WORLD, table) - exact.start_value(WORLD, OLD))
