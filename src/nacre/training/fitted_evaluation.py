"""Offline evaluation of any policy by fitted Q-evaluation (Algorithm 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy, Signature, ask, describe_space
from nacre.training.backup import CriticConfig as CriticConfig
from nacre.training.backup import CriticState
from nacre.training.batches import BatchSource
from nacre.training.critics import Combine, Critics
from nacre.training.evaluation_config import EvaluationConfig as EvaluationConfig
from nacre.training.evaluation_epochs import EvaluationEpoch
from nacre.training.loop import epoch_keys, run_epoch
from nacre.training.noise import draw_uniforms
from nacre.training.preparation import begin_critics
from nacre.training.preparation import draw_resampling as draw_resampling
from nacre.training.preparation import init_critics as init_critics
from nacre.training.preparation import largest_believable as largest_believable
from nacre.training.preparation import limit_values as limit_values
from nacre.training.preparation import prefit as prefit
from nacre.training.progress import ProgressEvent
from nacre.training.sources import open_source


@dataclass(frozen=True)
class EpochReport:
    """One epoch of evaluation, for progress displays."""

    epoch: int
    epochs: int
    loss: float
    value: float
    steps: int

    def at(self, stage: str) -> ProgressEvent:
        """The same as an event of some stage of a run."""
        return ProgressEvent(stage, self.epoch, self.epochs, self.steps, self.loss, self.value)


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


@dataclass(frozen=True)
class Preparation:
    """What an evaluation begins with, whichever policy it is of: the log's rows, and critics.

    `fresh` critics have seen nothing, `fitted` ones the log's returns.
    """

    source: BatchSource
    fresh: CriticState
    fitted: CriticState
    largest: float
    limits: tuple[float, float]

    def begin_with(self, config: EvaluationConfig, critics: Critics) -> Preparation:
        """The same with critics that are given, in place of fresh ones."""
        begun = CriticState.init(config.critics, critics)
        return dataclasses.replace(self, fresh=begun, fitted=begun)


def prepare_evaluation(
    log: Log, signature: Signature, config: EvaluationConfig, *, discount: float, seed: int = 0
) -> Preparation:
    """Read the log and fit the critics to its returns, once for many policies of these spaces."""
    check_spaces(log, signature)
    if not 0.0 <= discount < 1.0:
        raise InputError(f"discount = {discount}: must lie in [0, 1)")
    init_key, prefit_key, _, _ = jax.random.split(jax.random.key(seed), 4)
    resampling = None
    if config.bootstrap:
        resampling = draw_resampling(log.n_episodes, config.critics.n_critics, seed)
    source = open_source(log, discount=discount, resampling=resampling)
    keys, n_steps = (init_key, prefit_key), config.prefit_steps
    fresh, fitted = begin_critics(config.critics, log, source, signature, discount, keys, n_steps)
    return Preparation(
        source, fresh, fitted, largest_believable(log, discount), limit_values(log, discount)
    )


def evaluate_policy(
    policy: Policy,
    log: Log,
    start: ArrayLike,
    config: EvaluationConfig,
    *,
    discount: float,
    seed: int = 0,
    prepared: Preparation | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
    switching_cost: float | None = None,
) -> Evaluation:
    """Estimate V^π at the start from a log of any policy (Algorithm 2).

    With the `switching_cost` C of the policy in its targets, as printed, it is the net value
    V_N^π = V^π - C that is fitted.

    The same seed gives the same initial networks, mini-batches and noise to every policy, so that
    differences between policies carry less noise than either value. `prepared` by the same log,
    configuration and seed, several evaluations share what does not depend on the policy.
    """
    if prepared is None:
        prepared = prepare_evaluation(log, policy.signature, config, discount=discount, seed=seed)
    _, _, epoch_key, read_key = jax.random.split(jax.random.key(seed), 4)
    reader = _Reader(config, policy, as_rows(start, policy.signature), read_key)
    source, state = prepared.source, prepared.fitted
    largest = prepared.largest + abs(switching_cost or 0.0)
    asked: Policy | None = policy
    if config.asked_once:
        source, asked = source.ask_next(policy)
    last, broken = reader.read(state), ""
    if config.prefit_steps and not last.is_believable(largest):
        last = reader.read(prepared.fresh)
        broken = "diverged in the fit to the log's returns; kept fresh critics"
    course = _Course()
    limits = prepared.limits if config.clip_targets else None
    program = EvaluationEpoch.of(config.critics, asked, discount, largest, limits, switching_cost)
    with source.open_stream(program.draw, config.steps_per_epoch) as stream:
        for epoch in range(0 if broken else config.epochs):
            keys = epoch_keys(epoch_key, epoch, config.epochs)
            state, info, steps, ok = run_epoch(program, stream, state, *keys)
            reading = reader.read(state)
            if not (bool(ok) and reading.is_believable(largest)):
                broken = f"diverged in epoch {epoch} at step {int(steps)}; kept the epoch before"
                break
            last = reading
            course.add(reading, float(info.loss))
            if on_epoch is not None:
                loss, value = course.losses[-1], reading.value
                on_epoch(EpochReport(epoch, config.epochs, loss, value, int(steps)))
    return course.close(config, last, broken)


@dataclass
class _Course:
    """What was read after each epoch so far."""

    curve: list[float] = field(default_factory=list)
    member_curves: list[np.ndarray] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def add(self, reading: Reading, loss: float) -> None:
        """One more epoch."""
        self.curve.append(reading.value)
        self.member_curves.append(reading.per_critic)
        self.losses.append(loss)

    def close(self, config: EvaluationConfig, last: Reading, broken: str) -> Evaluation:
        """The evaluation that ends with this reading, and how it broke down if it did."""
        curve = np.asarray(self.curve)
        return Evaluation(
            last.value,
            last.per_critic,
            curve,
            np.asarray(self.member_curves).reshape(len(curve), config.critics.n_critics),
            np.asarray(self.losses),
            not broken and has_settled(curve, config.settled_tolerance),
            not broken,
            broken or "all epochs done",
            last.critics,
        )


class Reading(NamedTuple):
    """What critics say of a policy at the start."""

    critics: Critics
    value: float
    per_critic: np.ndarray

    def is_believable(self, largest: float) -> bool:
        """Whether every member is finite and its value no larger than this."""
        leaves = jax.tree.leaves(eqx.filter(self.critics, eqx.is_inexact_array))
        finite = all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves)
        return bool(finite and np.all(np.abs(self.per_critic) <= largest))


@dataclass(frozen=True)
class _Reader:
    """Whom critics are asked about, where, and by which noise."""

    config: EvaluationConfig
    policy: Policy
    start: Array
    key: PRNGKeyArray

    def read(self, state: CriticState) -> Reading:
        """What the critics say by now."""
        critics = state.target if self.config.averaged else state.online
        combined, each = read_values(self.config, critics, self.policy, self.start, self.key)
        return Reading(critics, float(combined), np.asarray(each))


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


def read_values(
    config: EvaluationConfig, critics: Critics, policy: Policy, start: Array, key: PRNGKeyArray
) -> tuple[Float[Array, ""], Float[Array, " members"]]:
    """E_{a ~ π(·|s₀)} of the combined Q and of each member's, averaged over the start states."""
    n = max(1, config.n_actions // start.shape[0])
    return _read_values(n, config.combine, critics, ask(policy, start), start, key)


@eqx.filter_jit
def _read_values(
    n: int,
    combine: Combine,
    critics: Critics,
    distribution: ActionDistribution,
    start: Array,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Float[Array, " members"]]:
    """Of configuration and policy no more than what counts, so that it is compiled once."""
    uniforms = draw_uniforms(key, n, start.shape[0], distribution.noise_size, "quasi")
    combined = critics.expectation(start, distribution, uniforms, combine)
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
