"""A learner: towards the action with the best mean return.

For each pair (s, a) of the log, Q(s, a) is the mean return from there on, while the old policy goes
on acting. The candidate takes a share of its decisions by argmax_a Q(s, a) and leaves the others to
the old policy: one step of policy improvement, on numbered states and actions.

Registered in this package's `pyproject.toml`:

    [project.entry-points."nacre.learners"]
    monte_carlo_greedy = "nacre_example.learner:MonteCarloGreedy"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.base import Candidate, LearningProblem
from nacre.policies import TabularPolicy
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.policy import ask
from nacre.training.progress import Progress


@dataclass(frozen=True)
class MonteCarloGreedy:
    """A mixture of the old policy and the action with the best mean return.

    Args:
        share: Of the decisions that the best action takes.
        least_seen: Times that a pair has to be in the log to be compared; a state with fewer than
            two such actions is left to the old policy.
    """

    share: float = 0.5
    least_seen: int = 10
    name: str = "monte_carlo_greedy"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"share = {self.share}: must lie above 0, and at most be 1")
        if self.least_seen < 1:
            raise InputError(f"least_seen = {self.least_seen}: must be at least 1")

    def applies(self, problem: LearningProblem) -> str:
        """To numbered states and actions."""
        spaces = (problem.log.observation_space, problem.log.action_space)
        if all(isinstance(space, gymnasium.spaces.Discrete) for space in spaces):
            return ""
        return "states and actions are not numbered"

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """One candidate, or none where no state has two actions to compare."""
        log, signature = problem.log, problem.old_policy.signature
        states = signature.observation_size
        answer = ask(problem.old_policy, jnp.arange(states))
        if not isinstance(answer, DiscreteDistribution):
            return []
        old = np.asarray(answer.probabilities, np.float64)
        pairs = (np.asarray(log.observations), np.asarray(log.actions))
        sums, counts = np.zeros(old.shape), np.zeros(old.shape)
        np.add.at(sums, pairs, log.returns_to_go(problem.discount))
        np.add.at(counts, pairs, 1)
        seen = counts >= self.least_seen
        means = np.where(seen, sums / np.maximum(counts, 1), -np.inf)
        comparable = seen.sum(axis=1) >= 2
        if not comparable.any():
            return []
        greedy = np.eye(old.shape[1])[means.argmax(axis=1)]
        mixed = (1.0 - self.share) * old + self.share * greedy
        table = np.where(comparable[:, None], mixed, old)
        policy = TabularPolicy.from_probabilities(table / table.sum(axis=1, keepdims=True))
        origin = f"the old policy, and in {self.share:.0%} of decisions the best mean return"
        return [Candidate(self.name, policy, origin)]
