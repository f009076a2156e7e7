"""Exploration that the given old policy cannot have done: ε-greedy, found in the log.

If actions are drawn from (1 - ε) π(a|s) + ε u(a), u uniform, their likelihood is a concave
function of ε. Its maximum estimates ε, and the ε whose log-likelihood is less than 1.92 below it
are the 95 % interval. That the actions which π would not choose really are uniform, and spread
over the whole log, is looked at: else it is not exploration but another policy. An ε that is given
is compared with the log in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from nacre.diagnostics.log_answers import ask_along
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.distributions import Deterministic
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.exploring import add_exploration
from nacre.policies.policy import Policy

Floats = NDArray[np.float64]

IMPOSSIBLE = np.log(1e-6)
"""Log of π(a|s) / u(a) below which the policy itself cannot have acted so."""
TOLERANCE = 1e-3
"""A deterministic action vector may differ from the log's by this share of the range."""
LEVEL = 1e-4
"""Of the tests that exploration is uniform and even, and that a given ε is the log's."""
LARGEST_DEPARTURE = 0.1
"""Of the shares of exploring actions from uniform ones; less does not matter."""
MOST_EPSILON = 0.9
LEAST_ACTIONS = 10
"""Exploring actions, below which their distribution says nothing."""


@dataclass(frozen=True)
class Exploration:
    """How often the log explores on top of the given old policy.

    Args:
        epsilon: ε, the share of uniform actions; 0 where there is no sign of any.
        low: Lower end of its 95 % interval by the log, also where ε was given.
        high: Upper end.
        impossible: Rows whose action the policy itself cannot have chosen.
        rows: Rows looked at.
        found: Whether there is exploration, and it is uniform and spread over the log.
        given: Whether ε was given and not estimated.
        reason: Why impossible actions are not taken for exploration; else empty.
        contradicted: Whether ε was given, and the log can hardly have been made with it.
    """

    epsilon: float
    low: float
    high: float
    impossible: int
    rows: int
    found: bool
    given: bool = False
    reason: str = ""
    contradicted: bool = False

    def include(self, policy: Policy) -> Policy:
        """The old policy with the exploration that the log shows."""
        return add_exploration(policy, self.epsilon) if self.found else policy

    def describe(self) -> str:
        """One sentence for people."""
        if self.contradicted:
            return (
                f"exploration of {self.epsilon:.3g} was given, the log explores with ε in "
                f"[{self.low:.3g}, {self.high:.3g}]"
            )
        if self.given:
            return f"exploration of {self.epsilon:.3g} was given and is part of the old policy"
        if self.found:
            return (
                f"{self.impossible} of {self.rows} actions cannot be the old policy's: it explores "
                f"with ε = {self.epsilon:.3g} [{self.low:.3g}, {self.high:.3g}]"
            )
        if self.impossible:
            return (
                f"{self.impossible} of {self.rows} actions cannot be the old policy's, and they "
                f"do not look like exploration: {self.reason}"
            )
        return "no exploration on top of the old policy"

    def as_json(self) -> dict[str, Any]:
        """Numbers for the record."""
        return {
            "epsilon": self.epsilon,
            "interval": [self.low, self.high],
            "impossible": self.impossible,
            "rows": self.rows,
            "found": self.found,
            "given": self.given,
            "reason": self.reason,
            "contradicted": self.contradicted,
        }


@dataclass(frozen=True)
class _Asked:
    """What the policy says about a log's actions.

    `ratios` (N,) are log π(a|s) / u(a). Of the impossible actions `places` are vectors in [0, 1],
    or, for discrete actions, `seen` (n,) counts them and `expected` (n,) says how often each would
    be among them if they were uniform.
    """

    ratios: Floats
    places: Floats
    seen: Floats
    expected: Floats


