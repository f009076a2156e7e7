"""Finite worlds of choices: treatments, contexts, a catastrophe, and random worlds."""

from __future__ import annotations

import dataclasses

import numpy as np

from nacre.experiments.calibration.chains import Generator, empty
from nacre.simulators.finite import FiniteWorld, random_world


def treatment(rng: Generator) -> FiniteWorld:
    """Doses against an illness: the highest heals fastest, and now and then it kills."""
    n, doses = int(rng.integers(6, 10)), 4
    heals = np.array([0.1, 0.3, 0.5, 0.75]) * rng.uniform(0.8, 1.1)
    danger = np.array([0.0, 0.0, rng.uniform(0.0, 0.01), rng.uniform(0.03, 0.15)])
    toll = rng.uniform(30.0, 80.0)
    transition, reward, termination = empty(n, doses)
    for severity in range(n):
        for dose in range(doses):
            better, worse = max(severity - 1, 0), min(severity + 1, n - 1)
            transition[severity, dose, better] += heals[dose]
            transition[severity, dose, worse] += 0.5 * (1 - heals[dose])
            transition[severity, dose, severity] += 0.5 * (1 - heals[dose])
            dies = danger[dose] * (1 + severity / n)
            termination[severity, dose] = dies
            reward[severity, dose] = 1.0 - severity / (n - 1) - 0.1 * dose - toll * dies
    start = np.eye(n)[n // 2]
    return FiniteWorld(transition, reward, rng.uniform(0.93, 0.98), start, termination)


def two_arms(rng: Generator) -> FiniteWorld:
    """Patients of several types, two treatments: which one helps depends on the type."""
    types, health = int(rng.integers(3, 7)), 4
    effect = rng.uniform(0.2, 0.8, (types, 2))
    transition, reward, termination = empty(types * health, 2)
    for kind in range(types):
        for state in range(health):
            here = kind * health + state
            for arm in range(2):
                chance = effect[kind, arm]
                transition[here, arm, kind * health + min(state + 1, health - 1)] += chance
                transition[here, arm, kind * health + max(state - 1, 0)] += 1 - chance
                reward[here, arm] = state / (health - 1)
                termination[here, arm] = 0.05
    start = np.zeros(types * health)
    start[1::health] = rng.dirichlet(np.full(types, 3.0))
    return FiniteWorld(transition, reward, 0.95, start, termination, reward_noise=0.3)


def contexts(rng: Generator) -> FiniteWorld:
    """A bandit: each episode is one context, one action, one noisy reward."""
    n, actions = int(rng.integers(5, 25)), int(rng.integers(2, 7))
    transition = np.zeros((n, actions, n))
    transition[np.arange(n), :, np.arange(n)] = 1.0
    return FiniteWorld(
        transition,
        rng.normal(0.0, 1.0, (n, actions)),
        0.9,
        rng.dirichlet(np.full(n, 2.0)),
        np.ones((n, actions)),
        reward_noise=rng.uniform(0.3, 1.5),
    )


def catastrophe(rng: Generator) -> FiniteWorld:
    """A safe routine, and one action that pays more at once but leads into ruin for long."""
    n, actions = int(rng.integers(6, 11)), int(rng.integers(3, 5))
    world = random_world(int(rng.integers(2**31)), n, actions, discount=rng.uniform(0.93, 0.98))
    transition, reward, _ = empty(n + 1, actions)
    transition[:n, :, :n] = world.transition
    reward[:n] = 0.5 + 0.3 * world.reward
    trap, chance = n, rng.uniform(0.1, 0.5)
    tempting = int(rng.integers(actions))
    reward[:n, tempting] = reward[:n].max(axis=-1) + rng.uniform(0.1, 0.5)
    transition[:n, tempting] *= 1 - chance
    transition[:n, tempting, trap] = chance
    transition[trap, :, trap], transition[trap, :, 0] = 0.95, 0.05
    reward[trap] = -rng.uniform(2.0, 6.0)
    return FiniteWorld(transition, reward, world.discount, np.eye(n + 1)[0])


def random_worlds(rng: Generator) -> FiniteWorld:
    """Normal rewards and few random successors; some of them end."""
    sizes = ((5, 3), (12, 4), (20, 5), (30, 6))
    n_states, n_actions = sizes[int(rng.integers(len(sizes)))]
    world = random_world(
        int(rng.integers(2**31)),
        n_states,
        n_actions,
        discount=rng.uniform(0.9, 0.97),
        terminating=bool(rng.integers(2)),
    )
    return dataclasses.replace(world, reward_noise=rng.uniform(0.0, 0.5))
