"""Logs at the edge: too short, without variety, in odd units, with outliers, nothing to gain."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
from scipy import optimize

from nacre.estimators import exact
from nacre.experiments.attack_cases.logs import (
    always,
    draw_log,
    draw_old,
    make_routine,
    pay_last,
    with_rewards,
)
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.experiments.calibration.tables import find_best
from nacre.simulators.finite import FiniteWorld, Table

ROWS = 10_000
N_EQUAL = 20
ROUNDING = 1e-5
"""Difference of values that policies in single precision leave."""


def _few_episodes(rng: Generator, n_episodes: int) -> Situation:
    """Long episodes, so that there are rows enough."""
    routine = pay_last(make_routine(rng), -0.3)
    world = dataclasses.replace(routine, termination=np.zeros_like(routine.reward))
    old = draw_old(rng, world)
    log = draw_log(rng, world, old, 600 * n_episodes, horizon=600)
    return pose(world, old, log, {"always_last": always(world, -1)}, learns=True)


def _constant_reward(rng: Generator) -> Situation:
    routine = make_routine(rng, noise=0.0)
    # All policies are worth the same: a switch costs, and brings nothing.
    world = dataclasses.replace(routine, reward=np.ones_like(routine.reward))
    old = draw_old(rng, world)
    log = draw_log(rng, world, old, ROWS)
    return pose(world, old, log, {"always_last": always(world, -1)}, weight=0.01, learns=True)


def _one_state(rng: Generator) -> Situation:
    """Four actions that are next to equal; the candidate takes the worst."""
    pays = np.array([[0.0, 0.01, 0.02, -0.01]])
    world = FiniteWorld(np.ones((1, 4, 1)), pays, 0.9, np.ones(1), np.ones((1, 4)), 1.0)
    old = np.full((1, 4), 0.25)
    return pose(world, old, draw_log(rng, world, old, ROWS), {"worst": always(world, -1)})


def _in_other_units(rng: Generator, scale: float, shift: float) -> Situation:
    """A clear gain; rewards are scaled and shifted, and the cost is scaled with them."""
    routine = make_routine(rng)
    world = dataclasses.replace(
        routine,
        reward=scale * (routine.reward + shift),
        reward_noise=scale * routine.reward_noise,
    )
    old, best = draw_old(rng, world), find_best(world)
    log = draw_log(rng, world, old, ROWS)
    tables = {"optimal": best, "halfway": (old + best) / 2}
    return pose(world, old, log, tables, weight=0.1 * scale, learns=True)


def _outliers(rng: Generator, number: int, size: float) -> Situation:
    """Glitches of a sensor: so many rows of a bad action show a huge reward."""
    world = pay_last(make_routine(rng), -0.3)
    old = draw_old(rng, world)
    log = draw_log(rng, world, old, ROWS)
    rewards = log.rewards.copy()
    rewards[rng.choice(np.flatnonzero(log.actions == 2), number, replace=False)] = size
    broken = with_rewards(log, rewards)
    return pose(world, old, broken, {"always_last": always(world, -1)})


def _same_policy(rng: Generator) -> Situation:
    world = make_routine(rng)
    old = draw_old(rng, world)
    log = draw_log(rng, world, old, ROWS)
    return pose(world, old, log, {"same": old}, tolerance=ROUNDING)


def _equal_candidates(rng: Generator) -> Situation:
    """Mixtures of poor policies and the best one, each worth what the old policy is worth."""
    world = make_routine(rng)
    old, best = draw_old(rng, world), find_best(world)
    known = float(exact.start_value(world, old))
    tables: dict[str, Table] = {}
    while len(tables) < N_EQUAL:
        other = rng.dirichlet(np.full(world.n_actions, 0.5), world.n_states)
        if float(exact.start_value(world, other)) >= known:
            continue

        def excess(share: float, other: Table = other) -> float:
            mixed = (1 - share) * other + share * best
            return float(exact.start_value(world, mixed)) - known

        share = float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-14))
        tables[f"equal_{len(tables)}"] = (1 - share) * other + share * best
    log = draw_log(rng, world, old, ROWS)
    return pose(world, old, log, tables, tolerance=ROUNDING)


ATTACKS = (
    Attack(
        "three_episodes",
        "too little",
        "The log has 1,800 rows, but only three episodes.",
        partial(_few_episodes, n_episodes=3),
    ),
    Attack(
        "nine_episodes",
        "too little",
        "The log has 5,400 rows, but only nine episodes.",
        partial(_few_episodes, n_episodes=9),
    ),
    Attack(
        "constant_reward",
        "too little",
        "Every step pays the same; a switch costs and brings nothing.",
        _constant_reward,
    ),
    Attack(
        "one_state",
        "too little",
        "There is one state, four actions that are next to equal, and much noise.",
        _one_state,
    ),
    Attack(
        "usual_units",
        "units",
        "Nothing: a clear gain, in usual units.",
        partial(_in_other_units, scale=1.0, shift=0.0),
    ),
    Attack(
        "tiny_units",
        "units",
        "Rewards and cost of the same log are a millionth as large.",
        partial(_in_other_units, scale=1e-6, shift=0.0),
        same_as="usual_units",
    ),
    Attack(
        "huge_units",
        "units",
        "Rewards and cost of the same log are a million times as large.",
        partial(_in_other_units, scale=1e6, shift=0.0),
        same_as="usual_units",
    ),
    Attack(
        "shifted_rewards",
        "units",
        "Every reward is larger by 1,000, so that it matters most how long an episode is.",
        partial(_in_other_units, scale=1.0, shift=1000.0),
    ),
    Attack(
        "one_outlier",
        "outliers",
        "One row of the worst action shows a reward of a million.",
        partial(_outliers, number=1, size=1e6),
    ),
    Attack(
        "ten_outliers",
        "outliers",
        "Ten rows of the worst action show a reward of a thousand.",
        partial(_outliers, number=10, size=1e3),
    ),
    Attack(
        "same_policy",
        "nothing to gain",
        "The candidate is the old policy itself.",
        _same_policy,
    ),
    Attack(
        "twenty_equal_candidates",
        "nothing to gain",
        "Twenty different candidates are worth exactly what the old policy is worth.",
        _equal_candidates,
    ),
)