def find_exploration(log: Log, policy: Policy, epsilon: float | None = None) -> Exploration:
    """Estimate ε of uniform exploration on top of the old policy, or take the given one.

    Args:
        log: The log.
        policy: The given old policy, without exploration.
        epsilon: ε where it is known.
    """
    n_rows = len(log)
    if epsilon is not None and not 0.0 <= epsilon <= 1.0:
        raise InputError(f"epsilon {epsilon}: no probability; give a number from 0 to 1")
    asked = _ask_log(log, policy)
    if epsilon is not None:
        return _compare_given(log, asked, epsilon)
    if asked is None:
        return Exploration(0.0, 0.0, 0.0, 0, n_rows, False, reason="actions have no bounds")
    impossible = asked.ratios < IMPOSSIBLE
    count = int(impossible.sum())
    if count == 0:
        return Exploration(0.0, 0.0, 0.0, 0, n_rows, False)
    best, low, high = estimate_epsilon(asked.ratios)
    reason = ""
    if best > MOST_EPSILON:
        reason = "hardly any action is the old policy's own"
    reason = reason or _find_uneven(log, impossible) or _find_not_uniform(asked)
    found = reason == ""
    return Exploration(best, low, high, count, n_rows, found, reason=reason)


def _compare_given(log: Log, asked: _Asked | None, epsilon: float) -> Exploration:
    """The given ε, and whether the log can have been made with it.

    Impossible actions that are not exploration, or a few that ε does not allow for, are foreign:
    that is another question.
    """
    n_rows, found = len(log), epsilon > 0
    if asked is None:
        return Exploration(epsilon, epsilon, epsilon, 0, n_rows, found, given=True)
    impossible = asked.ratios < IMPOSSIBLE
    best, low, high = estimate_epsilon(asked.ratios)
    _, least, most = estimate_epsilon(asked.ratios, LEVEL)
    few = epsilon < best and int(impossible.sum()) < LEAST_ACTIONS
    explores = not (_find_uneven(log, impossible) or _find_not_uniform(asked))
    contradicted = explores and not few and not least - 1e-9 <= epsilon <= most + 1e-9
    count = int(impossible.sum())
    return Exploration(
        epsilon, low, high, count, n_rows, found, given=True, contradicted=contradicted
    )


def estimate_epsilon(ratios: Floats, level: float = 0.05) -> tuple[float, float, float]:
    """ε with the largest likelihood Π (1 - ε) ρ + ε, and its interval.

    Args:
        ratios: (N,) log ρ, ρ = π(a|s) / u(a).
        level: Probability that the interval misses ε.
    """
    density = np.exp(np.clip(ratios, -60.0, 60.0))

    def slope(epsilon: float) -> float:
        return float(np.sum((1.0 - density) / ((1.0 - epsilon) * density + epsilon)))

    def height(epsilon: float) -> float:
        return float(np.sum(np.log((1.0 - epsilon) * density + epsilon)))

    least, most = 1e-12, 1.0 - 1e-12
    best = least
    if slope(least) > 0:
        best = most if slope(most) >= 0 else optimize.brentq(slope, least, most, xtol=1e-9)
    target = height(best) - stats.chi2.isf(level, 1) / 2.0

    def end(edge: float) -> float:
        if height(edge) >= target:
            return edge
        return float(optimize.brentq(lambda e: height(e) - target, edge, best, xtol=1e-9))

    return float(best), end(least), end(most)


def _ask_log(log: Log, policy: Policy) -> _Asked | None:
    """The whole log, block by block; None where there is no uniform action."""
    low, high = np.zeros(1), np.ones(1)
    if not policy.signature.discrete_actions:
        low, high = (np.asarray(limit, np.float64) for limit in policy.signature.action_limits)
        if not np.all(np.isfinite([low, high])) or np.any(low >= high):
            return None
    parts = []
    for rows, said, actions in ask_along(log, policy):
        if isinstance(said, DiscreteDistribution):
            probabilities = np.asarray(said.probabilities, np.float64)[: len(rows)]
            parts.append(_compare_choices(probabilities, actions[: len(rows)]))
        else:
            ratios = _compare_vectors(said, actions, high - low)[: len(rows)]
            places = ((actions - low) / (high - low))[: len(rows)][ratios < IMPOSSIBLE]
            parts.append(_Asked(ratios, places, np.zeros(1), np.zeros(1)))
    return _Asked(
        np.concatenate([part.ratios for part in parts]),
        np.concatenate([part.places for part in parts]),
        np.sum([part.seen for part in parts], axis=0),
        np.sum([part.expected for part in parts], axis=0),
    )


