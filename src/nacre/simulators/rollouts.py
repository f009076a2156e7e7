"""Simulations run side by side: one batched call of the policy for all of them at each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs.checks.assembly import ROW_ARRAYS
from nacre.policies.blackbox import BlackBox
from nacre.policies.policy import Policy, Signature
from nacre.simulators.registry import Simulator

Chooser = Callable[[NDArray[Any], int], NDArray[Any]]
"""From observations (E, …) and the number of the step to actions (E, …)."""

Columns = dict[str, NDArray[Any]]


def draw_actions(policy: Policy, seed: int) -> Chooser:
    """Act as the policy does; the draws of a step follow from the seed and the step's number."""
    leaves, structure = jax.tree.flatten(policy)
    key = jax.random.key(seed)
    dtype = np.int32 if policy.signature.discrete_actions else np.float32

    draw: Any = _draw if _asks_outside(policy) else _draw_compiled

    def choose(observations: NDArray[Any], step: int) -> NDArray[Any]:
        return np.asarray(draw(structure, leaves, observations, key, np.uint32(step)), dtype)

    return choose


def _asks_outside(policy: Policy) -> bool:
    """Whether it, or a part of it, is a black box, which no compiled function can ask."""
    parts = jax.tree.leaves(policy, is_leaf=lambda part: isinstance(part, BlackBox))
    return any(isinstance(part, BlackBox) for part in parts)


def _draw(structure: Any, leaves: Any, observations: Array, key: Array, step: Array) -> Array:
    policy: Policy = jax.tree.unflatten(structure, leaves)
    actions = policy(observations).sample(jax.random.fold_in(key, step))
    if policy.signature.discrete_actions:
        return actions
    low, high = policy.signature.action_limits
    return jnp.clip(actions, jnp.asarray(low), jnp.asarray(high))


_draw_compiled = jax.jit(_draw, static_argnums=0)


def uniform_actions(signature: Signature, seed: int) -> Chooser:
    """Act uniformly at random in the action space."""
    rng = np.random.default_rng(seed)
    space: Any = signature.action_space
    if not (signature.discrete_actions or space.is_bounded("both")):
        raise InputError(
            f"actions in {space} cannot be drawn uniformly: collect with no uniform steps"
        )

    def choose(observations: NDArray[Any], step: int) -> NDArray[Any]:
        if signature.discrete_actions:
            return rng.integers(int(space.n), size=len(observations), dtype=np.int32)
        uniforms = rng.random((len(observations), *space.shape), np.float32)
        return np.asarray(space.low + uniforms * (space.high - space.low), np.float32)

    return choose


def run_steps(
    simulators: Sequence[Simulator],
    choose: Chooser,
    n_steps: int,
    *,
    episode_length: int,
    seed: int,
    nominal: bool = False,
    on_step: Callable[[int], None] | None = None,
) -> Columns:
    """Run every simulation for some steps, a new episode wherever one ends.

    An episode ends where the world ends it (terminated), after `episode_length` steps, or with the
    last step (both truncated).

    Returns:
        The log's columns, one simulation after the other, and `episode`, counted from 0.
    """
    n = len(simulators)
    seeds = _episode_seeds(seed)
    observations = np.stack([one.reset(next(seeds), nominal=nominal) for one in simulators])
    ages = np.zeros(n, np.int64)
    kept: dict[str, list[NDArray[Any]]] = {name: [] for name in ROW_ARRAYS}
    for step in range(n_steps):
        actions = choose(observations, step)
        outcomes = [one.step(action) for one, action in zip(simulators, actions, strict=True)]
        next_observations = np.stack([outcome[0] for outcome in outcomes])
        terminated = np.array([outcome[2] for outcome in outcomes])
        ages += 1
        truncated = ~terminated & ((ages >= episode_length) | (step == n_steps - 1))
        row = (
            observations,
            actions,
            np.array([outcome[1] for outcome in outcomes], np.float32),
            next_observations,
            terminated,
            truncated,
        )
        for name, values in zip(ROW_ARRAYS, row, strict=True):
            kept[name].append(values)
        observations = next_observations.copy()
        if step < n_steps - 1:
            for i in np.flatnonzero(terminated | truncated).tolist():
                observations[i] = simulators[i].reset(next(seeds), nominal=nominal)
                ages[i] = 0
        if on_step is not None:
            on_step(n)
    columns = {name: _one_after_the_other(values) for name, values in kept.items()}
    ends = columns["terminated"] | columns["truncated"]
    columns["episode"] = np.cumsum(ends) - ends
    return columns


def run_episodes(
    simulators: Sequence[Simulator],
    choose: Chooser,
    *,
    n_steps: int,
    discount: float,
    seed: int,
    nominal: bool,
) -> NDArray[np.float64]:
    """One episode in each simulation; their discounted returns Σ_t discount^t r_t."""
    seeds = _episode_seeds(seed)
    observations = np.stack([one.reset(next(seeds), nominal=nominal) for one in simulators])
    running = np.ones(len(simulators), bool)
    returns = np.zeros(len(simulators))
    factor = 1.0
    for step in range(n_steps):
        actions = choose(observations, step)
        for i in np.flatnonzero(running).tolist():
            observations[i], reward, terminated = simulators[i].step(actions[i])
            returns[i] += factor * reward
            running[i] = not terminated
        factor *= discount
        if not running.any():
            break
    return returns


def _episode_seeds(seed: int) -> Any:
    """Seeds for resets, as many as are asked for."""
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(2**31 - 1))


def _one_after_the_other(values: list[NDArray[Any]]) -> NDArray[Any]:
    """From steps of (E, …) to rows (E·T, …), each simulation's steps together."""
    stacked = np.stack(values, axis=1)
    return stacked.reshape(-1, *stacked.shape[2:])
