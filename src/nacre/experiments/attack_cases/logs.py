"""What is done to logs: joined, repeated, mixed; and small worlds to take them from."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from nacre.estimators.base import Problem, report_nothing
from nacre.estimators.tabular import Tabular
from nacre.experiments.attack_cases.situation import Generator
from nacre.logs import Log
from nacre.logs.checks.assembly import ROW_ARRAYS
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table, random_world

HORIZON = 200
"""Steps after which a log cuts an episode."""
LUCK = (0.6, 1.0)
"""Standard errors by which a lucky log shows a gain: too few to claim one, but not for copies."""
MOST_DRAWS = 400


def make_routine(rng: Generator, *, noise: float = 0.3) -> FiniteWorld:
    """Eight states, three actions, about ten steps an episode; actions change rewards only.

    What follows does not depend on the action, so that what an action pays decides its value.
    """
    drawn = random_world(int(rng.integers(2**31)), 8, 3, discount=0.9, branching=3)
    return dataclasses.replace(
        drawn,
        transition=np.repeat(drawn.transition[:, :1], 3, axis=1),
        reward=0.3 * drawn.reward,
        termination=np.full(drawn.reward.shape, 0.1),
        reward_noise=noise,
    )


def pay_last(world: FiniteWorld, amount: float) -> FiniteWorld:
    """The last action pays so much more than the worst of the others."""
    reward = world.reward.copy()
    reward[:, -1] = reward[:, :-1].min(axis=1) + amount
    return dataclasses.replace(world, reward=reward)


def pay_all(world: FiniteWorld, amount: float) -> FiniteWorld:
    """Every action pays so much more."""
    return dataclasses.replace(world, reward=world.reward + amount)


def draw_old(rng: Generator, world: FiniteWorld) -> Table:
    """A policy that tries everything."""
    return rng.dirichlet(np.full(world.n_actions, 3.0), world.n_states)


def always(world: FiniteWorld, action: int) -> Table:
    """The same action everywhere; -1 is the last one."""
    return np.tile(np.eye(world.n_actions)[action], (world.n_states, 1))


def draw_log(
    rng: Generator, world: FiniteWorld, policy: Table, rows: int, horizon: int = HORIZON
) -> Log:
    """A log of a finite world."""
    return world.sample_log(policy, rows, seed=int(rng.integers(2**31)), horizon=horizon)


def join(*logs: Log) -> Log:
    """Logs one after the other."""
    arrays: dict[str, Any] = {
        name: np.concatenate([np.asarray(getattr(log, name)) for log in logs])
        for name in ROW_ARRAYS
    }
    lengths = np.concatenate([log.episode_lengths for log in logs])
    return Log.from_arrays(
        **arrays,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
        provenance=logs[0].provenance,
    )


def shuffle(rng: Generator, log: Log) -> Log:
    """The same episodes in another order."""
    return log.select(rng.permutation(log.n_episodes))


def repeat(log: Log, times: int) -> Log:
    """All episodes, so many times over."""
    return log.select(np.tile(np.arange(log.n_episodes), times))


def with_rewards(log: Log, rewards: NDArray[Any]) -> Log:
    """The same log with other rewards."""
    return dataclasses.replace(log, rewards=np.asarray(rewards, np.float32))


def score_by_counts(log: Log, old: Policy, candidate: Policy, discount: float) -> float:
    """Standard errors by which a discrete log shows a gain, as if all of it were fresh."""
    estimator, key = Tabular(replicates=100), jax.random.key(0)
    problem = Problem(log, old, log.starts, discount)
    prepared = estimator.prepare(key, problem, report_nothing)
    found = estimator.estimate(key, problem, prepared, candidate, report_nothing)
    return found.gain / found.standard_error


def find_lucky_log(rng: Generator, world: FiniteWorld, old: Table, bad: Table, rows: int) -> Log:
    """A log in which a bad candidate happens to look a little better than the old policy."""
    policies = [TabularPolicy.from_probabilities(table) for table in (old, bad)]
    for _ in range(MOST_DRAWS):
        log = draw_log(rng, world, old, rows)
        if LUCK[0] < score_by_counts(log, policies[0], policies[1], world.discount) < LUCK[1]:
            return log
    raise AssertionError(f"no lucky log among {MOST_DRAWS}")


def spread_over(rng: Generator, logs: Sequence[Log]) -> Log:
    """Episodes of several logs, mixed."""
    return shuffle(rng, join(*logs))
