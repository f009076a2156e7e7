"""Fitted Q-evaluation by critics that are linear in many features: solved, not trained.

What a log says in a set of features is summed up for groups of episodes, so that leaving out each
group once (the jackknife) costs a few small solves. See `nacre.training.linear_critics`.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.diagnostics.overlap import bound_returns, continue_returns
from nacre.errors import InputError
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain, find_exact_kind
from nacre.logs.acting import find_acting
from nacre.policies.policy import Policy
from nacre.training.linear_critics import Sums, add_up, add_up_ahead, list_blocks, solve
from nacre.training.preparation import limit_values
from nacre.training.returns import bootstrapped_returns_to_go
from nacre.training.state_action_features import StateActionFeatures, draw_actions

Numbers = NDArray[np.float64]
LARGEST_SPREAD = 0.1
"""Share of the range of returns-to-go that the standard error may be and still say something."""
LARGEST_LEVEL_ERROR = 0.1
"""Share of that range by which the old policy's own value may be missed."""
LEAST_SPREAD = 1e-3
"""Share of that range below which no standard error is believed."""
WORTHWHILE = 0.01
"""Share of the held-out error that twice as many features have to save."""


@dataclass(frozen=True, eq=False)
class Values:
    """A policy's value at the start in every set of features.

    Args:
        whole: (sets,) by all episodes and features.
        left_out: (sets, groups) without each group of episodes.
        coarse: (sets,) by all episodes and half of the features.
    """

    whole: Numbers
    left_out: Numbers
    coarse: Numbers

    def __sub__(self, other: Values) -> Values:
        return Values(
            self.whole - other.whole, self.left_out - other.left_out, self.coarse - other.coarse
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all candidates share: the log in every set of features, and the old policy's value."""

    groups: NDArray[np.int64]
    sums: tuple[Sums, ...]
    old: Values
    limits: tuple[float, float]
    value_range: float
    returns_mean: float


@dataclass(frozen=True)
class FittedQ:
    """V(candidate) - V(old) by critics that are linear in the same features for both.

    Args:
        sets: Independent draws of the features; what they disagree about is not known.
        groups: Groups of episodes for the jackknife.
        sizes: Numbers of features, from few to many: the first after which twice as many do not
            predict the held-out returns of the old policy better.
        ridge: λ for each row of the log, in units of the features.
    """

    sets: int = 4
    groups: int = 20
    sizes: tuple[int, ...] = (128, 256, 512)
    ridge: float = 1e-4
    name: str = "fitted_q"
    extrapolates: bool = True
    basis: Basis = "model"
    several_policies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problems = [
            f"{name} = {getattr(self, name)}: give at least {least}"
            for name, least in (("sets", 2), ("groups", 4))
            if getattr(self, name) < least
        ]
        if not self.sizes or min(self.sizes) < 8:
            problems.append(f"sizes = {self.sizes}: give at least one number from 8 on")
        if not self.ridge > 0:
            problems.append(f"ridge = {self.ridge}: must be positive")
        if problems:
            raise InputError(problems)

    def applies(self, problem: Problem) -> str:
        """To vector states and episodes of several steps: others have exact estimators."""
        reason = find_exact_kind(problem)
        if not reason and problem.log.n_episodes < 4:
            reason = f"{problem.log.n_episodes} episodes are too few to leave some out"
        return reason

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Prepared:
        """Choose the number of features, sum up the log, and solve for the old policy."""
        log, policy = problem.log, problem.old_policy
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
        groups = rng.permutation(log.n_episodes) % min(self.groups, log.n_episodes)
        own = dataclasses.replace(problem, log=problem.own)
        size = self._choose_size(own, groups[find_acting(log) == 0], rng)
        report(0.4)
        sums = tuple(
            add_up(StateActionFeatures.draw(log, policy.signature, size, rng), log, groups)
            for _ in range(self.sets)
        )
        limits = limit_values(log, problem.discount)
        old = self._solve(problem, policy, groups, sums, lambda share: None)
        report(1.0)
        returns = continue_returns(log, problem.discount)
        least, most = bound_returns(returns)
        returns = continue_returns(own.log, problem.discount)
        seen = float(returns[own.log.offsets[:-1]].mean())
        return Prepared(groups, sums, old, limits, most - least, seen)

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Prepared,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """Paired differences, by set and by group left out."""
        groups, limits = prepared.groups, prepared.limits
        new = self._solve(problem, candidate, groups, prepared.sums, report)
        gains = new - prepared.old
        level_error = abs(float(np.mean(prepared.old.whole)) - prepared.returns_mean)
        gain, found, degrees = describe(gains, LEAST_SPREAD * prepared.value_range)
        values = np.concatenate([new.whole, prepared.old.whole])
        low, high = limits
        found |= {
            "beyond_limits": max(0.0, float(np.max(np.maximum(low - values, values - high)))),
            "old_value": float(np.mean(prepared.old.whole)),
            "new_value": float(np.mean(new.whole)),
            "value_range": prepared.value_range,
            "level_error": level_error,
            "features": float(prepared.sums[0].features.size),
        }
        error = found["standard_error"]
        reason = self._find_fault(found)
        if reason:
            return abstain(self.name, self.basis, reason, found)
        return Estimate(
            self.name,
            gain,
            error,
            self.basis,
            reason=f"{prepared.sums[0].features.size} features, drawn {self.sets} times",
            degrees=degrees,
            diagnostics=found,
        )

    def _find_fault(self, found: dict[str, float]) -> str:
        """Why it says nothing; nothing here looks at the gain."""
        scale = found["value_range"]
        if not found["level_error"] <= LARGEST_LEVEL_ERROR * scale:
            return "it misses the old policy's own value by more than a tenth of the range"
        if not found["standard_error"] <= LARGEST_SPREAD * scale:
            return "its standard error is more than a tenth of the range of returns"
        if not found["beyond_limits"] <= 0.0:
            return "its values are beyond what the rewards of the log allow"
        return ""

    def _solve(
        self,
        problem: Problem,
        policy: Policy,
        groups: NDArray[np.int64],
        sums: tuple[Sums, ...],
        report: Report,
    ) -> Values:
        """A policy's value at the start, in every set of features."""
        found = []
        each_ahead = add_up_ahead([one.features for one in sums], problem.log, policy, groups)
        report(0.8)
        start = np.asarray(problem.start)
        drawn = draw_actions(policy, start)
        for one, ahead in zip(sums, each_ahead, strict=True):
            starts = one.features.expect(start, drawn)
            found.append(self._solve_set(one, ahead, starts.astype(np.float64), problem))
        report(1.0)
        whole, left_out, coarse = zip(*found, strict=True)
        return Values(np.array(whole), np.array(left_out), np.array(coarse))

    def _solve_set(
        self,
        sums: Sums,
        ahead: NDArray[np.float32],
        starts: Numbers,
        problem: Problem,
    ) -> tuple[float, Numbers, float]:
        ridge = self.ridge * len(problem.log)
        # Each group's share of the equations; all of them, less one at a time.
        each = sums.products - np.float32(problem.discount) * ahead
        matrix = each.sum(axis=0, dtype=np.float64)
        rewards = sums.rewards.sum(axis=0)

        def value(matrix: Numbers, rewards: Numbers, size: int) -> float:
            weights = solve(matrix[:size, :size], rewards[:size], ridge)
            return float(np.mean(starts[:, :size] @ weights))

        size = len(rewards)
        half = max(1, sums.features.n_actions) * (size // max(1, sums.features.n_actions) // 2)
        left_out = [
            value(matrix - each[group], rewards - sums.rewards[group], size)
            for group in range(len(each))
        ]
        return value(matrix, rewards, size), np.array(left_out), value(matrix, rewards, half)

    def _choose_size(
        self, problem: Problem, groups: NDArray[np.int64], rng: np.random.Generator
    ) -> int:
        """The first size after which more features do not predict held-out returns better.

        There are always ten rows for each feature.
        """
        most = max(self.sizes[0], len(problem.log) // 10)
        sizes = [size for size in self.sizes if size <= most]
        known = math.inf
        for place, size in enumerate(sizes):
            if len(sizes) == 1:
                break
            features = StateActionFeatures.draw(
                problem.log, problem.old_policy.signature, size, rng
            )
            error = self._find_held_out_error(problem, features, groups % 2)
            if error > (1.0 - WORTHWHILE) * known:
                return sizes[place - 1]
            known = error
        return sizes[-1]

    def _find_held_out_error(
        self, problem: Problem, features: StateActionFeatures, halves: NDArray[np.int64]
    ) -> float:
        """Mean squared error of the old policy's critic, of one half, for the other's returns."""
        log = problem.log
        sums = add_up(features, log, halves)
        (ahead,) = add_up_ahead([features], log, problem.old_policy, halves)
        returns = bootstrapped_returns_to_go(log, problem.discount)
        squares = []
        for half in (0, 1):
            matrix = sums.products[half] - problem.discount * ahead[half].astype(np.float64)
            weights = solve(matrix, sums.rewards[half], self.ridge * sums.rows[half])
            for other, some in list_blocks(log, halves):
                if other != half:
                    seen = features.at(log.observations[some], log.actions[some])
                    squares.append((returns[some] - seen @ weights) ** 2)
        return float(np.mean(np.concatenate(squares)))


def describe(gains: Values, floor: float) -> tuple[float, dict[str, float], float]:
    """The gain, its standard error with the parts of it, and degrees of freedom.

    Three things are not known: which episodes the log happens to hold (the jackknife's variance
    (g - 1)/g Σ (v_i - v̄)²), what the features happen to be (the variance between the sets), and
    what still finer features would say (the difference to half of them). By how much the old
    policy's own value is missed says next to nothing about a difference of two values.
    """
    sets, groups = gains.left_out.shape
    centred = gains.left_out - gains.left_out.mean(axis=1, keepdims=True)
    chance = float(np.median((groups - 1) / groups * (centred**2).sum(axis=1)))
    between = float(np.var(gains.whole, ddof=1) * (1.0 + 1.0 / sets))
    gain = float(np.median(gains.whole))
    coarse = (float(np.median(gains.coarse)) - gain) ** 2
    variance = chance + between + coarse + floor**2
    parts = (chance, groups - 1), (between + coarse, sets - 1)
    degrees = variance**2 / max(sum(part**2 / count for part, count in parts), 1e-300)
    found = {
        "standard_error": math.sqrt(variance) if math.isfinite(variance) else math.inf,
        "error_of_episodes": math.sqrt(chance),
        "error_of_features": math.sqrt(between),
        "error_of_resolution": math.sqrt(coarse),
    }
    return gain, found, degrees
