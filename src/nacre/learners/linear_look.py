"""What episodes say of a policy by critics that are linear in features: quick, and no descent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.learners.base import CLONED_ROWS, LearningProblem
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.linear_critics import LinearCritics, Sums, add_up, fit_critics
from nacre.training.preparation import limit_values
from nacre.training.state_action_features import StateActionFeatures, draw_actions

ROWS_PER_FEATURE = 100
FEATURES = (48, 256)
"""Fewest and most features of a set; in between they grow with the rows."""
SETS = 4
MOST_ROWS = 20_000
"""Of the episodes, so many rows are summed up at most: more hardly change a linear fit."""
COST_STATES = 2_000
"""States at which costs are compared while learning."""
RIDGE = 1e-4
"""λ for each row of the log, in units of the features."""


@dataclass(frozen=True, eq=False)
class LinearLook:
    """Episodes, summed up in several sets of features.

    Args:
        problem: What is given.
        log: The episodes, all of the problem's or some of them.
        sums: What they say in each set of features.
        old: The old policy's critics.
    """

    problem: LearningProblem
    log: Log
    sums: tuple[Sums, ...]
    old: LinearCritics

    @classmethod
    def take(
        cls, key: PRNGKeyArray, problem: LearningProblem, log: Log, sets: int = SETS
    ) -> LinearLook:
        """Sum the episodes up, and solve for the old policy."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
        log = _take_some(log, rng)
        size, policy = int(np.clip(len(log) // ROWS_PER_FEATURE, *FEATURES)), problem.old_policy
        together = np.zeros(log.n_episodes, np.int64)
        sums = tuple(
            add_up(StateActionFeatures.draw(log, policy.signature, size, rng), log, together)
            for _ in range(sets)
        )
        return cls(problem, log, sums, fit_critics(sums, log, policy, problem.discount, RIDGE))

    @property
    def old_value(self) -> float:
        """Of the old policy at the start."""
        return self._read(self.old, self.problem.old_policy)

    @property
    def spread(self) -> float:
        """Standard deviation of the old policy's Q over the rows."""
        log, some = self.log, slice(CLONED_ROWS)
        q, _ = self.old.read(log.observations[some], log.actions[some], self.problem.old_policy)
        return float(np.std(q))

    def solve(self, policy: Policy) -> LinearCritics:
        """The critics of a policy."""
        return fit_critics(self.sums, self.log, policy, self.problem.discount, RIDGE)

    def find_net_value(self, policy: Policy, critics: LinearCritics) -> float:
        """A policy's value at the start by its critics, less what the switch to it costs."""
        problem, every = self.problem, max(1, len(self.log) // COST_STATES)
        states = np.asarray(self.log.observations[::every])
        cost = problem.cost.evaluate(problem.old_policy, policy, states)
        return self._read(critics, policy) - float(cost.total)

    def find_net_gain(self, policy: Policy) -> float:
        """What these episodes say of a policy: gain over the old one less the cost."""
        return self.find_net_value(policy, self.solve(policy)) - self.old_value

    def _read(self, critics: LinearCritics, policy: Policy) -> float:
        """At the start: the median of the sets; NaN where the log's rewards do not allow it."""
        start = np.asarray(self.problem.start)
        pairs = zip(critics.features, critics.weights, strict=True)
        drawn = draw_actions(policy, start)
        values = [float(np.mean(one.expect(start, drawn) @ w)) for one, w in pairs]
        value, (low, high) = float(np.median(values)), limit_values(self.log, self.problem.discount)
        return value if low <= value <= high else math.nan


def _take_some(log: Log, rng: np.random.Generator) -> Log:
    """Whole episodes at random, about as many as are summed up at most."""
    if len(log) <= MOST_ROWS:
        return log
    order = rng.permutation(log.n_episodes)
    enough = np.searchsorted(np.cumsum(log.episode_lengths[order]), MOST_ROWS) + 1
    return log.select(np.sort(order[: max(enough, 2)]))
