"""What is not in the log: a variable behind action and reward, episodes that were deleted."""

from __future__ import annotations

import dataclasses
from functools import partial

import gymnasium
import numpy as np

from nacre.experiments.attack_cases.logs import always, draw_log
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation, pose
from nacre.experiments.calibration.case import Truth
from nacre.experiments.calibration.chains import empty
from nacre.experiments.calibration.finite import TabularTruth, read_table
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld

ROWS = 10_000
LIKELY = 0.8
"""Probability of the action that goes with the hidden variable: odds of 4 instead of 1."""


def _make_confounded(n: int, *, steps: float, keep: float) -> FiniteWorld:
    """States (s, u), u hidden: rewards depend on u, and a little, for the worse, on action 1.

    Args:
        n: States that are seen.
        steps: Mean number of steps of an episode.
        keep: Probability that u stays as it is; else it is drawn afresh.
    """
    transition, reward, termination = empty(2 * n, 2)
    hidden = keep * np.eye(2) + (1 - keep) / 2
    for state in range(n):
        for u in range(2):
            here = 2 * state + u
            following = 2 * ((state + 1) % n)
            transition[here, :, following : following + 2] = hidden[u]
            reward[here] = u + np.array([0.0, -0.2])
    start = np.zeros(2 * n)
    start[:2] = 0.5
    return FiniteWorld(transition, reward, 0.9, start, termination + 1 / steps, reward_noise=0.3)


@dataclasses.dataclass(frozen=True, eq=False)
class HiddenTruth:
    """The exact gain of a policy that does not see u."""

    truth: TabularTruth

    def __call__(self, policy: Policy) -> Truth:
        """Acts at (s, u) as it does at s."""
        seen = read_table(policy, self.truth.world.n_states // 2)
        return self.truth(TabularPolicy.from_probabilities(np.repeat(seen, 2, axis=0)))


def _hide(log: Log, n: int) -> Log:
    """Without u."""
    return dataclasses.replace(
        log,
        observations=log.observations // 2,
        next_observations=log.next_observations // 2,
        observation_space=gymnasium.spaces.Discrete(n),
    )


def _confounded(rng: Generator, n: int, steps: float, keep: float) -> Situation:
    """Action 1 goes with good times, which it does not bring."""
    world = _make_confounded(n, steps=steps, keep=keep)
    acting = np.tile([[LIKELY, 1 - LIKELY], [1 - LIKELY, LIKELY]], (n, 1))
    log = _hide(draw_log(rng, world, acting, ROWS), n)
    shown = np.full((n, 2), 0.5)
    seen = FiniteWorld(np.ones((n, 2, n)) / n, np.zeros((n, 2)), world.discount, np.eye(n)[0])
    situation = pose(seen, shown, log, {"always_last": always(seen, -1)}, learns=True)
    in_force = TabularTruth(world, np.asarray(acting, np.float64))
    return dataclasses.replace(situation, find_truth=HiddenTruth(in_force))


def _deleted_failures(rng: Generator) -> Situation:
    """Action 1 pays more, and now and then ends in a failure that costs far more."""
    n, fails = 4, 0.05
    transition, reward, termination = empty(n + 1, 2)
    for state in range(n):
        transition[state, :, (state + 1) % n] = 1.0
        transition[state, 1, (state + 1) % n] -= fails
        transition[state, 1, n] = fails
    reward[:n], reward[n] = np.array([0.5, 0.7]), -20.0
    transition[n, :, n], termination[:n], termination[n] = 1.0, 0.1, 1.0
    world = FiniteWorld(transition, reward, 0.95, np.eye(n + 1)[0], termination, reward_noise=0.2)
    old = np.tile([0.8, 0.2], (n + 1, 1))
    log = draw_log(rng, world, old, ROWS)
    failed = np.logical_or.reduceat(log.observations == n, log.offsets[:-1])
    kept = log.select(np.flatnonzero(~failed))
    return pose(world, old, kept, {"always_last": always(world, -1)}, learns=True)


ATTACKS = (
    Attack(
        "confounded_one_step",
        "hidden variable",
        "A hidden variable drives both the action and the reward; episodes have one step.",
        partial(_confounded, n=1, steps=1.0, keep=0.0),
        hidden=True,
    ),
    Attack(
        "confounded_many_steps",
        "hidden variable",
        "The same over ten steps; the hidden variable is drawn afresh at every step.",
        partial(_confounded, n=4, steps=10.0, keep=0.0),
        hidden=True,
    ),
    Attack(
        "confounded_episodes",
        "hidden variable",
        "The same, and the hidden variable stays as it is for a whole episode.",
        partial(_confounded, n=4, steps=10.0, keep=1.0),
        hidden=True,
    ),
    Attack(
        "failures_deleted",
        "hidden variable",
        "Episodes in which a well paid action ended in a failure were deleted from the log.",
        _deleted_failures,
        hidden=True,
    ),
)
