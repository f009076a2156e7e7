"""Planning net of a switching cost in a finite world: the old policy's rows, or single actions.

The net value of a policy that takes single actions in some states and leaves the others to the old
policy is start · V - Σ_s charge(s, choice). To first order another choice in s changes it by
ρ(s) [Q(s, a) - V(s)] - [charge(s, a) - charge(s, choice)], ρ being the discounted visits (the
policy gradient theorem). All changes that promise a gain are made at once, fewer of them where that
did not help. Without charges this is policy iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

Floats = NDArray[np.float64]
Choice = NDArray[np.int64]
OLD = -1
"""The choice that leaves a state to the old policy."""
MOST_ROUNDS = 200
TOLERANCE = 1e-10


class Solved(NamedTuple):
    """A policy in a world: V (S,), discounted visits ρ (S,), Q (S, A), and of the old rows (S,)."""

    values: Floats
    visits: Floats
    q: Floats
    q_old: Floats


@dataclass(frozen=True, eq=False)
class PlannedWorld:
    """What each choice pays and leads to.

    Args:
        rewards: (S, A) of single actions; -inf where an action is not allowed.
        moves: (S · A, S) discounted probabilities of what follows; what ends is missing.
        old_rewards: (S,) of the old policy's row.
        old_moves: (S, S).
        start: (S,) distribution of the first state.
    """

    rewards: Floats
    moves: sparse.csr_matrix
    old_rewards: Floats
    old_moves: sparse.csr_matrix
    start: Floats

    def solve(self, choice: Choice) -> Solved:
        """A policy's values and visits, exactly."""
        n, n_actions = self.rewards.shape
        states = np.arange(n)
        rows = states * n_actions + np.maximum(choice, 0)
        kept = sparse.diags((choice == OLD).astype(np.float64))
        changed = sparse.diags((choice != OLD).astype(np.float64))
        moves = kept @ self.old_moves + changed @ self.moves[rows]
        single = self.rewards[states, np.maximum(choice, 0)]
        paid = np.where(choice == OLD, self.old_rewards, single)
        solver = splu((sparse.identity(n, format="csc") - moves.tocsc()).tocsc())
        values = np.asarray(solver.solve(paid))
        q = self.rewards + np.asarray(self.moves @ values).reshape(n, n_actions)
        q_old = self.old_rewards + np.asarray(self.old_moves @ values)
        return Solved(values, np.asarray(solver.solve(self.start, trans="T")), q, q_old)


@dataclass(frozen=True, eq=False)
class Charges:
    """What a switch costs, state by state; nothing at all where no state is changed.

    Args:
        single: (S, A) of taking a single action.
        kept: (S,) of a state that keeps the old row: F(π, π) is the transaction weight, not zero.
    """

    single: Floats
    kept: Floats

    def at(self, choice: Choice) -> Floats:
        """(S,) of each state's choice."""
        picked = self.single[np.arange(len(choice)), np.maximum(choice, 0)]
        return np.asarray(np.where(choice == OLD, self.kept, picked))

    def total(self, choice: Choice) -> float:
        """Of a whole policy."""
        return 0.0 if np.all(choice == OLD) else float(self.at(choice).sum())


def climb(world: PlannedWorld, charges: Charges, choice: Choice) -> tuple[Choice, float]:
    """Changes of single states while the net value grows; the choices, and the net value."""
    solved = world.solve(choice)
    net = float(world.start @ solved.values) - charges.total(choice)
    for _ in range(MOST_ROUNDS):
        better = _step(world, charges, choice, solved, net)
        if better is None:
            break
        choice, solved, net = better
    return choice, net


def _step(
    world: PlannedWorld, charges: Charges, choice: Choice, solved: Solved, net: float
) -> tuple[Choice, Solved, float] | None:
    """As many promising changes as help, from all of them to the best one; None if none does."""
    visits = np.maximum(solved.visits, 0.0)[:, None]
    q = np.concatenate([solved.q_old[:, None], solved.q], axis=1)
    charged = np.concatenate([charges.kept[:, None], charges.single], axis=1)
    allowed = np.isfinite(q)
    advantage = np.where(allowed, q, 0.0) - solved.values[:, None]
    promised = visits * advantage - (charged - charges.at(choice)[:, None])
    best = np.where(allowed, promised, -np.inf).argmax(axis=1)
    gain = promised[np.arange(len(choice)), best]
    slack = TOLERANCE * (1.0 + abs(net))
    order = np.argsort(-gain, kind="stable")
    order = order[gain[order] > slack / len(choice)]
    count = len(order)
    while count:
        tried = choice.copy()
        tried[order[:count]] = best[order[:count]] - 1
        after = world.solve(tried)
        reached = float(world.start @ after.values) - charges.total(tried)
        if reached > net + slack:
            return tried, after, reached
        count //= 2
    return None


def plan_switch(world: PlannedWorld, charges: Charges) -> Choice:
    """The choices with the best net value that was found.

    From the old policy a switch that pays only as a whole is not found step by step: the search
    starts from the free switch too, where the charges take back what is not worth them.
    """
    keep = np.full(len(world.start), OLD, np.int64)
    nothing = Charges(np.zeros_like(charges.single), np.zeros_like(charges.kept))
    free, _ = climb(world, nothing, keep)
    found = [climb(world, charges, begun) for begun in (keep, free)]
    return max(found, key=lambda one: one[1])[0]
