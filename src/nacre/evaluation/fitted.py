"""Offline evaluation of any policy by fitted Q-evaluation (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
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
    next_state_values,
    step_critics,
)
from nacre.evaluation.critics import Combine, Critics
from nacre.evaluation.loop import run_epoch, within_bounds
from nacre.evaluation.noise import draw_uniforms
from nacre.evaluation.returns import bootstrapped_returns_to_go
from nacre.evaluation.transitions import Transitions
from nacre.log import Log
from nacre.policies.policy import Policy, Scaling, Signature

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
        settled_tolerance: The estimate has settled when its last two fifths moved by less than this
            share of the range it has covered plus its own size.
    """

    critics: CriticConfig = field(default_factory=CriticConfig)
    epochs: int = 50
    steps_per_epoch: int = 1000
    prefit_steps: int = 0
    combine: Combine = "min"
    n_actions: int = 10_000
    averaged: bool = False
    settled_tolerance: float = 0.02

    def __post_init__(self) -> None:
        problems = []
        for name in ("epochs", "steps_per_epoch", "n_actions"):
            if getattr(self, name) < 1:
                problems.append(f"evaluation.{name} = {getattr(self, name)}: at least 1 is needed")
        if self.prefit_steps < 0:
            problems.append(f"evaluation.prefit_steps = {self.prefit_steps}: cannot be negative")
        if isinstance(self.combine, float) and not 0.0 <= self.combine <= 1.0:
            problems.append(f"evaluation.combine = {self.combine}: a quantile lies in [0, 1]")
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

    `curve[e]` is the combined and `member_curves[e]` each critic's estimate after epoch e.
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
    key = jax.random.key(seed)
    init_key, prefit_key, epoch_key, read_key = jax.random.split(key, 4)
    start = as_rows(start, policy.signature)
    transitions = Transitions.from_log(log)
    state = CriticState.init(
        config.critics, init_critics(config.critics, init_key, log, policy.signature, discount)
    )
    state = prefit(
        config.critics, state, log, transitions, discount, prefit_key, config.prefit_steps
    )
    largest = jnp.asarray(largest_believable(log, discount), float)
    curve, members, losses = [], [], []
    healthy, reason = True, "all epochs done"
    for epoch in range(config.epochs):
        good = state
        state, info, steps, ok = run_evaluation_epoch(
            config,
            transitions,
            policy,
            state,
            discount,
            largest,
            jax.random.fold_in(epoch_key, epoch),
        )
        if not bool(ok):
            state, healthy = good, False
            reason = f"diverged in epoch {epoch} at step {int(steps)}; kept the epoch before"
            break
        critics = state.target if config.averaged else state.online
        combined, each = read_values(config, critics, policy, start, read_key)
        curve.append(float(combined))
        members.append(np.asarray(each))
        losses.append(float(info.loss))
        if on_epoch is not None:
            on_epoch(EpochReport(epoch, config.epochs, losses[-1], curve[-1], int(steps)))
    critics = state.target if config.averaged else state.online
    combined, each = read_values(config, critics, policy, start, read_key)
    values = np.asarray(curve)
    return Evaluation(
        float(combined),
        np.asarray(each),
        values,
        np.asarray(members).reshape(len(members), config.critics.n_critics),
        np.asarray(losses),
        has_settled(values, config.settled_tolerance) and healthy,
        healthy,
        reason,
        critics,
    )


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
        shift, spread = float(to_go.mean()), float(max(to_go.std(), 1e-3))
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
    online = _regress(config, transitions, to_go, state, key, n_steps).online
    return CriticState.init(config, online)


def largest_believable(log: Log, discount: float) -> float:
    """Mean |Q| beyond which critics are taken to have exploded."""
    return LARGEST_BELIEVABLE * (float(np.abs(log.rewards).max()) + 1e-6) / (1.0 - discount)


def as_rows(start: ArrayLike, signature: Signature) -> Array:
    """Start state or states as a batch of rows, checked against the observation space."""
    rows = jnp.asarray(start)
    wanted = 0 if not signature.observation_space.shape else 1
    if rows.ndim == wanted:
        rows = rows[None]
    if rows.ndim != wanted + 1 or (wanted and rows.shape[-1] != signature.observation_size):
        raise InputError(
            f"start of shape {np.shape(start)} does not fit the observation space "
            f"{signature.observation_space}: give one state or a batch of them"
        )
    if not bool(jnp.all(jnp.isfinite(rows))):
        raise InputError("start holds NaN or infinity; give finite states")
    return rows


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

    The movement is the difference of the means of the last and the last but one fifth.
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
    """One epoch of Algorithm 2: state, averages, steps done, whether all were healthy."""
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
    return eqx.combine(dynamic, static), info, count, ok


@eqx.filter_jit
def _regress(
    config: CriticConfig,
    transitions: Transitions,
    to_go: Float[Array, " rows"],
    state: CriticState,
    key: PRNGKeyArray,
    n_steps: int,
) -> CriticState:
    dynamic, static = eqx.partition(state, eqx.is_array)

    def step(i: Array, dynamic: Any) -> Any:
        state = eqx.combine(dynamic, static)
        rows = jax.random.randint(
            jax.random.fold_in(key, i), (config.batch_size,), 0, len(transitions)
        )
        state, _ = step_critics(config, state, transitions.take(rows), to_go[rows])
        return eqx.filter(state, eqx.is_array)

    fitted: CriticState = eqx.combine(jax.lax.fori_loop(0, n_steps, step, dynamic), static)
    return fitted
