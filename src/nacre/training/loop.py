"""An epoch: many pure steps in a compiled loop that leaves as soon as something breaks.

Learning, evaluation and the fit to returns are each a `Program`; this is the one loop that runs
them, on logs in memory and on logs in their files alike.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from nacre.training.batches import BatchSource, BatchStream, Drawable, Rows

S = TypeVar("S")
I = TypeVar("I")


class Program(Protocol[S, I]):
    """What the steps of an epoch do, as an `eqx.Module`.

    Why it is a type of its own: compiling the loop takes seconds, running an epoch often less.
    JAX compiles anew whenever anything that is not an array differs. So a program is made from its
    configuration by keeping only what a step looks at, and by turning numbers that change from one
    run to the next, such as prices, into arrays. All such turning happens where a program is made
    and nowhere else; configurations, costs and policies know nothing of it.
    """

    def draw(self, rows: Drawable, key: PRNGKeyArray) -> object:
        """All that the step with this key draws from the log."""
        ...

    def step(self, rows: Rows, key: PRNGKeyArray, state: S) -> tuple[S, I]:
        """A pure step to the next state and an info of scalars."""
        ...

    def empty_info(self) -> I:
        """An info of zeros."""
        ...

    def is_healthy(self, info: I) -> Bool[Array, ""]:
        """Whether the loop may go on after this info."""
        ...

    def finish(self, state: S, info: I, key: PRNGKeyArray) -> tuple[I, Bool[Array, ""]]:
        """Complete the averages after the last step; whether they and the state are sound.

        A step's info tells of the state before its update, so the last state is looked at here.
        """
        ...


class Outcome(NamedTuple, Generic[S, I]):
    """The state, the averages of the infos, the number of steps done, whether all were healthy.

    An unhealthy step is the last one done: the state comes after it, averages and number count it.
    """

    state: S
    info: I
    steps: Int[Array, ""]
    ok: Bool[Array, ""]


class Epoch(NamedTuple, Generic[S, I]):
    """An epoch as far as it got: state, sums of the infos, steps done, whether all were healthy."""

    state: S
    sums: I
    steps: Int[Array, ""]
    ok: Bool[Array, ""]


def run_epoch(
    program: Program[S, I],
    stream: BatchStream,
    state: S,
    key: PRNGKeyArray,
    following: PRNGKeyArray | None = None,
) -> Outcome[S, I]:
    """Run all steps of an epoch, or until an info is not healthy.

    Args:
        program: What the steps do.
        stream: The log's rows for them.
        state: Where to start.
        key: The epoch's key; step i gets `fold_in(key, i)`.
        following: The key of the epoch after it, whose rows may be gathered already.
    """
    epoch = Epoch(state, program.empty_info(), jnp.asarray(0), jnp.asarray(True))
    for rows, n_steps in stream.chunks(key, following):
        epoch = run_steps(program, rows, epoch, key, jnp.asarray(n_steps))
        if not bool(epoch.ok):
            break
    info, ok = finish_epoch(program, epoch, key)
    return Outcome(epoch.state, info, epoch.steps, ok)


def epoch_keys(
    key: PRNGKeyArray, epoch: int, n_epochs: int
) -> tuple[PRNGKeyArray, PRNGKeyArray | None]:
    """The key of an epoch of so many, and that of the one after it: None after the last."""
    now, following = (jax.random.fold_in(key, number) for number in (epoch, epoch + 1))
    return now, following if epoch + 1 < n_epochs else None


def run_once(
    program: Program[S, I], source: BatchSource, n_steps: int, state: S, key: PRNGKeyArray
) -> Outcome[S, I]:
    """One epoch that no other follows, as `run_epoch` runs it."""
    with source.open_stream(program.draw, n_steps) as stream:
        return run_epoch(program, stream, state, key)


@eqx.filter_jit
def run_steps(
    program: Program[S, I],
    rows: Rows,
    epoch: Epoch[S, I],
    key: PRNGKeyArray,
    n_steps: Int[Array, ""],
) -> Epoch[S, I]:
    """Go on with an epoch through the steps that the rows are for."""
    state, static = eqx.partition(epoch.state, eqx.is_array)
    first, last = epoch.steps, epoch.steps + n_steps

    def go_on(epoch: Epoch[Any, I]) -> Bool[Array, ""]:
        return epoch.ok & (epoch.steps < last)

    def advance(epoch: Epoch[Any, I]) -> Epoch[Any, I]:
        i = epoch.steps
        state, info = program.step(
            rows.at(i - first), jax.random.fold_in(key, i), eqx.combine(epoch.state, static)
        )
        sums = jax.tree.map(jnp.add, epoch.sums, info)
        return Epoch(eqx.filter(state, eqx.is_array), sums, i + 1, program.is_healthy(info))

    after = jax.lax.while_loop(go_on, advance, epoch._replace(state=state))
    return after._replace(state=eqx.combine(after.state, static))


@eqx.filter_jit
def finish_epoch(
    program: Program[S, I], epoch: Epoch[S, I], key: PRNGKeyArray
) -> tuple[I, Bool[Array, ""]]:
    """Averages out of sums, and whether all is sound by the program's last word."""
    averages = jax.tree.map(lambda total: total / jnp.maximum(epoch.steps, 1), epoch.sums)
    info, sound = program.finish(epoch.state, averages, key)
    return info, epoch.ok & sound


def within_bounds(
    loss: Float[Array, ""], q: Float[Array, ""], largest_q: Float[Array, ""] | float
) -> Bool[Array, ""]:
    """Whether a loss is finite and the critics' mean value believable; NaN never is."""
    return jnp.isfinite(loss) & (jnp.abs(q) <= largest_q)


def is_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no floating-point number in a tree is NaN or infinite."""
    return jnp.all(jnp.isfinite(ravel_pytree(eqx.filter(tree, eqx.is_inexact_array))[0]))


def measure_norm(tree: Any) -> Float[Array, ""]:
    """Length of all numbers of a tree as one vector: one sum is compiled sooner than many."""
    return jnp.sqrt(jnp.sum(ravel_pytree(tree)[0] ** 2))
