"""What matters is not in the log: failures, goals, actions, rare disasters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nacre.experiments.attack_cases.logs import always, draw_log, make_routine
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.experiments.calibration.chains import empty, river_swim
from nacre.experiments.calibration.grids import cliff_walking, sparse_goal
from nacre.experiments.calibration.tables import find_best
from nacre.simulators.finite import FiniteWorld

ROWS = 10_000
DOWN, RIGHT, LEFT = 2, 1, 3


def _draw_until(
    draw: Callable[[Generator], FiniteWorld], rng: Generator, fits: Callable[[FiniteWorld], Any]
) -> FiniteWorld:
    """The first world that fits."""
    return next(world for world in iter(lambda: draw(rng), None) if fits(world))


def _cliff(rng: Generator) -> Situation:
    """Episodes start all along the way, so that they differ; nobody slips, and none falls."""
    drawn = _draw_until(cliff_walking, rng, lambda world: not np.any(world.reward % 1.0))
    start, goal = int(drawn.start.argmax()), drawn.n_states - 1
    places = [place for place in range(drawn.n_states) if place <= start or place == goal]
    world = dataclasses.replace(drawn, start=np.isin(range(drawn.n_states), places) / len(places))
    old = find_best(world)
    falling = old.copy()
    # The row above the cliff.
    width = goal - start + 1
    falling[start - width + 1 : start - 1] = np.eye(4)[DOWN]
    return pose(world, old, draw_log(rng, world, old, ROWS), {"over_the_edge": falling})


def _goal_never_reached(rng: Generator, fee: float) -> Situation:
    """The old policy stays in its corner; the candidate walks against the wrong wall, for ever."""
    drawn = sparse_goal(rng)
    world = dataclasses.replace(drawn, reward=drawn.reward - fee)
    hover = np.tile([0.45, 0.05, 0.05, 0.45], (world.n_states, 1))
    log = draw_log(rng, world, hover, ROWS, horizon=50)
    # Whatever slips to the goal by chance was never logged: the goal pays in the truth only.
    reached = np.logical_or.reduceat(log.terminated, log.offsets[:-1])
    log = log.select(np.flatnonzero(~reached))
    return pose(world, hover, log, {"against_the_wall": always(world, 0)}, weight=0.5)


def _deterministic_old(rng: Generator) -> Situation:
    drawn = _draw_until(river_swim, rng, lambda world: find_best(world)[:, 1].all())
    world = dataclasses.replace(drawn, reward_noise=0.1)
    old = find_best(world)
    return pose(world, old, draw_log(rng, world, old, ROWS, 100), {"downstream": always(world, 0)})


def _leaves_everywhere(rng: Generator) -> Situation:
    """Deterministic, too, and never the old policy's action."""
    world = make_routine(rng)
    order = np.argsort(world.reward, axis=1)
    old, worst = np.eye(3)[order[:, 1]], np.eye(3)[order[:, 0]]
    return pose(world, old, draw_log(rng, world, old, ROWS), {"never_tried": worst}, learns=True)


def _make_trap(chance: float) -> FiniteWorld:
    """A routine of four states; the last action pays more, and leads to ruin with a chance."""
    n, trap = 5, 4
    transition, reward, termination = empty(n, 3)
    for state in range(trap):
        transition[state, :, (state + 1) % trap] = 1.0
        transition[state, 2, (state + 1) % trap] -= chance
        transition[state, 2, trap] += chance
    reward[:trap], reward[:trap, 2], reward[trap] = 0.5, 0.7, -50.0
    transition[trap, :, trap] = 1.0
    termination[:trap], termination[trap] = 0.05, 0.5
    return FiniteWorld(transition, reward, 0.95, np.eye(n)[0], termination, reward_noise=0.2)


def _catastrophe(rng: Generator, times: int) -> Situation:
    """The tempting action was taken now and then, and led to ruin so many times."""
    world, rows = _make_trap(0.02), 5_000
    old = np.tile([0.495, 0.495, 0.01], (5, 1))
    while True:
        log = draw_log(rng, world, old, rows)
        if int((np.diff(log.observations, prepend=0) > 0)[log.observations == 4].sum()) == times:
            break
    return pose(world, old, log, {"always_last": always(world, -1)}, learns=True)


ATTACKS = (
    Attack(
        "no_failure_at_the_cliff",
        "nothing failed",
        "The best policy never fell off the cliff; the candidate does.",
        _cliff,
    ),
    Attack(
        "goal_never_reached",
        "nothing failed",
        "No episode reached the only state that pays; the candidate does not reach it either.",
        partial(_goal_never_reached, fee=0.0),
    ),
    Attack(
        "goal_never_reached_with_a_fee",
        "nothing failed",
        "The same, and every step costs the same small fee.",
        partial(_goal_never_reached, fee=0.01),
    ),
    Attack(
        "deterministic_old_policy",
        "outside the log",
        "The old policy is deterministic and the best; the candidate drifts downstream.",
        _deterministic_old,
    ),
    Attack(
        "candidate_leaves_everywhere",
        "outside the log",
        "The candidate takes, in every state, an action that the log never shows.",
        _leaves_everywhere,
    ),
    Attack(
        "catastrophe_seen_once",
        "outside the log",
        "A well paid action led to ruin once in the log; the candidate always takes it.",
        partial(_catastrophe, times=1),
    ),
    Attack(
        "catastrophe_never_seen",
        "outside the log",
        "A well paid action that leads to ruin did not do so in the log; the candidate takes it.",
        partial(_catastrophe, times=0),
        hidden=True,
    ),
)
