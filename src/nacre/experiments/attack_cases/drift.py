"""The world or the acting policy changed while the log was written."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from nacre.diagnostics.log_checks import check_log
from nacre.experiments.attack_cases.logs import (
    always,
    draw_log,
    draw_old,
    join,
    make_routine,
    pay_all,
    pay_last,
)
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.experiments.calibration.chains import empty
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table

ROWS = 10_000
EARLY, NOW = 2.0, -0.3
"""What the last action pays beyond the worst of the others, before the change and after."""


def _tempt(world: FiniteWorld) -> dict[str, Table]:
    return {"always_last": always(world, -1)}


def _change_rewards(rng: Generator, share: float) -> tuple[FiniteWorld, Table, Log, Log]:
    """Today's world, the old policy, and the log before and after the change."""
    world = make_routine(rng)
    old, now = draw_old(rng, world), pay_last(world, NOW)
    before = draw_log(rng, pay_last(world, EARLY), old, round(ROWS * (1 - share)))
    return now, old, before, draw_log(rng, now, old, round(ROWS * share))


def _drift_of_rewards(rng: Generator, share: float) -> Situation:
    """A share of the log is from after the change."""
    now, old, before, after = _change_rewards(rng, share)
    return pose(now, old, join(before, after), _tempt(now), learns=True)


def _small_log(rng: Generator) -> Situation:
    """Sixteen short episodes: enough for a switch, too few to test for drift."""
    world = dataclasses.replace(make_routine(rng), termination=np.zeros((8, 3)))
    old, now = draw_old(rng, world), pay_last(world, NOW)
    parts = [
        draw_log(rng, then, old, 45 * n_episodes, horizon=45)
        for then, n_episodes in ((pay_last(world, EARLY), 12), (now, 4))
    ]
    return pose(now, old, join(*parts), _tempt(now))


