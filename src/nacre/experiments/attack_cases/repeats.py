"""Episodes are there more than once, and look like more evidence than they are."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from nacre.experiments.attack_cases.logs import (
    LUCK,
    always,
    draw_log,
    draw_old,
    find_lucky_log,
    join,
    make_routine,
    pay_last,
    repeat,
    score_by_counts,
    shuffle,
    with_rewards,
)
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table

ROWS = 5_000
WORSE = -0.02
"""What the bad candidate's action pays beyond the worst of the others: it hardly shows."""
COPIES = 40


def _make_lucky(rng: Generator, rows: int) -> tuple[FiniteWorld, Table, dict[str, Table], Log]:
    """World, old policy, a candidate that is a little worse, and a log in which it looks better."""
    routine = make_routine(rng, noise=1.0)
    same = np.repeat(routine.reward[:, :1], 3, axis=1)
    world = pay_last(dataclasses.replace(routine, reward=same), WORSE)
    old, bad = draw_old(rng, world), always(world, -1)
    return world, old, {"always_last": bad}, find_lucky_log(rng, world, old, bad, rows)


def _every_episode_twice(rng: Generator) -> Situation:
    world, old, tables, log = _make_lucky(rng, ROWS)
    return pose(world, old, repeat(log, 2), tables)


def _every_episode_forty_times(rng: Generator) -> Situation:
    world, old, tables, log = _make_lucky(rng, 2 * ROWS // COPIES)
    return pose(world, old, shuffle(rng, repeat(log, COPIES)), tables)


def _copies_with_rounded_rewards(rng: Generator) -> Situation:
    world, old, tables, log = _make_lucky(rng, 2 * ROWS // COPIES)
    copies = shuffle(rng, repeat(log, COPIES))
    rounding = rng.uniform(-1e-5, 1e-5, len(copies))
    return pose(world, old, with_rewards(copies, copies.rewards + rounding), tables)


def _lucky_episode(rng: Generator) -> Situation:
    """The episode in which the last action earned most."""
    world = pay_last(make_routine(rng, noise=1.0), -0.3)
    old = draw_old(rng, world)
    log = draw_log(rng, world, old, ROWS)
    earned = np.where(log.actions == 2, log.rewards, 0.0)
    lucky = int(np.add.reduceat(earned, log.offsets[:-1]).argmax())
    copies = log.select(np.full(500, lucky))
    return pose(world, old, shuffle(rng, join(log, copies)), {"always_last": always(world, -1)})


def _copied_choices(rng: Generator, copies: int, *, flips: bool) -> Situation:
    """Episodes of one step, so many copies of each: short ones can be equal by chance, too.

    Every action is as frequent as it should be, so that nothing else gives the copies away.

    Args:
        rng: Random numbers.
        copies: Of each episode.
        flips: Whether rewards are 0 or 1; else they are real numbers.
    """
    n = 3
    transition = np.repeat(np.eye(n)[:, None], 2, axis=1)
    pays = np.tile([0.5, 0.5 + WORSE], (n, 1))
    world = FiniteWorld(transition, pays, 0.9, np.full(n, 1 / n), np.ones((n, 2)), 0.5)
    old, bad = np.full((n, 2), 0.5), always(world, -1)
    policies = [TabularPolicy.from_probabilities(table) for table in (old, bad)]
    while True:
        log = draw_log(rng, world, old, ROWS // copies)
        if flips:
            log = with_rewards(log, rng.random(len(log)) < pays[log.observations, log.actions])
        if log.actions.sum() != len(log) // 2:
            continue
        if LUCK[0] < score_by_counts(log, policies[0], policies[1], world.discount) < LUCK[1]:
            return pose(world, old, shuffle(rng, repeat(log, copies)), {"always_last": bad})


ATTACKS = (
    Attack(
        "every_episode_twice",
        "repeats",
        "A log in which a bad candidate looks good by luck holds every episode twice.",
        _every_episode_twice,
    ),
    Attack(
        "every_episode_forty_times",
        "repeats",
        "A small log in which a bad candidate looks good by luck is there forty times.",
        _every_episode_forty_times,
    ),
    Attack(
        "copies_with_rounded_rewards",
        "repeats",
        "The same, and the rewards of the copies differ in the fifth digit.",
        _copies_with_rounded_rewards,
    ),
    Attack(
        "lucky_episode_copied",
        "repeats",
        "The episode in which a bad action earned most is there 500 times more.",
        _lucky_episode,
    ),
    Attack(
        "copied_coin_flips",
        "repeats",
        "A hundred episodes of one step that pay 0 or 1 are there fifty times.",
        partial(_copied_choices, copies=50, flips=True),
    ),
    Attack(
        "copied_choices",
        "repeats",
        "A hundred episodes of one step with real-valued rewards are there fifty times.",
        partial(_copied_choices, copies=50, flips=False),
    ),
    Attack(
        "choices_copied_twice",
        "repeats",
        "2,500 episodes of one step with real-valued rewards are there twice.",
        partial(_copied_choices, copies=2, flips=False),
    ),
)
