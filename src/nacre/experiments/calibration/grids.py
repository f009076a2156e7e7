"""Finite worlds on a grid: a cliff, a far goal, a frozen lake, a taxi."""

from __future__ import annotations

import itertools

import numpy as np

from nacre.estimators import exact
from nacre.experiments.calibration.chains import Generator, empty
from nacre.simulators.finite import FiniteWorld

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Up, right, down, left."""
LEAST_VALUE = 0.05
"""What the best policy of a lake is worth, at least."""


def walk(place: int, action: int, shape: tuple[int, int]) -> int:
    """The cell that a move leads to; walls hold."""
    rows, columns = shape
    row = min(max(place // columns + MOVES[action][0], 0), rows - 1)
    column = min(max(place % columns + MOVES[action][1], 0), columns - 1)
    return row * columns + column


def cliff_walking(rng: Generator) -> FiniteWorld:
    """The shortest way leads along a cliff: a step over it costs 100 and leads back."""
    rows, columns = int(rng.integers(3, 5)), int(rng.integers(5, 9))
    n, slip = rows * columns, rng.choice([0.0, 0.05])
    start, goal = (rows - 1) * columns, n - 1
    cliff = set(range(start + 1, goal))
    transition, reward, termination = empty(n, 4)
    for place, action in itertools.product(range(n), range(4)):
        for taken in range(4):
            chance = (1 - slip) * (taken == action) + slip / 4
            following = walk(place, taken, (rows, columns))
            reward[place, action] -= chance * (100.0 if following in cliff else 1.0)
            transition[place, action, start if following in cliff else following] += chance
    # The goal is left by one free step that ends the episode.
    transition[goal], reward[goal], termination[goal] = np.eye(n)[goal], 0.0, 1.0
    return FiniteWorld(transition, reward, rng.uniform(0.95, 0.99), np.eye(n)[start], termination)


def sparse_goal(rng: Generator) -> FiniteWorld:
    """An empty grid that pays once, in the far corner."""
    size = int(rng.integers(4, 7))
    n, slip = size * size, rng.uniform(0.0, 0.2)
    transition, reward, termination = empty(n, 4)
    for place, action, taken in itertools.product(range(n), range(4), range(4)):
        chance = (1 - slip) * (taken == action) + slip / 4
        transition[place, action, walk(place, taken, (size, size))] += chance
    goal = n - 1
    reward[goal], termination[goal] = 1.0, 1.0
    return FiniteWorld(transition, reward, rng.uniform(0.95, 0.99), np.eye(n)[0], termination)


def frozen_lake(rng: Generator) -> FiniteWorld:
    """A slippery lake with holes: only the goal pays, and a hole ends it all."""
    while True:
        world = _draw_lake(rng)
        # Holes may cut the goal off; such a lake has nothing to decide.
        if exact.value_range(world)[1] > LEAST_VALUE:
            return world


def _draw_lake(rng: Generator) -> FiniteWorld:
    """Holes at random, away from start and goal."""
    size = int(rng.integers(4, 6))
    n, slip = size * size, rng.uniform(0.1, 0.4)
    goal = n - 1
    free = [place for place in range(1, goal) if place not in (1, size, goal - 1, goal - size)]
    holes = set(rng.choice(free, size=max(2, n // 6), replace=False).tolist())
    transition, reward, termination = empty(n, 4)
    for place, action in itertools.product(range(n), range(4)):
        for turn, chance in ((0, 1 - slip), (1, slip / 2), (-1, slip / 2)):
            following = walk(place, (action + turn) % 4, (size, size))
            transition[place, action, following] += chance
    for place in {goal, *holes}:
        transition[place], termination[place] = np.eye(n)[place], 1.0
        reward[place] = float(place == goal)
    return FiniteWorld(transition, reward, rng.uniform(0.95, 0.99), np.eye(n)[0], termination)


def taxi(rng: Generator) -> FiniteWorld:
    """Fetch a passenger at one of three stands and bring them to another; wrong calls cost."""
    size = int(rng.integers(3, 5))
    cells, stands = size * size, rng.choice(size * size, 3, replace=False).tolist()
    inside, slip = len(stands), rng.uniform(0.0, 0.1)
    riders = [(at, to) for at in range(4) for to in range(3) if at != to]
    n = cells * len(riders)
    transition, reward, termination = empty(n, 6)
    for place, (number, (at, to)) in itertools.product(range(cells), enumerate(riders)):
        here = place * len(riders) + number
        for action in range(4):
            for taken in range(4):
                chance = (1 - slip) * (taken == action) + slip / 4
                following = walk(place, taken, (size, size)) * len(riders) + number
                transition[here, action, following] += chance
        reward[here] = -1.0
        transition[here, 4:, here] = 1.0
        if at != inside and place == stands[at]:
            aboard = place * len(riders) + riders.index((inside, to))
            transition[here, 4] = np.eye(n)[aboard]
        else:
            reward[here, 4] = -10.0
        if at == inside and place == stands[to]:
            reward[here, 5], termination[here, 5] = 20.0, 1.0
        else:
            reward[here, 5] = -10.0
    start = np.zeros((cells, len(riders)))
    waiting = [number for number, (at, _) in enumerate(riders) if at != inside]
    start[int(rng.integers(cells)), int(rng.choice(waiting))] = 1.0
    return FiniteWorld(transition, reward, rng.uniform(0.95, 0.98), start.reshape(-1), termination)
