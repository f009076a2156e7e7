"""Offline evaluation of any policy by fitted Q-evaluation (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.evaluation.backup import (
    CriticConfig,
    CriticInfo,
    CriticState,
    bootstrap_targets,
    fit_critics,
    next_state_values,
    step_critics,
)
from nacre.evaluation.critics import Combine, Critics
from nacre.evaluation.loop import is_finite, run_epoch, within_bounds
from nacre.evaluation.noise import draw_uniforms
from nacre.evaluation.returns import bootstrapped_returns_to_go
from nacre.evaluation.transitions import Transitions
from nacre.log import Log
from nacre.policies.policy import Policy, Scaling, Signature, describe_space

LARGEST_BELIEVABLE = 100.0
"""Critics beyond this many times the largest possible |value| have exploded."""


@dataclass(frozen=True)
class EvaluationConfig:
    """How a policy is evaluated offline.

    Args:
        critics: The ensemble.
        epochs: Number of epochs.
        steps_per_epoch: Gradient steps in each.
        prefit_steps: Steps of plain regression on the log's returns-to-go before the first epoch.
        combine: How the members' values become one: min (the paper), mean, or a quantile.
        n_actions: Actions drawn for the value at the start, over all start states together.
        averaged: Read values off the target networks, which average over steps, instead of the
            online ones.
        bootstrap: Let each critic see its own resample of the episodes, so that the members' spread
            tells how much the estimate owes to chance.
        settled_tolerance: The estimate has settled when its last two fifths moved by no more than
            this share of the range it has covered plus its own size.
    """

    critics: CriticConfig = field(default_factory=CriticConfig)
    epochs: int = 50
    steps_per_epoch: int = 1000
    prefit_steps: int = 0
    combine: Combine = "min"
    n_actions: int = 10_000
    averaged: bool = False
    bootstrap: bool = False
    settled_tolerance: float = 0.02

    def __post_init__(self) -> None:
        problems = []
        for name in ("epochs", "steps_per_epoch", "n_actions"):
            if getattr(self, name) < 1:
                problems.append(f"evaluation.{name} = {getattr(self, name)}: at least 1 is needed")
        if self.prefit_steps < 0:
            problems.append(f"evaluation.prefit_steps = {self.prefit_steps}: cannot be negative")
        if isinstance(self.combine, str):
            if self.combine not in ("min", "mean"):
                problems.append(
                    f"evaluation.combine = {self.combine!r}: known are min, mean, or a quantile "
                    "such as 0.25"
                )
        elif not 0.0 <= self.combine <= 1.0:
            problems.append(f"evaluation.combine = {self.combine}: a quantile lies in [0, 1]")
        if not self.settled_tolerance >= 0.0:
            problems.append(
                f"evaluation.settled_tolerance = {self.settled_tolerance}: cannot be negative"
            )
        if problems:
            raise InputError(problems)


@dataclass(frozen=True)
class EpochReport:
    """One epoch of evaluation, for progress displays."""

    epoch: int
    epochs: int
    loss: float
    value: float
    steps: int


@dataclass(frozen=True)
class Evaluation:
    """What a policy is worth at the start, by fitted Q-evaluation.

    `curve[e]` is the combined and `member_curves[e]` each critic's estimate after epoch e,
    `losses[e]` the mean loss in it. `healthy` is False when the critics broke down; the value is
    then that of the last good ones, `reason` says when it happened, and nothing that follows may
    lead to a switch.
    """

    value: float
    per_critic: np.ndarray
    curve: np.ndarray
    member_curves: np.ndarray
    losses: np.ndarray
    settled: bool
    healthy: bool
    reason: str
    critics: Critics

    def __repr__(self) -> str:
        state = "settled" if self.settled else "not settled"
        return f"Evaluation(value={self.value:.6g}, {state}, {self.reason})"


def evaluate_policy(
    policy: Policy,
    log: Log,
    start: ArrayLike,
    config: EvaluationConfig,
    *,
    discount: float,
    seed: int = 0,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> Evaluation:
    """Estimate V^π at the start from a log of any policy (Algorithm 2, without the cost).

    The same seed gives the same initial networks, mini-batches and noise to every policy, so that
    differences between policies carry less noise than either value.
    """
    check_spaces(log, policy.signature)
    if not 0.0 <= discount < 1.0:
        raise InputError(f"discount = {discount}: must lie in [0, 1)")
    init_key, prefit_key, epoch_key, read_key = jax.random.split(jax.random.key(seed), 4)
    start = as_rows(start, policy.signature)
    resampling = None
    if config.bootstrap:
        resampling = draw_resampling(log.n_episodes, config.critics.n_critics, seed)
    transitions = Transitions.from_log(log, discount=discount, resampling=resampling)
    largest = largest_believable(log, discount)

    def read(state: CriticState) -> Reading:
        critics = state.target if config.averaged else state.online
        combined, each = read_values(config, critics, policy, start, read_key)
        return Reading(critics, float(combined), np.asarray(each))

    critics = init_critics(config.critics, init_key, log, policy.signature, discount)
    fresh = CriticState.init(config.critics, critics)
    state = prefit(
        config.critics, fresh, log, transitions, discount, prefit_key, config.prefit_steps
    )
    last, broken = read(state), ""
    if config.prefit_steps and not last.is_believable(largest):
        last, broken = read(fresh), "diverged in the fit to the log's returns; kept fresh critics"
    curve, member_curves, losses = [], [], []
    for epoch in range(0 if broken else config.epochs):
        key = jax.random.fold_in(epoch_key, epoch)
        state, info, steps, ok = run_evaluation_epoch(
            config, transitions, policy, state, discount, jnp.asarray(largest, float), key
        )
        reading = read(state)
        if not (bool(ok) and reading.is_believable(largest)):
            broken = f"diverged in epoch {epoch} at step {int(steps)}; kept the epoch before"
            break
        last = reading
        curve.append(last.value)
        member_curves.append(last.per_critic)
        losses.append(float(info.loss))
        if on_epoch is not None:
            on_epoch(EpochReport(epoch, config.epochs, losses[-1], curve[-1], int(steps)))
    return Evaluation(
        last.value,
        last.per_critic,
        np.asarray(curve),
        np.asarray(member_curves).reshape(len(curve), config.critics.n_critics),
        np.asarray(losses),
        not broken and has_settled(np.asarray(curve), config.settled_tolerance),
        not broken,
        broken or "all epochs done",
        last.critics,
    )


def draw_resampling(n_episodes: int, n_members: int, seed: int) -> np.ndarray:
    """(E, M) how often each member sees each episode, of mean one for every member."""
    counts = np.random.default_rng(seed).multinomial(
        n_episodes, np.full(n_episodes, 1.0 / n_episodes), size=n_members
    )
    return counts.T.astype(np.float32)


class Reading(NamedTuple):
    """What critics say of a policy at the start."""

    critics: Critics
    value: float
    per_critic: np.ndarray

    def is_believable(self, largest: float) -> bool:
        """Whether every member is finite and its value no larger than this."""
        return bool(is_finite(self.critics) & np.all(np.abs(self.per_critic) <= largest))


def init_critics(
    config: CriticConfig, key: PRNGKeyArray, log: Log, signature: Signature, discount: float
) -> Critics:
    """A fresh ensemble with the scalings that the configuration asks for, taken from the log."""
    scaling = None
    if config.scale_observations and log.observations.ndim == 2:
        scaling = Scaling.fit(log.observations)
    shift, spread = 0.0, 1.0
    if config.scale_returns:
        to_go = bootstrapped_returns_to_go(log, discount)
        shift = float(to_go.mean())
        # A policy that earns the same everywhere has no spread; another one would have some.
        spread = max(float(to_go.std()), 1e-3 * abs(shift), 1e-6)
    return config.init(key, signature, scaling=scaling, shift=shift, spread=spread)


def prefit(
    config: CriticConfig,
    state: CriticState,
    log: Log,
    transitions: Transitions,
    discount: float,
    key: PRNGKeyArray,
    n_steps: int,
) -> CriticState:
    """Fit the critics to the log's returns-to-go: exact for the policy that made the log."""
    if n_steps == 0:
        return state
    to_go = jnp.asarray(bootstrapped_returns_to_go(log, discount), float)
    online = fit_critics(config, transitions, to_go, state, key, n_steps).online
    return CriticState.init(config, online)


