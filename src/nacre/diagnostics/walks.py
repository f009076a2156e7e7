"""Walks through a log: a policy acts, and the log's own steps say where that leads."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from nacre.diagnostics.log_index import Floats, LogIndex
from nacre.logs import Log
from nacre.policies.policy import Policy, ask

N_WALKERS = 128
N_STATES = 256
"""States of each half at which one step is looked at."""
MOST_STEPS = 200
LEAST_WEIGHT = 1e-3
"""Walks end where less than this is left of every walker, discounted."""


class Walk(NamedTuple):
    """What became of each walker, and the states and actions where some of it left, with how much.

    `outside` is its discounted steps outside over the mean number of all, `left` is γ^τ.
    """

    outside: Floats
    left: Floats
    states: NDArray[Any]
    actions: NDArray[Any]
    weights: Floats


def walk_through(
    index: LogIndex,
    log: Log,
    policy: Policy,
    start: NDArray[Any],
    discount: float,
    rng: np.random.Generator,
) -> Walk:
    """Walkers that start at drawn starts; both policies' see the same draws."""
    states = start[rng.integers(0, len(start), N_WALKERS)]
    noise_size = ask(policy, jnp.asarray(states)).noise_size
    inside, alive, lost = np.ones(N_WALKERS), np.ones(N_WALKERS), np.zeros(N_WALKERS, bool)
    left, beyond, total = np.zeros(N_WALKERS), np.zeros(N_WALKERS), 0.0
    events: list[tuple[NDArray[Any], NDArray[Any], Floats]] = []
    for step in range(min(int(log.episode_lengths.max()), MOST_STEPS)):
        # A generator for each step: policies that need more noise do not shift the others' draws.
        draws = np.random.default_rng([int(rng.integers(2**31)), step])
        picks = draws.random(N_WALKERS)
        noise = jnp.asarray(draws.random((noise_size, N_WALKERS)).T, jnp.float32)
        actions = np.asarray(_act(policy, jnp.asarray(states), noise))
        outside, rows, shares = index.look_up(step % 2, states, actions, picks)
        lost |= outside >= 1.0
        outside = np.where(lost, 1.0, outside)
        weight = discount**step
        left += weight * inside * outside
        beyond += weight * alive * outside
        total += weight * float(alive.mean())
        noted = inside * outside > 0
        events.append((states[noted], actions[noted], weight * (inside * outside)[noted]))
        going_on = 1.0 - (log.terminated[rows] * shares).sum(axis=1)
        inside *= (1.0 - outside) * going_on
        # How an episode ends is not known to those that are lost.
        alive *= np.where(lost, 1.0, going_on)
        if not np.any(alive * weight > LEAST_WEIGHT):
            break
        states = _follow(index, log, states, rows, shares)
    columns = (np.concatenate(column) for column in zip(*events, strict=True))
    return Walk(beyond / total, left, *columns)


def step_once(index: LogIndex, log: Log, policy: Policy, rng: np.random.Generator) -> Floats:
    """How far outside of one half (n,) a policy's actions are at states of the other half."""
    found = []
    for here, there in ((0, 1), (1, 0)):
        rows = rng.choice(index.halves[here].rows, N_STATES)
        picks, draws = rng.random(N_STATES), np.random.default_rng(int(rng.integers(2**31)))
        states = np.asarray(log.observations[rows])
        noise_size = ask(policy, jnp.asarray(states)).noise_size
        noise = jnp.asarray(draws.random((noise_size, N_STATES)).T, jnp.float32)
        actions = np.asarray(_act(policy, jnp.asarray(states), noise))
        found.append(index.look_up(there, states, actions, picks)[0])
    return np.concatenate(found)


@eqx.filter_jit
def _act(policy: Policy, states: Array, noise: Float[Array, "rows noise"]) -> Array:
    actions = policy(states).transform(noise)
    if policy.signature.discrete_actions:
        return actions
    low, high = policy.signature.action_limits
    return jnp.clip(actions, jnp.asarray(low), jnp.asarray(high))


def _follow(
    index: LogIndex, log: Log, states: NDArray[Any], rows: NDArray[Any], shares: Floats
) -> NDArray[Any]:
    """The log's own step: to its next state, or for vectors by the weighted mean difference."""
    if index.discrete_states:
        return np.asarray(log.next_observations[rows[:, 0]])
    moved = np.asarray(log.next_observations[rows]) - np.asarray(log.observations[rows])
    return np.asarray(states + (moved * shares[..., None]).sum(axis=1), states.dtype)
