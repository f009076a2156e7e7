"""The empirical Markov decision process of a discrete log, and exact solves of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from nacre.logs import Log
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.policy import Policy, ask

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 4_000_000
"""Numbers in one block of replicates."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What a log says about finitely many states: rows, and cells of equal (s, a, s', terminated).

    States are those of the log and of the start, numbered anew; a pair is s · A + a.

    Attributes:
        states: (S,) the numbers that the log gives the states, ascending.
        n_actions: A.
        start: (S,) distribution of the first state.
        pairs: (N,) pair of each row.
        following: (N,) state after each row.
        alive: (N,) one where the episode goes on or was only truncated, zero where it terminated.
        rewards: (N,).
        episodes: (N,) episode of each row.
        cells: (N,) cell of each row.
    """

    states: Integers
    n_actions: int
    start: Floats
    pairs: Integers
    following: Integers
    alive: Floats
    rewards: Floats
    episodes: Integers
    cells: Integers

    @classmethod
    def of(cls, log: Log, start: NDArray[np.generic], n_actions: int) -> Counts:
        """Count a log whose observations and actions are discrete."""
        observed, successors = np.asarray(log.observations), np.asarray(log.next_observations)
        first = np.asarray(start).reshape(-1).astype(np.int64)
        states = np.unique(np.concatenate([observed, successors, first])).astype(np.int64)
        pairs = np.searchsorted(states, observed) * n_actions + np.asarray(log.actions)
        following = np.searchsorted(states, successors)
        ended = log.terminated.astype(np.int64)
        code = (pairs.astype(np.int64) * len(states) + following) * 2 + ended
        starts = np.bincount(np.searchsorted(states, first), minlength=len(states))
        return cls(
            states=states,
            n_actions=n_actions,
            start=starts / starts.sum(),
            pairs=pairs.astype(np.int64),
            following=following.astype(np.int64),
            alive=(1 - ended).astype(np.float64),
            rewards=log.rewards.astype(np.float64),
            episodes=log.episode_ids,
            cells=np.unique(code, return_inverse=True)[1].reshape(-1),
        )

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.states)

    @cached_property
    def visits(self) -> Floats:
        """(S, A): how often each pair was taken."""
        size = self.n_states * self.n_actions
        counted = np.bincount(self.pairs, minlength=size).astype(np.float64)
        return counted.reshape(self.n_states, self.n_actions)

    @cached_property
    def first_rows(self) -> Integers:
        """(C,) one row of each cell."""
        return np.unique(self.cells, return_index=True)[1].astype(np.int64)

    @cached_property
    def by_episode(self) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """(C, E) rows, and (C, E) sums of rewards, of each cell in each episode."""
        shape = (len(self.first_rows), int(self.episodes[-1]) + 1)
        place = (self.cells, self.episodes)
        ones = np.ones(len(self.cells))
        return (
            sparse.coo_matrix((ones, place), shape=shape).tocsr(),
            sparse.coo_matrix((self.rewards, place), shape=shape).tocsr(),
        )

    def impute(self, table: Floats) -> Floats:
        """The table with mass on pairs never taken moved to what was taken in the same state.

        It is spread in proportion to the counts: such a pair is worth as much as the average row of
        its state. States without rows keep nothing.
        """
        taken = self.visits > 0
        total = self.visits.sum(axis=1, keepdims=True)
        shares = np.divide(self.visits, total, out=np.zeros_like(self.visits), where=total > 0)
        absent = np.where(taken, 0.0, table).sum(axis=1, keepdims=True)
        spread: Floats = np.where(taken, table, 0.0) + absent * shares
        return spread


def ask_table(policy: Policy, states: Integers) -> Floats:
    """(S, A) what a policy does in states (S,), rows that add up to one."""
    if not len(states):
        return np.zeros((0, policy.signature.action_size))
    said = cast(DiscreteDistribution, ask(policy, jnp.asarray(states, jnp.int32)))
    table = np.asarray(said.probabilities, dtype=np.float64)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Chain:
    """V = given + c + γ P V with P and c from cells, the same pattern for any weights of episodes.

    Attributes:
        counts: The log.
        weights: (S, A) how much of each pair goes into its state's value.
        given: (S,) what is added to each state's value from outside of the log.
        discount: γ.
    """

    counts: Counts
    weights: Floats
    given: Floats
    discount: float

    def entries(self, cells: Floats, rewards: Floats) -> tuple[Floats, Floats]:
        """Data of P (K, B), K used cells, and c (S, B), from weighted cells and rewards (C, B)."""
        counts, rows = self.counts, self.used_rows
        pair = counts.pairs[counts.first_rows]
        size = counts.n_states * counts.n_actions
        total = np.maximum(_sum_by(pair, cells, size), np.finfo(float).tiny)
        share = self.weights.reshape(-1)[pair][:, None] / total[pair]
        paid = _sum_by(pair // counts.n_actions, share * rewards, counts.n_states)
        return (share * cells)[self.used] * counts.alive[rows][:, None], paid

    @cached_property
    def used(self) -> Integers:
        """Cells that the chain passes through and that do not end the episode."""
        rows = self.counts.first_rows
        passed = (self.weights.reshape(-1)[self.counts.pairs[rows]] > 0) & (
            self.counts.alive[rows] > 0
        )
        return np.flatnonzero(passed).astype(np.int64)

    @cached_property
    def used_rows(self) -> Integers:
        """One row of each used cell."""
        return self.counts.first_rows[self.used]

    @cached_property
    def _point(self) -> tuple[Floats, Floats]:
        n, paid = self.counts.by_episode
        ones = np.ones((n.shape[1], 1))
        return self.entries(n @ ones, paid @ ones)

    @cached_property
    def _solver(self) -> Callable[..., Floats]:
        """Sparse LU of I - γ P at the counts themselves."""
        counts, rows = self.counts, self.used_rows
        place = (counts.pairs[rows] // counts.n_actions, counts.following[rows])
        size = counts.n_states
        moves = sparse.coo_matrix((self._point[0][:, 0], place), shape=(size, size))
        matrix = sparse.identity(size, format="csc") - self.discount * moves.tocsc()
        return cast(Callable[..., Floats], splu(matrix.tocsc()).solve)

    def values(self) -> Floats:
        """(S,) V at the counts themselves."""
        return self._solver(self.given + self._point[1][:, 0])

    def occupancy(self) -> Floats:
        """(S,) discounted visits Σ_t γ^t P(s_t = s) at the counts themselves."""
        return self._solver(self.counts.start, trans="T")

    def replicate(self, weights: Floats) -> Floats:
        """Start values (B,) with episodes weighted anew, exact up to 1e-9 of their size.

        All replicates are solved together by refinement with the LU of the counts themselves;
        those that it does not settle are solved one by one.

        Args:
            weights: (E, B) positive weights of the episodes.
        """
        size = max(1, _BLOCK // max(1, len(self.counts.first_rows)))
        parts = [
            self._replicate(weights[:, low : low + size])
            for low in range(0, weights.shape[1], size)
        ]
        return np.concatenate(parts)

    def _replicate(self, weights: Floats) -> Floats:
        counts = self.counts
        n, paid = counts.by_episode
        data, earned = self.entries(n @ weights, paid @ weights)
        data = self.discount * data
        source = counts.pairs[self.used_rows] // counts.n_actions
        target = counts.following[self.used_rows]
        right = earned + self.given[:, None]
        values = self._solver(right)
        scale = np.abs(values).max()
        for _ in range(60):
            left = right - values + _sum_by(source, data * values[target], counts.n_states)
            off = np.abs(left).max(axis=0)
            if not np.isfinite(off).all() or off.max() <= 1e-10 * scale:
                break
            values = values + self._solver(left)
        unsettled = np.flatnonzero(~(off <= 1e-9 * scale))
        for b in unsettled:
            shape = (counts.n_states, counts.n_states)
            moves = sparse.coo_matrix((data[:, b], (source, target)), shape=shape).tocsc()
            matrix = sparse.identity(counts.n_states, format="csc") - moves
            values[:, b] = splu(matrix.tocsc()).solve(right[:, b])
        return np.asarray(counts.start @ values)


def _sum_by(group: Integers, values: Floats, size: int) -> Floats:
    """Sums (size, B) of the rows (K, B) of each group."""
    place = (group, np.arange(len(group)))
    gather = sparse.csr_matrix((np.ones(len(group)), place), shape=(size, len(group)))
    return np.asarray(gather @ values)
