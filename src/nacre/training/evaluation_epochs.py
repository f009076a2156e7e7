"""Epochs of fitted evaluation, on a log on the device or on one that is mapped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from nacre.policies.policy import Policy
from nacre.training.backup import (
    CriticInfo,
    CriticState,
    bootstrap_targets,
    next_state_values,
    step_critics,
)
from nacre.training.evaluation_config import EvaluationConfig
from nacre.training.feeds import Chunk, Feed, Progress, run_chunk
from nacre.training.loop import is_finite, run_epoch, within_bounds
from nacre.training.transitions import Batch, MappedTransitions, Transitions

Outcome = tuple[CriticState, CriticInfo, Int[Array, ""], Bool[Array, ""]]
"""The state, the averages of the infos, the number of steps done, whether all were healthy."""


@contextmanager
def open_epochs(
    config: EvaluationConfig,
    transitions: Transitions | MappedTransitions,
    policy: Policy | None,
    discount: float,
    largest: float,
    key: PRNGKeyArray,
) -> Iterator[Callable[[CriticState, int], Outcome]]:
    """Give a function that runs the epoch of a number, wherever the log is.

    Args:
        config: The evaluation.
        transitions: The log.
        policy: Whose value is fitted; None where the rows tell what it does.
        discount: γ.
        largest: Mean |Q| beyond which the critics have exploded.
        key: Epoch e gets `fold_in(key, e)`.
    """
    bound = jnp.asarray(largest, float)
    config, worst = _tell_worst(config)
    if isinstance(transitions, Transitions):
        held = transitions

        def run(state: CriticState, epoch: int) -> Outcome:
            return run_evaluation_epoch(
                config, held, policy, state, discount, bound, jax.random.fold_in(key, epoch), worst
            )

        yield run
        return

    def draw(rows: Any, key: PRNGKeyArray) -> Batch:
        return draw_batch(config, rows, key)

    with Feed(transitions, draw, config.steps_per_epoch) as feed:

        def run_mapped(state: CriticState, epoch: int) -> Outcome:
            now, following = (jax.random.fold_in(key, e) for e in (epoch, epoch + 1))
            last = epoch + 1 == config.epochs
            progress = Progress.begin(state, CriticInfo(*[jnp.zeros(())] * 3))
            for chunk, count in feed.chunks(now, None if last else following):
                progress = run_evaluation_chunk(
                    config, chunk, policy, progress, discount, bound, now, jnp.asarray(count), worst
                )
                if not bool(progress.ok):
                    break
            ok = progress.ok & is_finite(progress.state)
            return progress.state, progress.averages, progress.steps, ok

        yield run_mapped


def _tell_worst(config: EvaluationConfig) -> tuple[EvaluationConfig, Bool[Array, ""] | None]:
    """Whether targets are the minimum, told at run time: one program for either kind."""
    backup = config.critics.backup
    if backup == "mean":
        return config, None
    critics = dataclasses.replace(config.critics, backup="own")
    return dataclasses.replace(config, critics=critics), jnp.asarray(backup == "min")


@eqx.filter_jit
def run_evaluation_epoch(
    config: EvaluationConfig,
    transitions: Transitions,
    policy: Policy | None,
    state: CriticState,
    discount: float,
    largest: Float[Array, ""],
    key: PRNGKeyArray,
    worst: Bool[Array, ""] | None = None,
) -> Outcome:
    """One epoch of Algorithm 2, lines 2 to 5, over and over.

    `worst`, where given, says whether targets are built from the minimum over the members.

    Returns:
        The state, the averages of the infos, the number of steps done, whether all were healthy.
    """
    dynamic, static = eqx.partition(state, eqx.is_array)

    def step(key: PRNGKeyArray, dynamic: Any) -> tuple[Any, CriticInfo]:
        state = eqx.combine(dynamic, static)
        state, info = step_evaluation(config, transitions, policy, state, discount, key, worst)
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


@eqx.filter_jit
def run_evaluation_chunk(
    config: EvaluationConfig,
    chunk: Chunk,
    policy: Policy | None,
    progress: Progress,
    discount: float,
    largest: Float[Array, ""],
    key: PRNGKeyArray,
    n_steps: Int[Array, ""],
    worst: Bool[Array, ""] | None = None,
) -> Progress:
    """Go on with an epoch of `run_evaluation_epoch` through the steps of a chunk."""
    dynamic, static = eqx.partition(progress.state, eqx.is_array)

    def step(key: PRNGKeyArray, rows: Chunk, dynamic: Any) -> tuple[Any, CriticInfo]:
        state = eqx.combine(dynamic, static)
        state, info = step_evaluation(config, rows, policy, state, discount, key, worst)
        return eqx.filter(state, eqx.is_array), info

    after = run_chunk(
        step,
        chunk,
        progress._replace(state=dynamic),
        key,
        n_steps,
        lambda info: within_bounds(info.loss, info.q, largest),
    )
    return after._replace(state=eqx.combine(after.state, static))


def step_evaluation(
    config: EvaluationConfig,
    transitions: Transitions | Chunk,
    policy: Policy | None,
    state: CriticState,
    discount: float,
    key: PRNGKeyArray,
    worst: Bool[Array, ""] | None = None,
) -> tuple[CriticState, CriticInfo]:
    """Lines 2 to 5 of Algorithm 2, once."""
    batch = draw_batch(config, transitions, key)
    values = next_state_values(
        config.critics, state.target, policy, batch, jax.random.split(key)[1], worst
    )
    targets = bootstrap_targets(batch.rewards, batch.terminated, values, discount)
    return step_critics(config.critics, state, batch, targets)


def draw_batch(config: EvaluationConfig, transitions: Any, key: PRNGKeyArray) -> Batch:
    """The rows of the step with this key."""
    batch: Batch = transitions.sample(jax.random.split(key)[0], config.critics.batch_size)
    return batch
