"""Old policies of finite worlds: from random over nearly optimal to deterministic."""

from __future__ import annotations

import functools

import numpy as np

from nacre.errors import InputError
from nacre.estimators import exact
from nacre.simulators.finite import FiniteWorld, Table

KINDS = (
    "random",
    "poor",
    "middling",
    "soft",
    "nearly_optimal",
    "epsilon_greedy",
    "deterministic_optimal",
    "deterministic_poor",
)
"""Kinds of old policies."""
DRAWS = 30
"""Attempts to draw a poor policy."""
CLEARLY = 0.1
"""Share of the value range by which a poor policy falls short of the best."""


@functools.lru_cache(maxsize=4)
def find_best(world: FiniteWorld) -> Table:
    """The optimal policy, found once for a world."""
    return exact.optimal_policy(world)


@functools.lru_cache(maxsize=4)
def find_range(world: FiniteWorld) -> tuple[float, float]:
    """The least and the largest value at the start, found once for a world."""
    return exact.value_range(world)


def make_old_table(world: FiniteWorld, kind: str, rng: np.random.Generator) -> Table:
    """An old policy (S, A) of a kind.

    Args:
        world: Where it acts.
        kind: One of `KINDS`.
        rng: Draws what the kind leaves open.
    """
    best = find_best(world)
    pairs = (world.n_states, world.n_actions)
    if kind == "random":
        return rng.dirichlet(np.ones(world.n_actions), world.n_states)
    if kind == "poor":
        share = rng.uniform(0.2, 0.5)
        others = rng.dirichlet(np.ones(world.n_actions), world.n_states)
        return (1 - share) * _draw_poor(world, best, rng) + share * others
    if kind == "middling":
        share = rng.uniform(0.3, 0.7)
        others = rng.dirichlet(np.ones(world.n_actions), world.n_states)
        return (1 - share) * best + share * others
    if kind == "soft":
        return _soften(world, best, rng.uniform(0.1, 0.5))
    if kind == "nearly_optimal":
        share = rng.uniform(0.02, 0.08)
        others = rng.dirichlet(np.full(world.n_actions, 0.5), world.n_states)
        return (1 - share) * best + share * others
    if kind == "epsilon_greedy":
        epsilon = rng.uniform(0.05, 0.3)
        return (1 - epsilon) * best + epsilon * np.full(pairs, 1.0 / world.n_actions)
    if kind == "deterministic_optimal":
        return best
    if kind == "deterministic_poor":
        return _draw_poor(world, best, rng)
    raise InputError(f"no kind of old policy is called {kind!r}: give one of {', '.join(KINDS)}")


def _soften(world: FiniteWorld, best: Table, share: float) -> Table:
    """Softmax of the optimal values, the temperature a share of a state's usual spread."""
    q = exact.state_action_values(world, best)
    spread = np.median(np.ptp(q, axis=-1))
    temperature = share * (spread if spread > 0 else 1.0)
    weights = np.exp(np.maximum((q - q.max(axis=-1, keepdims=True)) / temperature, -30.0))
    table: Table = weights / weights.sum(axis=-1, keepdims=True)
    return table


def _draw_poor(world: FiniteWorld, best: Table, rng: np.random.Generator) -> Table:
    """The best policy with other actions in many states, clearly worse if that can be drawn."""
    low, high = find_range(world)
    poorest, least = best, np.inf
    for _ in range(DRAWS):
        changed = rng.random(world.n_states) < rng.uniform(0.2, 0.6)
        other = np.eye(world.n_actions)[rng.integers(world.n_actions, size=world.n_states)]
        table = np.where(changed[:, None], other, best)
        value = float(exact.start_value(world, table))
        if value < least:
            poorest, least = table, value
        if value < high - CLEARLY * (high - low):
            return table
    return poorest
