"""The gain by exact solves of a discrete log's counts, and of counts of resampled episodes."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.base import Estimate, Problem, Report, abstain
from nacre.estimators.tabular_world import Chain, Counts, Floats
from nacre.log import Log
from nacre.policies.policy import Policy

LEAST_EPISODES = 3
"""Fewer episodes have no spread to speak of."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all candidates share.

    Attributes:
        counts: The log, counted.
        old_table: (S, A) the old policy.
        old_chain: The old policy's values by the counts.
        imputed: What a state without rows is worth to the old policy.
        weights: (E, B) weights of the episodes in each replicate.
        replicates: (B,) the old policy's start value in each.
        span: How much less, or more, a pair never taken may be worth than its state's average row.
        novelty: (S, A) chance that the next outcome of a pair is one it never had.
    """

    counts: Counts
    old_table: Floats
    old_chain: Chain
    imputed: float
    weights: Floats
    replicates: Floats
    span: float
    novelty: Floats


@dataclass(frozen=True)
class Tabular:
    """Exact values of the empirical Markov decision process, for discrete states and actions.

    The gain is V(candidate) - V(old) in the world that the counts of (s, a, s', terminated) and the
    mean rewards describe. Its standard error comes from replicates that weight whole episodes anew
    (Bayesian bootstrap: no pair is ever lost), the same weights for both policies. What the log has
    not seen is not estimated but bounded: with ν(s, a) the chance that the next outcome of a pair
    is one it never had, one for pairs never taken, and d the discounted visits of a policy, a share

        ν(s, a) · max(0, 1 - d_old(s, a) / d_candidate(s, a))

    of the candidate's pair is worth the least that the log allows in the lower and the most in the
    upper bound. Half the distance of the two is the overlap penalty, their middle the gain.

    Args:
        replicates: Resampled logs, at least 100.
    """

    replicates: int = 200

    def __post_init__(self) -> None:
        if self.replicates < 100:
            raise InputError(
                f"replicates: {self.replicates} is too few for a standard error, give at least 100"
            )

    @property
    def name(self) -> str:
        """What it is called in records and on the page."""
        return "tabular"

    def applies(self, problem: Problem) -> str:
        """Why it has nothing to say about such a log at all, or nothing."""
        spaces = (problem.log.observation_space, problem.log.action_space)
        if not all(isinstance(space, Discrete) for space in spaces):
            return "states or actions are not discrete"
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Prepared:
        """Counts, the old policy's replicates, and what lies outside of the log may be worth."""
        log, discount = problem.log, problem.discount
        actions = problem.old_policy.signature.action_size
        counts = Counts.of(log, problem.start, actions)
        table = counts.ask(problem.old_policy)
        chain, imputed = _solve_old(counts, table, discount)
        report(0.3)
        seed = np.asarray(jax.random.key_data(key)).reshape(-1)
        weights = np.random.default_rng(seed).exponential(size=(log.n_episodes, self.replicates))
        values = chain.values()
        least, most = bound_values(log, values[counts.following], discount)
        replicates = chain.replicate(weights)
        report(1.0)
        return Prepared(
            counts,
            table,
            chain,
            imputed,
            weights,
            replicates,
            most - least,
            measure_novelty(counts),
        )

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Prepared,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """The gain of one candidate; the key is not used, replicates are shared by all."""
        counts = prepared.counts
        table = counts.ask(candidate)
        view = _Outside.of(prepared, table, problem.discount)
        diagnostics = {
            "unseen_mass": view.unseen_mass,
            "unseen_mass_old": view.unseen_mass_old,
            "unseen_excess": view.unseen_excess,
            "least_count": _least_count(counts, view.visits),
            "replicates": float(self.replicates),
            "span": prepared.span,
        }
        episodes = problem.log.n_episodes
        if episodes < LEAST_EPISODES:
            reason = f"{episodes} episodes have no spread: at least {LEAST_EPISODES} are needed"
            return abstain(self.name, "data", reason, diagnostics)
        if prepared.span <= 0 and view.unseen_excess > 0:
            reason = "no reward in the log differs from zero: what lies outside may pay anything"
            return abstain(self.name, "data", reason, diagnostics)
        old = float(counts.start @ prepared.old_chain.values())
        low, high = (float(counts.start @ chain.values()) - old for chain in (view.low, view.high))
        spread = view.middle.replicate(prepared.weights) - prepared.replicates
        report(0.9)
        extra, degrees = _small_counts(prepared, view.middle)
        floor = _floor(prepared)
        error = float(np.sqrt(np.var(spread, ddof=1) + extra + floor**2))
        diagnostics |= {"small_count_error": float(np.sqrt(extra)), "floor": floor}
        return Estimate(
            self.name,
            gain=(low + high) / 2,
            standard_error=error,
            basis="data",
            overlap_penalty=max(0.0, (high - low) / 2),
            reason=f"{view.unseen_excess:.1%} of the candidate's steps are pairs never taken",
            degrees=degrees,
            diagnostics=diagnostics,
        )


@dataclass(frozen=True, eq=False)
class _Outside:
    """A candidate's chain with what lies outside of the log at its least, middle and most."""

    low: Chain
    middle: Chain
    high: Chain
    visits: Floats
    unseen_mass: float
    unseen_mass_old: float
    unseen_excess: float

    @classmethod
    def of(cls, prepared: Prepared, table: Floats, discount: float) -> _Outside:
        counts = prepared.counts
        absent = counts.visits == 0
        empty = counts.visits.sum(axis=1) == 0
        nominal = Chain(counts, counts.impute(table), empty * prepared.imputed, discount)
        visits = nominal.occupancy()[:, None] * table
        old_visits = prepared.old_chain.occupancy()[:, None] * prepared.old_table
        excess = np.clip(1.0 - old_visits / np.where(visits > 0, visits, np.inf), 0.0, 1.0)
        excess = np.where(visits > 0, excess, 0.0)
        away = np.where(absent, table * excess, 0.0)
        values = nominal.values()
        still = empty * (table - away).sum(axis=1) * prepared.imputed
        middle = still + away.sum(axis=1) * _average_row(prepared, values, discount)
        worst, best = _bound_outcomes(counts, values[~empty], discount)
        known = counts.impute(table - away)
        new = np.where(absent, 0.0, table * excess * prepared.novelty)

        def bound(sign: float, outcome: float) -> Chain:
            outside = sign * away.sum(axis=1) * prepared.span + new.sum(axis=1) * outcome
            return Chain(counts, known - new, middle + outside, discount)

        total = max(float(visits.sum()), 1e-300)
        return cls(
            low=bound(-1.0, worst),
            middle=Chain(counts, known, middle, discount),
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


def _solve_old(counts: Counts, table: Floats, discount: float) -> tuple[Chain, float]:
    """The old policy's chain; states without rows are worth the mean value of the log's rows."""
    empty = (counts.visits.sum(axis=1) == 0).astype(np.float64)
    weights = counts.impute(table)
    rows = counts.visits.sum(axis=1) / counts.visits.sum()
    without = float(rows @ Chain(counts, weights, 0.0 * empty, discount).values())
    if not empty.any():
        return Chain(counts, weights, empty, discount), without
    # The mean is linear in what such a state is worth, so it is known after two solves.
    slope = float(rows @ Chain(counts, weights, empty, discount).values()) - without
    imputed = without / (1.0 - slope)
    return Chain(counts, weights, empty * imputed, discount), imputed


def _average_row(prepared: Prepared, values: Floats, discount: float) -> Floats:
    """(S,) mean of r + γ V(s') over the rows of each state; without rows, what is imputed."""
    counts = prepared.counts
    target = counts.rewards + discount * counts.alive * values[counts.following]
    total = np.bincount(counts.pairs // counts.n_actions, target, counts.n_states)
    rows = counts.visits.sum(axis=1)
    return np.where(rows > 0, total / np.maximum(rows, 1.0), prepared.imputed)


def _bound_outcomes(counts: Counts, values: Floats, discount: float) -> tuple[float, float]:
    """The least and the most of r + γ V(s') over all rewards and states of the log, or its end."""
    ends = np.zeros(int((counts.alive == 0).any()))
    ahead = np.concatenate([values, ends])
    worst = float(counts.rewards.min() + discount * ahead.min())
    best = float(counts.rewards.max() + discount * ahead.max())
    return worst, best


def _small_counts(prepared: Prepared, chain: Chain) -> tuple[float, float]:
    """Variance that replicates of few rows a pair do not show, and degrees of freedom.

    A pair taken n times is given the variance of its targets r + γ V(s') with one observation's
    weight on that of all pairs; replicates show n/(n+1) of the pair's own. Degrees of freedom are
    those of a variance of E episodes' influences with their kurtosis κ, 2 E / (κ - 1).
    """
    counts, discount = prepared.counts, chain.discount
    size = counts.visits.size
    effects: Floats = np.zeros(len(counts.pairs))
    mass: Floats = np.zeros(size)
    n = np.maximum(counts.visits.reshape(-1), 1.0)
    squares: Floats = np.zeros(size)
    for sign, each in ((1.0, chain), (-1.0, prepared.old_chain)):
        target = counts.rewards + discount * counts.alive * each.values()[counts.following]
        mean = np.bincount(counts.pairs, target, size) / n
        residual = target - mean[counts.pairs]
        visited = (each.occupancy()[:, None] * each.weights).reshape(-1)
        effects += sign * (visited / n)[counts.pairs] * residual
        mass += sign * visited
        if sign > 0:
            squares = np.asarray(np.bincount(counts.pairs, residual**2, size), np.float64)
    taken = counts.visits.reshape(-1) > 0
    freedom = np.where(taken, n - 1.0, 0.0)
    pooled = squares.sum() / max(freedom.sum(), 1.0)
    shrunk = (squares + pooled) / (freedom + 1.0)
    missing = np.maximum(shrunk / n - squares / n / (n + 1.0), 0.0)
    extra = float((mass[taken] ** 2 * missing[taken]).sum())
    by_episode = np.bincount(counts.episodes, effects)
    second, fourth = float((by_episode**2).mean()), float((by_episode**4).mean())
    if second <= 0:
        return extra, float("inf")
    kurtosis = max(fourth / second**2, 1.5)
    return extra, max(1.0, 2.0 * len(by_episode) / (kurtosis - 1.0) - 1.0)


def _floor(prepared: Prepared) -> float:
    """Half of the span, with the weight of one further step at each of an episode's: never zero."""
    length = float(prepared.old_chain.occupancy().sum())
    rows = len(prepared.counts.rewards)
    return max(prepared.span / 2 * length / (rows + length), 1e-12)


def _least_count(counts: Counts, visits: Floats) -> float:
    """Fewest rows among the pairs on which the candidate spends a hundredth of its steps."""
    used: NDArray[np.bool_] = visits >= 0.01 * visits.sum()
    return float(counts.visits[used].min()) if used.any() else 0.0
