"""The gain by a fitted model of the world: both policies rolled out in pairs.

Candidate and old policy start at the same states, in the same member of the ensemble, with the same
noise; the gain is the difference of their discounted returns. What the model gets wrong for both
cancels, which is why the difference is often right where the level is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.diagnostics.overlap import measure_value_range
from nacre.errors import InputError
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain, find_exact_kind
from nacre.estimators.dynamics import Dynamics, DynamicsConfig, fit_dynamics
from nacre.logs import Log
from nacre.policies.blackbox import BlackBox
from nacre.policies.policy import Policy

LEAST_EPISODES = 10
MOST_STEPS = 1_000
NEGLIGIBLE = 0.01
"""Rollouts end where γ^t falls below this."""
LEVEL_ROLLOUTS = 4
"""Times as many rollouts for the level: there is no pair whose noise cancels."""
SMALL_SAMPLE = 1.2
"""The median absolute deviation of five numbers is too small by about this factor."""


class Prepared(NamedTuple):
    """What all candidates share: the fitted model and how well it does on the old policy.

    `span` is the range of returns-to-go, `level_error` the mean difference between the model's
    returns of the old policy and the log's.
    """

    dynamics: Dynamics
    span: float
    level: float
    level_error: float
    fit: dict[str, float]


@dataclass(frozen=True)
class Model:
    """V(candidate) - V(old) in an ensemble of fitted models.

    Args:
        dynamics: How the ensemble is made.
        n_rollouts: Pairs of rollouts in each member.
        largest_level_error: Error of the old policy's value, as a share of the range of
            returns-to-go, up to which the model is informative.
        largest_spread: Spread of the members' gains, as such a share, up to which it is.
        floor: Least standard error, as such a share.
    """

    dynamics: DynamicsConfig = field(default_factory=DynamicsConfig)
    n_rollouts: int = 64
    largest_level_error: float = 0.05
    largest_spread: float = 0.05
    floor: float = 0.005
    name: str = "model"
    extrapolates: bool = True  # beyond the log it says what its networks happen to say
    basis: Basis = "model"
    several_policies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        problems = [
            f"{name} = {getattr(self, name)}: give a share above 0"
            for name in ("largest_level_error", "largest_spread", "floor")
            if not getattr(self, name) > 0.0
        ]
        if self.n_rollouts < 2:
            problems.append(f"n_rollouts = {self.n_rollouts}: give at least 2")
        if problems:
            raise InputError(problems)

    def applies(self, problem: Problem) -> str:
        """Why it has nothing to say about such a log at all, or nothing."""
        reason = find_exact_kind(problem)
        if reason:
            return reason
        if problem.log.n_episodes < LEAST_EPISODES:
            return (
                f"the log has {problem.log.n_episodes} episodes, a model of the world needs "
                f"{LEAST_EPISODES}"
            )
        if isinstance(problem.old_policy, BlackBox):
            return "the old policy can only be asked at known states; record it first"
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Prepared:
        """Fit the ensemble, and roll the old policy out from the log's own starts."""
        log = problem.log
        dynamics, fit = fit_dynamics(jax.random.fold_in(key, 0), self.dynamics, log)
        report(0.8)
        own = problem.own
        n_steps = min(int(own.episode_lengths.max()), MOST_STEPS)
        rewards = _roll_out(
            dynamics,
            problem.old_policy,
            self._draw_starts(jax.random.fold_in(key, 1), own.starts, LEVEL_ROLLOUTS),
            jax.random.fold_in(key, 2),
            n_steps,
        )
        expected, seen = _compare_levels(np.asarray(rewards), own, problem.discount)
        report(1.0)
        return Prepared(
            dynamics, measure_value_range(log, problem.discount), expected, expected - seen, fit
        )

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Prepared,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """The gain of one candidate, rolled out beside the old policy."""
        if isinstance(candidate, BlackBox):
            return abstain(
                self.name, self.basis, "the candidate can only be asked at known states; record it"
            )
        differences, n_steps = self._compare(key, problem, prepared, candidate)
        report(1.0)
        return self._conclude(prepared, differences, n_steps)

    def draw_gains(
        self, key: PRNGKeyArray, problem: Problem, prepared: Prepared, candidate: Policy
    ) -> Float[np.ndarray, " members"]:
        """Gains in the worlds of the members."""
        return np.asarray(self._compare(key, problem, prepared, candidate)[0].mean(axis=1))

    def _compare(
        self, key: PRNGKeyArray, problem: Problem, prepared: Prepared, candidate: Policy
    ) -> tuple[Float[np.ndarray, "members rows"], int]:
        """What the candidate's rollouts return more than the old policy's, and their length."""
        starts = self._draw_starts(jax.random.fold_in(key, 1), problem.start)
        n_steps = _count_steps(problem.discount)
        weights = problem.discount ** np.arange(n_steps)
        old, new = (
            np.asarray(
                _roll_out(prepared.dynamics, policy, starts, jax.random.fold_in(key, 2), n_steps)
            ).transpose(1, 2, 0)
            @ weights
            for policy in (problem.old_policy, candidate)
        )
        return new - old, n_steps

    def _draw_starts(self, key: PRNGKeyArray, start: np.ndarray, times: int = 1) -> Array:
        rows = np.asarray(jax.random.randint(key, (times * self.n_rollouts,), 0, len(start)))
        return jnp.asarray(np.asarray(start)[rows], jnp.float32)

    def _conclude(
        self, prepared: Prepared, differences: Float[np.ndarray, "members rows"], n_steps: int
    ) -> Estimate:
        """Robust centre and spread over members, and whether both may be used."""
        gains = differences.mean(axis=1)
        centre = float(np.median(gains))
        spread = SMALL_SAMPLE * 1.4826 * float(np.median(np.abs(gains - centre)))
        # Starts are the same in all members: more members do not make them more.
        chance = float(np.median(differences.std(axis=1, ddof=1)) / math.sqrt(self.n_rollouts))
        span = prepared.span
        diagnostics = {
            "level": prepared.level,
            "level_error": prepared.level_error,
            "spread": spread,
            "chance": chance,
            "value_range": span,
            "lowest": float(gains.min()),
            "highest": float(gains.max()),
            "rollout_steps": float(n_steps),
            **prepared.fit,
        }
        reason = self._find_objection(prepared, spread, bool(np.all(np.isfinite(differences))))
        if reason:
            return abstain(self.name, self.basis, reason, diagnostics)
        error = math.hypot(spread, chance, self.floor * span)
        # Only the spread between members and that of the rollouts are themselves estimated.
        parts = (spread, len(gains) - 1), (chance, self.n_rollouts - 1)
        uncertain = sum((part / error) ** 4 / count for part, count in parts)
        return Estimate(
            self.name,
            centre,
            error,
            self.basis,
            reason=f"{len(gains)} fitted models, {self.n_rollouts} pairs of rollouts in each",
            degrees=1.0 / uncertain if uncertain > 0.0 else math.inf,
            diagnostics=diagnostics,
        )

    def _find_objection(self, prepared: Prepared, spread: float, finite: bool) -> str:
        """Why the model may not be used; never because of the gain itself."""
        span = prepared.span
        if not span > 0.0:
            return "all outcomes in the log are alike: there is nothing to fit"
        if not finite:
            return "rollouts in the fitted model are not finite"
        error = abs(prepared.level_error) / span
        if error > self.largest_level_error:
            return (
                f"the model misses the old policy's return by {100 * error:.0f} % of the range of "
                f"returns-to-go, more than {100 * self.largest_level_error:.0f} %"
            )
        if spread / span > self.largest_spread:
            return (
                f"fitted models differ by {100 * spread / span:.0f} % of the range of "
                f"returns-to-go, more than {100 * self.largest_spread:.0f} %"
            )
        return ""