def largest_believable(log: Log, discount: float) -> float:
    """Mean |Q| beyond which critics are taken to have exploded.

    Counted from the largest possible |value|, max |r| / (1 - γ), but from no less than one: fresh
    networks are of that order whatever the rewards.
    """
    largest_value = float(np.abs(log.rewards).max()) / (1.0 - discount)
    # Single precision ends there, and rewards may come close to it.
    return min(LARGEST_BELIEVABLE * max(1.0, largest_value), float(np.finfo(np.float32).max))


def check_spaces(log: Log, signature: Signature) -> None:
    """Raise `InputError` unless a policy with these spaces can act on the log's."""
    problems = []
    for name in ("observation_space", "action_space"):
        ours, theirs = getattr(log, name), getattr(signature, name)
        fits = type(ours) is type(theirs) and ours.shape == theirs.shape
        if fits and isinstance(ours, gymnasium.spaces.Discrete):
            fits = ours.n <= theirs.n
        if not fits:
            problems.append(
                f"{name.replace('_', ' ')}: the log has {describe_space(ours)}, the policy "
                f"{describe_space(theirs)}; give a log of the world that the policy acts in"
            )
    if problems:
        raise InputError(problems)


def as_rows(start: ArrayLike, signature: Signature) -> Array:
    """Start state or states as a batch of rows, checked against the observation space."""
    space = signature.observation_space
    rows = np.asarray(start)
    wanted = len(space.shape or ())
    if rows.ndim == wanted:
        rows = rows[None]
    fits = rows.ndim == wanted + 1 and rows.shape[1:] == space.shape and len(rows) > 0
    if not fits or rows.dtype.kind not in "iuf":
        raise InputError(
            f"start of shape {np.shape(start)} and type {rows.dtype} does not fit the observation "
            f"space {describe_space(space)}: give one state or a batch of them"
        )
    if not np.all(np.isfinite(rows)):
        raise InputError("start holds NaN or infinity; give finite states")
    if isinstance(space, gymnasium.spaces.Discrete):
        wrong = rows[(rows != np.floor(rows)) | (rows < 0) | (rows >= space.n)]
        if len(wrong):
            raise InputError(f"start: {wrong[0]} is not one of the states 0..{space.n - 1}")
        return jnp.asarray(rows, int)
    return jnp.asarray(rows, float)