def _compare_choices(probabilities: Floats, actions: NDArray[Any]) -> _Asked:
    """Of discrete actions; `probabilities` are (N, n)."""
    n_actions = probabilities.shape[1]
    with np.errstate(divide="ignore"):
        logs = np.log(np.nan_to_num(probabilities)) + np.log(n_actions)
    ratios = np.maximum(np.take_along_axis(logs, actions[:, None], axis=1)[:, 0], -60.0)
    explored = ratios < IMPOSSIBLE
    options = (logs[explored] < IMPOSSIBLE).astype(np.float64)
    return _Asked(
        ratios,
        np.zeros((0, 1)),
        np.bincount(actions[explored], minlength=n_actions).astype(np.float64),
        (options / np.maximum(options.sum(axis=1, keepdims=True), 1.0)).sum(axis=0),
    )


def _compare_vectors(said: Any, actions: NDArray[Any], reach: Floats) -> Floats:
    """Log π(a|s) / u(a) of action vectors."""
    if isinstance(said, Deterministic):
        near = np.all(np.abs(actions - np.asarray(said.mode())) <= TOLERANCE * reach, axis=-1)
        # All of the policy's mass lies in a small box, and a little of the uniform draw's.
        return np.where(near, -len(reach) * np.log(2.0 * TOLERANCE), -60.0)
    try:
        logs = np.asarray(said.log_prob(jnp.asarray(actions)), np.float64)
    except TypeError:
        # A mixture with points: it explores already.
        return np.zeros(len(actions))
    ratios = logs + np.log(reach).sum()
    return np.asarray(np.nan_to_num(np.clip(ratios, -60.0, 60.0), nan=-60.0))


def _find_uneven(log: Log, impossible: NDArray[np.bool_]) -> str:
    """Whether some episodes hold far more impossible actions than others, or nothing."""
    lengths = log.episode_lengths.astype(np.float64)
    counts = np.add.reduceat(impossible.astype(np.float64), log.offsets[:-1])
    share = counts.sum() / lengths.sum()
    expected = lengths * share
    if log.n_episodes < 2 or share >= 1.0:
        return ""
    # Episodes are joined in the order of the log, so that every sum is large enough for χ².
    parts = np.minimum((np.cumsum(expected) / 5.0).astype(int), int(expected.sum() / 5.0))
    joined, mean = np.bincount(parts, counts), np.bincount(parts, expected)
    used = mean > 0
    spread = (joined[used] - mean[used]) ** 2 / (mean[used] * (1.0 - share))
    p_value = stats.chi2.sf(spread.sum(), max(int(used.sum()) - 1, 1))
    clean = float(lengths[counts == 0].sum() / lengths.sum())
    own = float(np.mean((1.0 - share) ** lengths))
    if p_value < LEVEL and (clean > 2.0 * own + 0.05 or spread.mean() > 3.0):
        episodes = int((counts > 0).sum())
        return f"they lie in {episodes} of {log.n_episodes} episodes more than in the others"
    return ""


def _find_not_uniform(asked: _Asked) -> str:
    """Whether impossible actions are far from uniform, or nothing."""
    for coordinate in asked.places.T:
        if len(coordinate) < LEAST_ACTIONS:
            continue
        test = stats.kstest(coordinate, "uniform")
        if test.pvalue < LEVEL and test.statistic > LARGEST_DEPARTURE:
            return "their values are not uniform"
    total = asked.expected.sum()
    if total >= LEAST_ACTIONS:
        options = asked.expected > 0
        gap = (asked.seen - asked.expected)[options]
        p_value = stats.chi2.sf((gap**2 / asked.expected[options]).sum(), options.sum() - 1)
        most = int(np.abs(asked.seen - asked.expected).argmax())
        if p_value < LEVEL and np.abs(gap).max() / total > LARGEST_DEPARTURE:
            return (
                f"action {most} is {asked.seen[most] / total:.0%} of them, uniform ones would "
                f"make it {asked.expected[most] / total:.0%}"
            )
    return ""