def _count_steps(discount: float) -> int:
    """Steps until γ^t is negligible: episodes that were cut go on."""
    if discount <= 0.0:
        return 1
    if discount >= 1.0:
        return MOST_STEPS
    return min(math.ceil(math.log(NEGLIGIBLE) / math.log(discount)), MOST_STEPS)


def _compare_levels(
    rewards: Float[np.ndarray, "steps members rows"], log: Log, discount: float
) -> tuple[float, float]:
    """Mean discounted return of the old policy by the model and by the log.

    A truncated episode is compared with as many steps of the model.
    """
    means = np.median(rewards.mean(axis=2), axis=1)
    reached = np.cumsum(means * discount ** np.arange(len(means)))
    lengths = np.minimum(log.episode_lengths, len(means))
    ended = log.terminated[log.offsets[1:] - 1]
    expected = float(reached[np.where(ended, len(means), lengths) - 1].mean())
    return expected, float(log.returns(discount).mean())


@eqx.filter_jit
def _roll_out(
    dynamics: Dynamics, policy: Policy, starts: Float[Array, "rows size"], key: Array, n_steps: int
) -> Float[Array, "steps members rows"]:
    """Rewards of each step, times the probability that the episode has not ended before it.

    The key alone decides the noise: of two policies, one that needs more gets more of the same.
    """
    members, (rows, size) = dynamics.n_members, starts.shape
    states = jnp.broadcast_to(starts, (members, rows, size))
    discrete = policy.signature.discrete_actions

    def advance(
        carry: tuple[Array, Array], step: Array
    ) -> tuple[tuple[Array, Array], Float[Array, "members rows"]]:
        states, going = carry
        acting, moving = jax.random.split(jax.random.fold_in(key, step))
        said = policy(states)
        uniforms = jax.random.uniform(acting, (said.noise_size, rows)).T
        actions = said.transform(jnp.broadcast_to(uniforms, (members, rows, said.noise_size)))
        if not discrete:
            low, high = policy.signature.action_limits
            actions = jnp.clip(actions, jnp.asarray(low), jnp.asarray(high))
        ahead, rewards, ending = dynamics.step(
            states, actions, jax.random.normal(moving, (rows, size))
        )
        return (ahead, going * (1.0 - ending)), going * rewards

    going = jnp.ones((members, rows))
    _, rewards = jax.lax.scan(advance, (states, going), jnp.arange(n_steps))
    return rewards
