"""Exact planning on the counts of the learning part, for discrete states and actions.

What was hardly seen is worth little: a pair taken n times is worth n/(n+1) of what it earned and
1/(n+1) of the least that the log has ever had to go. Where that gives no advantage, the old
policy keeps its actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import PRNGKeyArray
from scipy import sparse

from nacre.errors import InputError
from nacre.estimators.tabular_world import Chain, Counts, Floats, ask_table
from nacre.learners.base import Candidate, LearningProblem
from nacre.policies.tabular import TabularPolicy
from nacre.training.progress import Progress
from nacre.training.returns import bootstrapped_returns_to_go

MOST_SWEEPS = 10_000
TOLERANCE = 1e-9
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of the expected advantage that partial changes take, those with most of it first."""


@dataclass(frozen=True)
class TabularPlanner:
    """The best policy of the counted world, whole, and as far as it pays for the switch.

    Args:
        caution: Outcomes that a pair is taken to have had beside those of the log, all of them the
            worst.
    """

    caution: float = 1.0

    def __post_init__(self) -> None:
        if not self.caution >= 0:
            raise InputError(f"caution = {self.caution}: must not be negative")

    @property
    def name(self) -> str:
        """What it is called in records and on the page."""
        return "planner"

    def applies(self, problem: LearningProblem) -> str:
        """To discrete states and actions."""
        spaces = problem.log.observation_space, problem.log.action_space
        if all(isinstance(space, Discrete) for space in spaces):
            return ""
        return "states or actions are not discrete"

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """The planned policy, and the part of it with the highest net value if that is another."""
        policy, size = problem.old_policy, problem.old_policy.signature
        counts = Counts.of(problem.log, problem.start, size.action_size)
        every = ask_table(policy, np.arange(size.observation_size, dtype=np.int64))
        old = every[counts.states]
        values = self._plan(counts, problem)
        greedy = np.eye(counts.n_actions)[np.argmax(values, axis=1)]
        expected = np.where(old > 0, old * np.where(np.isfinite(values), values, 0.0), 0.0)
        known = np.isfinite(values).any(axis=1)
        advantage = np.where(known, np.max(values, axis=1, initial=-np.inf), 0.0)
        advantage = np.where(known, advantage - expected.sum(axis=1), 0.0)
        tables = []
        for share in SHARES:
            changed = _choose_states(counts, old, advantage, share, problem.discount)
            if changed.any():
                tables.append(np.where(changed[:, None], greedy, old))
        return self._propose(problem, counts, every, tables)

    def _plan(self, counts: Counts, problem: LearningProblem) -> Floats:
        """(S, A) values of the best policy; -inf for pairs never taken."""
        n, size = counts.visits.reshape(-1), counts.n_states * counts.n_actions
        seen = n > 0
        trust = n / (n + self.caution + (n == 0))
        worst = float(np.min(bootstrapped_returns_to_go(problem.log, problem.discount)))
        paid = np.bincount(counts.pairs, counts.rewards, size) / np.maximum(n, 1.0)
        moves = sparse.csr_matrix(
            (counts.alive / n[counts.pairs], (counts.pairs, counts.following)),
            shape=(size, counts.n_states),
        )
        known = seen.reshape(counts.visits.shape).any(axis=1)
        values = np.zeros(size)
        best = np.zeros(counts.n_states)
        for _ in range(MOST_SWEEPS):
            fresh = trust * (paid + problem.discount * (moves @ best)) + (1.0 - trust) * worst
            values = np.where(seen, fresh, -np.inf)
            now = np.where(known, values.reshape(counts.visits.shape).max(axis=1), worst)
            moved, best = float(np.max(np.abs(now - best))), now
            if moved <= TOLERANCE * (1.0 + float(np.max(np.abs(best)))):
                break
        return values.reshape(counts.visits.shape)

    def _propose(
        self, problem: LearningProblem, counts: Counts, every: Floats, tables: list[Floats]
    ) -> list[Candidate]:
        scored = []
        for table in tables:
            whole = every.copy()
            whole[counts.states] = table
            policy = TabularPolicy.from_probabilities(whole)
            cost = problem.cost.evaluate(problem.old_policy, policy, problem.log)
            chain = Chain(counts, counts.impute(table), np.zeros(counts.n_states), problem.discount)
            scored.append((float(counts.start @ chain.values()) - cost.total, policy))
        if not scored:
            return []
        best = max(range(len(scored)), key=lambda index: scored[index][0])
        origin = "planned on the counts of the learning part"
        found = [Candidate(self.name, scored[0][1], origin)]
        if best != 0:
            part = f"{origin}, where the change is worth most"
            found.append(Candidate(f"{self.name}-part", scored[best][1], part))
        return found


def _choose_states(
    counts: Counts, old: Floats, advantage: Floats, share: float, discount: float
) -> np.ndarray:
    """(S,) the states that hold this share of the expected advantage, the largest first."""
    chain = Chain(counts, counts.impute(old), np.zeros(counts.n_states), discount)
    worth = np.maximum(advantage, 0.0) * np.maximum(chain.occupancy(), 0.0)
    if share >= 1.0:
        return np.asarray(advantage > 0)
    order = np.argsort(-worth, kind="stable")
    reached = np.cumsum(worth[order]) <= share * worth.sum()
    chosen = np.zeros(len(worth), bool)
    chosen[order[reached]] = True
    return chosen & (worth > 0)
