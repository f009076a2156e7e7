"""Epochs of learning, on a log on the device or on one that is mapped."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.objective import SwitchingProblem
from nacre.learners.net_actor_critic.step import (
    Info,
    State,
    draw_rows,
    finish_epoch,
    is_believable,
    learn_epoch,
    step,
)
from nacre.training.feeds import Chunk, Feed, Progress, run_chunk
from nacre.training.transitions import MappedTransitions

Outcome = tuple[State, Info, Int[Array, ""], Bool[Array, ""]]
"""The state, the averages of the infos, the number of steps done, whether all were healthy."""


@contextmanager
def open_epochs(
    config: LearnerConfig,
    problem: SwitchingProblem,
    largest: Float[Array, ""],
    key: PRNGKeyArray,
) -> Iterator[Callable[[State, Float[Array, ""], int], Outcome]]:
    """Give a function that runs the epoch of a number at a share of the price.

    Args:
        config: The learner.
        problem: What is given.
        largest: Mean |Q| beyond which the critics have exploded.
        key: Epoch e gets `fold_in(key, e)`.
    """

    def charge(share: Float[Array, ""]) -> SwitchingProblem:
        return dataclasses.replace(problem, price_share=share)

    transitions = problem.transitions
    if not isinstance(transitions, MappedTransitions):

        def run(state: State, share: Float[Array, ""], epoch: int) -> Outcome:
            now = jax.random.fold_in(key, epoch)
            return learn_epoch(config, charge(share), state, now, largest)

        yield run
        return
    space = problem.old_policy.observation_space

    def draw(rows: Any, key: PRNGKeyArray) -> Any:
        return draw_rows(config, problem.cost, space, rows, key)

    with Feed(transitions, draw, config.steps_per_epoch) as feed:

        def run_mapped(state: State, share: Float[Array, ""], epoch: int) -> Outcome:
            now, following = (jax.random.fold_in(key, e) for e in (epoch, epoch + 1))
            progress = Progress.begin(state, Info(*[jnp.zeros(())] * 8))
            charged = charge(share)
            for chunk, count in feed.chunks(now, following):
                charged = dataclasses.replace(charged, transitions=chunk)
                progress = learn_chunk(config, charged, progress, now, largest, jnp.asarray(count))
                if not bool(progress.ok):
                    break
            info, ok = _finish(config, charged, progress, now, largest)
            return progress.state, info, progress.steps, ok

        yield run_mapped


@eqx.filter_jit
def learn_chunk(
    config: LearnerConfig,
    problem: SwitchingProblem,
    progress: Progress,
    key: PRNGKeyArray,
    largest: Float[Array, ""],
    n_steps: Int[Array, ""],
) -> Progress:
    """Go on with an epoch of `learn_epoch` through the steps of a chunk."""
    dynamic, static = eqx.partition(progress.state, eqx.is_array)

    def advance(key: PRNGKeyArray, rows: Chunk, dynamic: Any) -> tuple[Any, Info]:
        at_step = dataclasses.replace(problem, transitions=rows)
        after, info = step(config, at_step, key, eqx.combine(dynamic, static))
        return eqx.filter(after, eqx.is_array), info

    def healthy(info: Info) -> Bool[Array, ""]:
        return is_believable(config, info, largest)

    begun = progress._replace(state=dynamic)
    chunk: Any = problem.transitions
    after = run_chunk(advance, chunk, begun, key, n_steps, healthy)
    return after._replace(state=eqx.combine(after.state, static))


@eqx.filter_jit
def _finish(
    config: LearnerConfig,
    problem: SwitchingProblem,
    progress: Progress,
    key: PRNGKeyArray,
    largest: Float[Array, ""],
) -> tuple[Info, Bool[Array, ""]]:
    info = progress.averages
    return finish_epoch(config, problem, progress.state, info, key, largest, progress.ok)