@eqx.filter_jit
def read_values(
    config: EvaluationConfig, critics: Critics, policy: Policy, start: Array, key: PRNGKeyArray
) -> tuple[Float[Array, ""], Float[Array, " members"]]:
    """E_{a ~ π(·|s₀)} of the combined Q and of each member's, averaged over the start states."""
    distribution = policy(start)
    n = max(1, config.n_actions // start.shape[0])
    uniforms = draw_uniforms(key, n, start.shape[0], distribution.noise_size, "quasi")
    combined = critics.expectation(start, distribution, uniforms, config.combine)
    each = critics.expectation(start, distribution, uniforms, None)
    return jnp.mean(combined), jnp.mean(each, axis=-1)


def has_settled(curve: np.ndarray, tolerance: float) -> bool:
    """Whether the last two fifths of a curve moved little, against its range and its size.

    The movement is the difference of the means of the last and the last but one fifth; fewer than
    five epochs never settle.
    """
    fifth = len(curve) // 5
    if fifth < 1:
        return False
    moved = abs(curve[-fifth:].mean() - curve[-2 * fifth : -fifth].mean())
    return bool(moved <= tolerance * (np.ptp(curve) + abs(curve[-fifth:].mean())))


@eqx.filter_jit
def run_evaluation_epoch(
    config: EvaluationConfig,
    transitions: Transitions,
    policy: Policy,
    state: CriticState,
    discount: float,
    largest: Float[Array, ""],
    key: PRNGKeyArray,
) -> tuple[CriticState, CriticInfo, Array, Bool[Array, ""]]:
    """One epoch of Algorithm 2, lines 2 to 5, over and over.

    Returns:
        The state, the averages of the infos, the number of steps done, whether all were healthy.
    """
    dynamic, static = eqx.partition(state, eqx.is_array)

    def step(key: PRNGKeyArray, dynamic: Any) -> tuple[Any, CriticInfo]:
        state = eqx.combine(dynamic, static)
        batch_key, action_key = jax.random.split(key)
        batch = transitions.sample(batch_key, config.critics.batch_size)
        values = next_state_values(config.critics, state.target, policy, batch, action_key)
        targets = bootstrap_targets(batch.rewards, batch.terminated, values, discount)
        state, info = step_critics(config.critics, state, batch, targets)
        return eqx.filter(state, eqx.is_array), info

    dynamic, info, count, ok = run_epoch(
        step,
        dynamic,
        key,
        config.steps_per_epoch,
        lambda info: within_bounds(info.loss, info.q, largest),
    )
    # The last update has had no step after it to show what it did.
    return eqx.combine(dynamic, static), info, count, ok & is_finite(dynamic)
