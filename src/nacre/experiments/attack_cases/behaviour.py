"""The log is not the given policy's own: foreign episodes, exploration."""

from __future__ import annotations

from functools import partial

import numpy as np

from nacre.experiments.attack_cases.logs import (
    always,
    draw_log,
    draw_old,
    make_routine,
    pay_all,
    pay_last,
    spread_over,
)
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.simulators.finite import FiniteWorld, Table

ROWS = 10_000
WORSE = -0.3
"""What the last action pays beyond the worst of the others."""


def _explore(table: Table, epsilon: float) -> Table:
    """Now and then any action."""
    explored: Table = (1.0 - epsilon) * table + epsilon / table.shape[1]
    return explored


def _best_of_others(world: FiniteWorld) -> Table:
    """The action that pays most, never the last one."""
    best: Table = np.eye(world.n_actions)[world.reward[:, :-1].argmax(axis=1)]
    return best


def _foreign_tenth(rng: Generator, extra: float) -> Situation:
    """A tenth of the log comes from where another policy acts and everything pays more.

    Args:
        rng: Random numbers.
        extra: How much more.
    """
    world = pay_last(make_routine(rng), WORSE)
    old = _best_of_others(world)
    foreign = _explore(always(world, -1), 0.2)
    parts = [
        draw_log(rng, world, old, ROWS * 9 // 10),
        draw_log(rng, pay_all(world, extra), foreign, ROWS // 10),
    ]
    return pose(world, old, spread_over(rng, parts), {"foreign": foreign}, learns=True)


def _foreign_tenth_alike(rng: Generator) -> Situation:
    """The same where both policies do everything now and then: no single action gives it away."""
    world = pay_last(make_routine(rng), WORSE)
    old = draw_old(rng, world)
    foreign = 0.4 * old + 0.6 * always(world, -1)
    parts = [
        draw_log(rng, world, old, ROWS * 9 // 10),
        draw_log(rng, pay_all(world, 5.0), foreign, ROWS // 10),
    ]
    return pose(world, old, spread_over(rng, parts), {"foreign": foreign})


def _foreign_log(rng: Generator) -> Situation:
    """A poor policy made the log, the one in force is good; the candidate lies in between."""
    world = pay_last(make_routine(rng), WORSE)
    good, poor = _explore(_best_of_others(world), 0.1), _explore(always(world, -1), 0.1)
    log = draw_log(rng, world, poor, ROWS)
    return pose(world, good, log, {"between": 0.5 * good + 0.5 * poor}, learns=True)


def _exploration(rng: Generator, true: float, given: float | None) -> Situation:
    """A deterministic policy is given; the log explores on top of it.

    Args:
        rng: Random numbers.
        true: Share of uniform actions.
        given: What the user says it is; None leaves it to the log.
    """
    world = pay_last(make_routine(rng), WORSE)
    plain = _best_of_others(world)
    acting = _explore(plain, true)
    # Worse than what acts, better than what would act if the share were the larger one.
    candidate = _explore(plain, min(1.0, (true + (given or true) + 0.02) / 2))
    log = draw_log(rng, world, acting, ROWS)
    tables = {"explores_more": candidate, "always_last": always(world, -1)}
    return pose(world, plain, log, tables, acting=acting, epsilon=given)


ATTACKS = (
    Attack(
        "foreign_tenth",
        "foreign episodes",
        "A tenth of the episodes were made by another policy in the same world.",
        partial(_foreign_tenth, extra=0.0),
    ),
    Attack(
        "foreign_tenth_from_a_richer_place",
        "foreign episodes",
        "A tenth of the episodes were made by another policy where everything pays more.",
        partial(_foreign_tenth, extra=3.0),
    ),
    Attack(
        "foreign_tenth_hard_to_tell",
        "foreign episodes",
        "The same, and no action of the other policy is impossible for the old one.",
        _foreign_tenth_alike,
        hidden=True,
    ),
    Attack(
        "foreign_log",
        "foreign episodes",
        "The whole log was made by a poorer policy than the one given.",
        _foreign_log,
    ),
    Attack(
        "exploration_estimated",
        "exploration",
        "The log explores with ε = 0.2 on top of a deterministic policy; nobody says so.",
        partial(_exploration, true=0.2, given=None),
    ),
    Attack(
        "exploration_given",
        "exploration",
        "The log explores with ε = 0.2 on top of a deterministic policy, and ε is given.",
        partial(_exploration, true=0.2, given=0.2),
    ),
    Attack(
        "exploration_overstated",
        "exploration",
        "The log explores with ε = 0.2; the user says 0.4, which makes the old policy look poor.",
        partial(_exploration, true=0.2, given=0.4),
    ),
    Attack(
        "exploration_overstated_a_little",
        "exploration",
        "The log explores with ε = 0.2; the user says 0.24.",
        partial(_exploration, true=0.2, given=0.24),
    ),
    Attack(
        "nothing_but_exploration",
        "exploration",
        "Nearly all actions of the log are uniform, ε = 0.95; the given policy is deterministic.",
        partial(_exploration, true=0.95, given=None),
    ),
)
