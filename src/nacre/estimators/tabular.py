"""The gain by exact solves of a discrete log's counts, and of counts of resampled episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain
from nacre.estimators.tabular_outside import (
    Observed,
    Outside,
    bound_values,
    chance_of_new_states,
    measure_novelty,
)
from nacre.estimators.tabular_world import Chain, Counts, Floats, Integers, ask_table
from nacre.policies.policy import Policy

LEAST_EPISODES = 3
"""Fewer episodes have no spread to speak of."""
LEAST_FLOOR = 1e-12
"""Of a standard error where no reward differs from zero."""
ABSENT_STATES = 512
"""States without a row at which two policies are compared."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all candidates share.

    Attributes:
        observed: The log and the old policy in it.
        weights: (E, B) weights of the episodes in each replicate.
        replicates: (B,) the old policy's start value in each.
        absent: States of the space that the log does not have, or some of them.
        absent_table: What the old policy does there.
    """

    observed: Observed
    weights: Floats
    replicates: Floats
    absent: Integers
    absent_table: Floats


@dataclass(frozen=True)
class Tabular:
    """Exact values of the empirical Markov decision process, for discrete states and actions.

    The gain is V(candidate) - V(old) in the world that the counts of (s, a, s', terminated) and the
    mean rewards describe. Its standard error comes from replicates that weight whole episodes anew
    (Bayesian bootstrap: no pair is ever lost), the same weights for both policies. What the log has
    not seen is not estimated but bounded (see `Outside`): pairs never taken, outcomes that a pair
    never had, and states that the log does not have, each only where the candidate goes there more
    often than the old policy, or acts otherwise there. Half the distance of the two bounds is the
    overlap penalty, their middle the gain. The old policy's probabilities are never divided by.

    Args:
        replicates: Resampled logs, at least 100.
    """

    replicates: int = 200
    name: str = "tabular"
    extrapolates: bool = False  # it bounds what lies outside of the log itself
    basis: Basis = "data"
    several_policies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.replicates < 100:
            raise InputError(
                f"replicates: {self.replicates} is too few for a standard error, give at least 100"
            )

    def applies(self, problem: Problem) -> str:
        """Why it has nothing to say about such a log at all, or nothing."""
        spaces = (problem.log.observation_space, problem.log.action_space)
        if not all(isinstance(space, Discrete) for space in spaces):
            return "states or actions are not discrete"
        if not problem.discount < 1:
            return f"a discount of {problem.discount:g} does not bound what lies outside of the log"
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Prepared:
        """Counts, the old policy's replicates, and what lies outside of the log may be worth."""
        log, policy, discount = problem.log, problem.old_policy, problem.discount
        counts = Counts.of(log, problem.start, policy.signature.action_size)
        table = ask_table(policy, counts.states)
        chain, imputed = _solve_old(counts, table, discount)
        least, most = bound_values(log, chain.values()[counts.following], discount)
        observed = Observed(counts, table, chain, imputed, most - least, measure_novelty(counts))
        report(0.3)
        seed = np.asarray(jax.random.key_data(key)).reshape(-1)
        weights = np.random.default_rng(seed).exponential(size=(log.n_episodes, self.replicates))
        replicates = chain.replicate(weights)
        absent = np.setdiff1d(np.arange(policy.signature.observation_size), counts.states)
        absent = absent[:: max(1, -(-len(absent) // ABSENT_STATES))]
        report(1.0)
        return Prepared(observed, weights, replicates, absent, ask_table(policy, absent))

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Prepared,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """The gain of one candidate; the key is not used, replicates are shared by all."""
        observed = prepared.observed
        counts = observed.counts
        view = Outside.of(observed, ask_table(candidate, counts.states), problem.discount)
        apart = np.abs(ask_table(candidate, prepared.absent) - prepared.absent_table).sum(axis=1)
        # At a state that the log does not have the two can only differ where they act otherwise.
        leaving = chance_of_new_states(counts) * view.visits.sum() if len(apart) else 0.0
        elsewhere = float(leaving * apart.mean() / 2) * observed.span if len(apart) else 0.0
        old = float(counts.start @ observed.chain.values())
        diagnostics = {
            "old_value": old,
            "unseen_mass": view.unseen_mass,
            "unseen_mass_old": view.unseen_mass_old,
            "unseen_excess": view.unseen_excess,
            "least_count": _least_count(counts, view.visits),
            "replicates": float(self.replicates),
            "span": observed.span,
            "new_states_penalty": elsewhere,
        }
        why = _find_silence(observed, view, problem.log.n_episodes)
        if why:
            return abstain(self.name, self.basis, why, diagnostics)
        low, high = (float(counts.start @ chain.values()) - old for chain in (view.low, view.high))
        spread = view.middle.replicate(prepared.weights) - prepared.replicates
        report(0.9)
        extra, degrees = _small_counts(observed, view.middle)
        floor = _floor(observed)
        diagnostics |= {"small_count_error": float(np.sqrt(extra)), "floor": floor}
        return Estimate(
            self.name,
            gain=(low + high) / 2,
            standard_error=float(np.sqrt(np.var(spread, ddof=1) + extra + floor**2)),
            basis=self.basis,
            overlap_penalty=max(0.0, (high - low) / 2) + elsewhere,
            reason=f"{view.unseen_excess:.1%} of the candidate's steps are pairs never taken",
            degrees=degrees,
            diagnostics=diagnostics,
        )

    def draw_gains(
        self, key: PRNGKeyArray, problem: Problem, prepared: Prepared, candidate: Policy
    ) -> Floats:
        """(B,) gains in the worlds of the resampled logs, outside at its middle."""
        table = ask_table(candidate, prepared.observed.counts.states)
        view = Outside.of(prepared.observed, table, problem.discount)
        return view.middle.replicate(prepared.weights) - prepared.replicates


def _find_silence(observed: Observed, view: Outside, episodes: int) -> str:
    """Why almost nothing can be said, if so; the gain is not looked at."""
    if episodes < LEAST_EPISODES:
        return f"{episodes} episodes have no spread: at least {LEAST_EPISODES} are needed"
    if observed.span <= 0 and view.unseen_excess > 0:
        return "no reward in the log differs from zero: what lies outside may pay anything"
    return ""


def _solve_old(counts: Counts, table: Floats, discount: float) -> tuple[Chain, float]:
    """The old policy's chain; states without rows are worth the mean value of the log's rows."""
    empty = (counts.visits.sum(axis=1) == 0).astype(np.float64)
    weights = counts.impute(table)
    rows = counts.visits.sum(axis=1) / counts.visits.sum()
    without = float(rows @ Chain(counts, weights, 0.0 * empty, discount).values())
    if not empty.any():
        return Chain(counts, weights, empty, discount), without
    # The mean is linear in what such a state is worth, so two solves give it.
    slope = float(rows @ Chain(counts, weights, empty, discount).values()) - without
    imputed = without / (1.0 - slope)
    return Chain(counts, weights, empty * imputed, discount), imputed


def _small_counts(observed: Observed, chain: Chain) -> tuple[float, float]:
    """Variance that replicates of few rows a pair do not show, and degrees of freedom.

    A pair taken n times is given the variance of its targets r + γ V(s') with one observation's
    weight on that of all pairs; replicates show n/(n+1) of the pair's own. Degrees of freedom are
    those of a variance of E episodes' influences with their kurtosis κ, 2 E / (κ - 1).
    """
    counts, discount = observed.counts, chain.discount
    size = counts.visits.size
    effects: Floats = np.zeros(len(counts.pairs))
    mass: Floats = np.zeros(size)
    n = np.maximum(counts.visits.reshape(-1), 1.0)
    squares: Floats = np.zeros(size)
    for sign, each in ((1.0, chain), (-1.0, observed.chain)):
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


def _floor(observed: Observed) -> float:
    """Half of the span, with the weight of one further step at each of an episode's: never zero."""
    length = float(observed.chain.occupancy().sum())
    rows = len(observed.counts.rewards)
    return observed.span / 2 * length / (rows + length) or LEAST_FLOOR


def _least_count(counts: Counts, visits: Floats) -> float:
    """Fewest rows among the pairs on which the candidate spends a hundredth of its steps."""
    used: NDArray[np.bool_] = visits >= 0.01 * visits.sum()
    return float(counts.visits[used].min()) if used.any() else 0.0
