"""Exact planning on the counts of the learning part, for discrete states and actions.

What was hardly seen is worth little: a pair taken n times is worth n/(n+1) of what it earned and
1/(n+1) of the least that the log has ever had to go. Where no action promises more than the old
policy after what the change costs, the old policy keeps its actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import PRNGKeyArray
from scipy import sparse

from nacre.costs.whole import WholePolicyCost
from nacre.errors import InputError
from nacre.estimators.tabular_world import Counts, Floats, ask_table
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.charging import charge_actions, charge_keeping
from nacre.learners.net_planning import OLD, Charges, Choice, PlannedWorld, plan_switch
from nacre.learners.whole_planning import plan_whole_switch
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.training.progress import Progress
from nacre.training.returns import bootstrapped_returns_to_go


@dataclass(frozen=True)
class TabularPlanner:
    """The best policy of the counted world net of the cost, with caution and without.

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
        """The plan with the highest net value, and the one without caution if it is another."""
        size = problem.old_policy.signature
        counts = Counts.of(problem.log, problem.start, size.action_size)
        every = ask_table(problem.old_policy, np.arange(size.observation_size, dtype=np.int64))
        found = []
        plan = _choose_planner(counts, every, problem, key)
        keep = np.full(counts.n_states, OLD)
        plans: list[Choice] = [keep]
        origin = "planned on the counts of the learning part, net of the cost"
        for name, caution, told in (
            (self.name, self.caution, origin),
            (f"{self.name}-bold", 0.0, f"{origin}, what was hardly seen taken at its mean"),
        ):
            world = _count_world(counts, every[counts.states], problem, caution)
            choice = plan(world)
            if not any(np.array_equal(choice, plan) for plan in plans):
                plans.append(choice)
                found.append(Candidate(name, _write(every, counts, choice, size), told))
        return found


def _count_world(
    counts: Counts, old: Floats, problem: LearningProblem, caution: float
) -> PlannedWorld:
    """The counts as a world: single actions are worth less, the old policy's rows are not."""
    n, shape = counts.visits.reshape(-1), counts.visits.shape
    size = len(n)
    trust = n / (n + caution + (n == 0))
    worst = float(np.min(bootstrapped_returns_to_go(problem.log, problem.discount)))
    paid = np.bincount(counts.pairs, counts.rewards, size) / np.maximum(n, 1.0)
    moves = sparse.csr_matrix(
        (
            problem.discount * counts.alive / n[counts.pairs],
            (counts.pairs, counts.following),
        ),
        shape=(size, counts.n_states),
    )
    weights = counts.impute(old).reshape(-1)
    rows = np.repeat(np.arange(counts.n_states), counts.n_actions)
    mixing = sparse.csr_matrix((weights, (rows, np.arange(size))), shape=(shape[0], size))
    # A state without rows is worth the least that the log has had to go, whatever is done.
    unseen = counts.visits.sum(axis=1) == 0
    return PlannedWorld(
        np.where(n > 0, trust * paid + (1.0 - trust) * worst, -np.inf).reshape(shape),
        (sparse.diags(trust) @ moves).tocsr(),
        np.asarray(mixing @ paid) + np.where(unseen, worst, 0.0),
        (mixing @ moves).tocsr(),
        counts.start,
    )


def _choose_planner(
    counts: Counts, every: Floats, problem: LearningProblem, key: PRNGKeyArray
) -> Callable[[PlannedWorld], Choice]:
    """How to plan net of the cost: by what single states cost, or by whole policies."""
    cost = problem.cost
    if not isinstance(cost, WholePolicyCost):
        charges = _charge(counts, problem, key)
        return lambda world: plan_switch(world, charges)
    old_policy, whole = problem.old_policy, cost

    def price(choice: Choice) -> float:
        return whole.price(old_policy, _write(every, counts, choice, old_policy.signature))

    return lambda world: plan_whole_switch(world, price)


def _charge(counts: Counts, problem: LearningProblem, key: PRNGKeyArray) -> Charges:
    """What each choice costs, weighed as the cost weighs the states."""
    cost, policy = problem.cost, problem.old_policy
    observations = np.asarray(problem.log.observations)
    sample = cost.state_measure.support(key, observations, policy.observation_space)
    every = np.arange(policy.signature.observation_size)
    weights = np.bincount(np.asarray(sample.states), sample.probabilities, len(every))
    here = weights[counts.states]
    single = here[:, None] * charge_actions(cost, policy, counts.states)
    kept = here * charge_keeping(cost, policy, counts.states)
    return Charges(single, kept)


def _write(every: Floats, counts: Counts, choice: Choice, signature: Signature) -> TabularPolicy:
    """The table of a plan: the old policy's rows wherever nothing else was chosen."""
    table = every.copy()
    changed = choice != OLD
    table[counts.states[changed]] = np.eye(counts.n_actions)[choice[changed]]
    return TabularPolicy.from_probabilities(table, signature)