def _drift_of_starts(rng: Generator) -> Situation:
    """Two kinds of customers, one step each; the last action is good for the first kind only."""
    n = 2
    transition, _, termination = empty(n, 3)
    transition[np.arange(n), :, np.arange(n)] = 1.0
    pays = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    early, now = (
        FiniteWorld(transition, pays, 0.9, start, termination + 1.0, reward_noise=0.5)
        for start in (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    )
    old = draw_old(rng, now)
    log = join(draw_log(rng, early, old, ROWS * 8 // 10), draw_log(rng, now, old, ROWS * 2 // 10))
    return pose(now, old, log, _tempt(now))


def _since_the_change(rng: Generator) -> Situation:
    now, old, before, after = _change_rewards(rng, 0.5)
    log = join(before, after)
    since = log.select(range(before.n_episodes, log.n_episodes))
    return pose(now, old, since, _tempt(now), learns=True)


def _since_the_check(rng: Generator) -> Situation:
    now, old, before, after = _change_rewards(rng, 0.4)
    log = join(before, after)
    first = check_log(log, TabularPolicy.from_probabilities(old)).drift.since
    since = log.select(range(first, log.n_episodes))
    return pose(now, old, since, _tempt(now), learns=True)


def _gradual_drift(rng: Generator) -> Situation:
    world = make_routine(rng)
    old, now = draw_old(rng, world), pay_last(world, NOW)
    pays = np.linspace(EARLY, NOW, 20)
    parts = [draw_log(rng, pay_last(world, pay), old, ROWS // len(pays)) for pay in pays]
    return pose(now, old, join(*parts), _tempt(now), learns=True)


def _make_lift(*, upwards: bool) -> FiniteWorld:
    """Six floors that pay the more the higher they are; the last action takes the lift."""
    n = 6
    transition, reward, termination = empty(n, 3)
    for floor in range(n):
        for action, move in enumerate((0, -1)):
            transition[floor, action, max(floor + move, 0)] += 0.8
            transition[floor, action, min(floor + 1, n - 1)] += 0.2
        transition[floor, 2, n - 1 if upwards else 0] = 1.0
        reward[floor] = floor / (n - 1)
    start = np.eye(n)[n // 2]
    return FiniteWorld(transition, reward, 0.9, start, termination + 0.1, reward_noise=0.2)


def _drift_of_dynamics(rng: Generator) -> Situation:
    before, now = _make_lift(upwards=True), _make_lift(upwards=False)
    old = draw_old(rng, now)
    log = join(draw_log(rng, before, old, ROWS // 2), draw_log(rng, now, old, ROWS // 2))
    return pose(now, old, log, _tempt(now), learns=True)


def _lean(old: Table, share: float) -> Table:
    """The policy with another share of the last action."""
    others = old[:, :-1] / old[:, :-1].sum(axis=1, keepdims=True)
    return np.column_stack([(1.0 - share) * others, np.full(len(old), share)])


def _drift_of_policy(rng: Generator) -> Situation:
    """The world stays as it is."""
    world = pay_last(make_routine(rng), NOW)
    old = _lean(draw_old(rng, world), 0.2)
    parts = (draw_log(rng, world, _lean(old, share), ROWS // 2) for share in (0.5, 0.2))
    return pose(world, old, join(*parts), _tempt(world), learns=True)


def _good_and_poor_times(rng: Generator, rows: int) -> Situation:
    """Times of so many rows take turns; in good ones the last action is frequent, else rare.

    It pays less than the others at all times, but whoever counts over all of them sees the good
    times in it. The policy given is the mean of the two.
    """
    world = pay_last(make_routine(rng), NOW)
    old = draw_old(rng, world)
    frequent, rare = _lean(old, 0.8), _lean(old, 0.2)
    times = [(pay_all(world, 1.5), frequent), (world, rare)]
    parts = [draw_log(rng, *times[number % 2], rows) for number in range(ROWS // rows)]
    return pose(world, (frequent + rare) / 2, join(*parts), _tempt(world), learns=True)


ATTACKS = (
    Attack(
        "drift_of_rewards",
        "drift",
        "In the first half one action paid well; now it pays least.",
        partial(_drift_of_rewards, share=0.5),
    ),
    Attack(
        "drift_at_the_end",
        "drift",
        "The best paid action became the worst paid in the last twentieth of the log.",
        partial(_drift_of_rewards, share=0.05),
    ),
    Attack(
        "drift_in_the_last_episodes",
        "drift",
        "The same, in the last hundredth of the log.",
        partial(_drift_of_rewards, share=0.01),
    ),
    Attack(
        "drift_in_a_small_log",
        "drift",
        "The best paid action became the worst paid; the log has sixteen short episodes in all.",
        _small_log,
    ),
    Attack(
        "drift_of_starts",
        "drift",
        "At first all customers were of a kind that likes the candidate; now none is.",
        _drift_of_starts,
    ),
    Attack(
        "gradual_drift",
        "drift",
        "What one action pays fell little by little, from the most to the least.",
        _gradual_drift,
    ),
    Attack(
        "since_the_change",
        "drift",
        "One action paid well in the first half; advice is asked for with the second half only.",
        _since_the_change,
    ),
    Attack(
        "since_what_the_check_says",
        "drift",
        "One action paid well at first; advice is asked for since the episode that the check says.",
        _since_the_check,
    ),
    Attack(
        "drift_of_dynamics",
        "drift",
        "In the first half one action led to the best state; now it leads to the worst.",
        _drift_of_dynamics,
    ),
    Attack(
        "drift_of_policy",
        "drift",
        "The first half was made by a policy that took the worst action more often.",
        _drift_of_policy,
    ),
    Attack(
        "drift_of_rewards_and_policy",
        "drift",
        "Everything paid more in the first half, when the worst action was frequent.",
        partial(_good_and_poor_times, rows=ROWS // 2),
    ),
    Attack(
        "seasons",
        "drift",
        "Good and poor times take turns, 40 of them; the worst action is frequent in good ones.",
        partial(_good_and_poor_times, rows=ROWS // 40),
    ),
)
