"""What lies outside of a discrete log, and what it may be worth to a candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.estimators.tabular_world import Chain, Counts, Floats
from nacre.logs import Log


@dataclass(frozen=True, eq=False)
class Observed:
    """What all candidates share.

    Attributes:
        counts: The log, counted.
        table: (S, A) the old policy.
        chain: The old policy's values by the counts.
        imputed: What a state without rows is worth to the old policy.
        span: How much less, or more, a pair never taken may be worth than its state's average row.
        novelty: (S, A) chance that the next outcome of a pair is one it never had.
    """

    counts: Counts
    table: Floats
    chain: Chain
    imputed: float
    span: float
    novelty: Floats


@dataclass(frozen=True, eq=False)
class Outside:
    """A candidate's chain with what lies outside of the log at its least, middle and most.

    A share 1 - d_old / d_candidate of a pair's visits d, where positive, is the candidate's own.
    If the pair was never taken, this share ends the chain and is worth what the state's average row
    is worth, less or more the span. If it was taken, the chance ν of an outcome that the pair never
    had is worth the least or the most that an outcome of any pair is worth.

    Attributes:
        low: With all of it at its least.
        middle: Pairs never taken at their state's average row, nothing new at the others.
        high: With all of it at its most.
        visits: (S, A) discounted visits of the candidate.
        unseen_mass: Share of the candidate's visits on pairs never taken.
        unseen_mass_old: The same of the old policy.
        unseen_excess: Share of the candidate's visits that are its own and on such pairs.
    """

    low: Chain
    middle: Chain
    high: Chain
    visits: Floats
    unseen_mass: float
    unseen_mass_old: float
    unseen_excess: float

    @classmethod
    def of(cls, old: Observed, table: Floats, discount: float) -> Outside:
        """See what a candidate's table (S, A) does outside of the log."""
        counts = old.counts
        absent = counts.visits == 0
        empty = counts.visits.sum(axis=1) == 0
        nominal = Chain(counts, counts.impute(table), empty * old.imputed, discount)
        visits = nominal.occupancy()[:, None] * table
        old_visits = old.chain.occupancy()[:, None] * old.table
        excess = np.clip(1.0 - old_visits / np.where(visits > 0, visits, np.inf), 0.0, 1.0)
        excess = np.where(visits > 0, excess, 0.0)
        away = np.where(absent, table * excess, 0.0)
        values = nominal.values()
        still = empty * (table - away).sum(axis=1) * old.imputed
        middle = still + away.sum(axis=1) * _average_row(old, values, discount)
        worst, best = _bound_outcomes(counts, values, discount)
        covered = counts.impute(table - away)
        new = np.where(absent, 0.0, table * excess * old.novelty)

        def bound(sign: float, outcomes: Floats) -> Chain:
            outside = sign * away.sum(axis=1) * old.span + (new * outcomes).sum(axis=1)
            return Chain(counts, covered - new, middle + outside, discount)

        total = max(float(visits.sum()), 1e-300)
        return cls(
            low=bound(-1.0, worst),
            middle=Chain(counts, covered, middle, discount),
            high=bound(1.0, best),
            visits=visits,
            unseen_mass=float(visits[absent].sum()) / total,
            unseen_mass_old=float(old_visits[absent].sum() / old_visits.sum()),
            unseen_excess=float((visits * excess)[absent].sum()) / total,
        )


def bound_values(log: Log, values: Floats, discount: float) -> tuple[float, float]:
    """The least and the most that a pair never taken may be worth, by the log's own rewards.

    They span (1) all returns-to-go of the log, truncated ones continued by the old policy's value,
    (2) an episode that ends at once, with the least or the largest reward, and (3) the mean reward
    of steps that do not end the episode, for ever. The last two matter where nothing ever failed: a
    policy that always survives may fall (2), one that always arrives may never arrive (3).

    Args:
        log: N rows.
        values: (N,) the old policy's value of the state after each row.
        discount: γ.
    """
    ends = log.offsets[1:] - 1
    ahead = np.where(log.terminated[ends], 0.0, values[ends])
    lengths = log.episode_lengths
    left = np.repeat(log.offsets[1:], lengths) - np.arange(len(log))
    returns = log.returns_to_go(discount) + discount**left * np.repeat(ahead, lengths)
    rewards = log.rewards.astype(np.float64)
    lasting = rewards[~log.terminated]
    forever = float(lasting.mean()) / (1.0 - discount) if len(lasting) else 0.0
    least = min(float(returns.min()), float(rewards.min()), forever)
    most = max(float(returns.max()), float(rewards.max()), forever)
    return least, most


def measure_novelty(counts: Counts) -> Floats:
    """(S, A) chance that the next outcome (s', terminated) of a pair is one it never had.

    The log measures it: of all rows whose pair had been taken k times before, the share whose
    outcome was new to the pair, pooled for k in [1, 2), [2, 4), [4, 8), … with one further row that
    was new, and never rising with k. One for pairs never taken.
    """
    order = np.argsort(counts.pairs, kind="stable")
    pairs = counts.pairs[order]
    begin = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]])
    earlier = np.arange(len(pairs)) - np.repeat(begin, np.diff(np.r_[begin, len(pairs)]))
    new = np.zeros(len(pairs), dtype=bool)
    new[np.unique(counts.cells[order], return_index=True)[1]] = True
    rank = np.floor(np.log2(np.maximum(earlier, 1))).astype(np.int64)
    deepest = int(np.log2(counts.visits.max())) + 1
    again = earlier > 0
    rows = np.bincount(rank[again], minlength=deepest)
    news = np.bincount(rank[again & new], minlength=deepest)
    shares = np.minimum.accumulate((news + 1.0) / (rows + 1.0))
    place = np.log2(np.maximum(counts.visits, 1)).astype(np.int64)
    return np.where(counts.visits > 0, shares[np.minimum(place, len(shares) - 1)], 1.0)


def chance_of_new_states(counts: Counts) -> float:
    """Chance that a step leads to a state that the log does not have.

    Good and Turing: the share of rows that lead to a state nothing else led to, with one further
    row that does.
    """
    arrivals = np.bincount(counts.following, minlength=counts.n_states)
    return float((np.sum(arrivals == 1) + 1) / (len(counts.following) + 1))


def _average_row(old: Observed, values: Floats, discount: float) -> Floats:
    """(S,) mean of r + γ V(s') over the rows of each state; without rows, what is imputed."""
    counts = old.counts
    target = counts.rewards + discount * counts.alive * values[counts.following]
    total = np.bincount(counts.pairs // counts.n_actions, target, counts.n_states)
    rows = counts.visits.sum(axis=1)
    return np.where(rows > 0, total / np.maximum(rows, 1.0), old.imputed)


def _bound_outcomes(counts: Counts, values: Floats, discount: float) -> tuple[Floats, Floats]:
    """(S, A) the least and the most that an outcome new to each pair may be worth.

    It is an outcome r + γ V(s') that some pair of the log had, and not better (not worse) than the
    pair's own mean. Rewards are means of pairs with one further row of the log's mean: their noise
    is nothing new.
    """
    n = counts.visits.reshape(-1)
    ahead = discount * counts.alive * values[counts.following]
    sums = np.bincount(counts.pairs, counts.rewards, n.size)
    paid = (sums + counts.rewards.mean()) / (n + 1.0)
    outcomes = paid[counts.pairs] + ahead
    own = np.bincount(counts.pairs, counts.rewards + ahead, n.size) / np.maximum(n, 1.0)
    own = own.reshape(counts.visits.shape)
    return np.minimum(outcomes.min(), own), np.maximum(outcomes.max(), own)
