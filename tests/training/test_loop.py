"""An epoch is its steps one after the other, and ends where one is unhealthy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PRNGKeyArray

from nacre.training.batches import BatchStream, Drawable, Rows
from nacre.training.loop import (
    Outcome,
    is_finite,
    measure_norm,
    run_epoch,
    run_once,
    within_bounds,
)
from nacre.training.transitions import Transitions
from tests.support.learners import make_finite


class Info(eqx.Module):
    level: Array
    noise: Array


def always(info: Info) -> Array:
    return jnp.asarray(True)


class Walk(eqx.Module):
    """A random walk upwards that needs no rows; the info tells of the state before the step."""

    healthy: Callable[[Info], Array] = always
    size: float = 0.01

    def draw(self, rows: Drawable, key: PRNGKeyArray) -> None:
        """Nothing is drawn."""

    def step(self, rows: Rows, key: PRNGKeyArray, state: Array) -> tuple[Array, Info]:
        noise = jax.random.normal(key)
        return state + 1 + self.size * noise, Info(state, noise)

    def empty_info(self) -> Info:
        return Info(jnp.zeros(()), jnp.zeros(()))

    def is_healthy(self, info: Info) -> Array:
        return self.healthy(info)

    def finish(self, state: Array, info: Info, key: PRNGKeyArray) -> tuple[Info, Array]:
        return info, is_finite(state)


class Counted:
    """Chunks of so many steps each, of rows that nobody looks at."""

    def __init__(self, *counts: int) -> None:
        self.counts, self.handed_out = counts, 0
        self._rows = Transitions.from_log(make_finite().log)

    def chunks(
        self, key: PRNGKeyArray, following: PRNGKeyArray | None = None
    ) -> Iterator[tuple[Rows, int]]:
        for count in self.counts:
            self.handed_out += 1
            yield self._rows, count


def run(state: float, seed: int, *counts: int, program: Walk | None = None) -> Outcome[Array, Info]:
    stream: BatchStream = Counted(*counts)
    return run_epoch(program or Walk(), stream, jnp.asarray(state), jax.random.key(seed))


def walk(seed: int, i: int, state: Any) -> tuple[Array, Info]:
    """Step i of the epoch with this seed, on its own."""
    rows = Transitions.from_log(make_finite().log)
    return Walk().step(rows, jax.random.fold_in(jax.random.key(seed), i), state)


@pytest.mark.parametrize("counts", [(5,), (2, 2, 1), (1, 1, 1, 1, 1)])
def test_epoch_is_its_steps(counts: tuple[int, ...]) -> None:
    """Same state, averages to 1e-6; step i has the key fold_in(key, i), in whatever chunks."""
    state, average, count, healthy = run(2.0, 4, *counts)
    expected, infos = jnp.asarray(2.0), []
    for i in range(5):
        expected, info = walk(4, i, expected)
        infos.append(info)
    np.testing.assert_allclose(state, expected, rtol=1e-6)
    np.testing.assert_allclose(average.level, np.mean([i.level for i in infos]), rtol=1e-6)
    np.testing.assert_allclose(average.noise, np.mean([i.noise for i in infos]), rtol=1e-5)
    assert (int(count), bool(healthy)) == (5, True)


def test_chunks_change_no_bit() -> None:
    whole, parts = run(0.0, 3, 7), run(0.0, 3, 3, 3, 1)
    jax.tree.map(np.testing.assert_array_equal, whole, parts)


@pytest.mark.parametrize("last_good", [0, 1, 3])
@pytest.mark.parametrize("counts", [(10,), (2, 2, 2, 2, 2)])
def test_epoch_ends_at_the_first_unhealthy_step(last_good: int, counts: tuple[int, ...]) -> None:
    """The unhealthy step is done and counted; a healthy one after it would not be reached."""

    def healthy(info: Info) -> Array:
        return (info.level < last_good) | (info.level > last_good + 1)

    state, average, count, ok = run(0.0, 0, *counts, program=Walk(healthy, size=0.0))
    assert (float(state), int(count), bool(ok)) == (last_good + 1, last_good + 1, False)
    np.testing.assert_allclose(average.level, np.mean(np.arange(last_good + 1)))


def test_no_rows_are_asked_for_after_an_unhealthy_step() -> None:
    stream = Counted(2, 2, 2)
    program = Walk(lambda info: info.level < 2.5, size=0.0)
    run_epoch(program, stream, jnp.asarray(0.0), jax.random.key(0))
    assert stream.handed_out == 2


def test_unhealthy_in_the_very_last_step() -> None:
    *_, count, ok = run(0.0, 0, 3, program=Walk(lambda info: info.level < 1.5))
    assert (int(count), bool(ok)) == (3, False)


def test_the_last_state_is_looked_at() -> None:
    """Every info is healthy, the state after the last step is not."""
    state, info, count, ok = run(0.0, 0, 1, program=Walk(size=float("inf")))
    assert (int(count), bool(ok)) == (1, False)
    assert np.isfinite(float(info.level))
    assert not np.isfinite(float(state))


def test_no_steps_change_nothing() -> None:
    state, average, count, ok = run(7.0, 0, 0)
    assert (float(state), int(count), bool(ok)) == (7.0, 0, True)
    assert (float(average.level), float(average.noise)) == (0.0, 0.0)


def test_one_step() -> None:
    state, average, count, ok = run(7.0, 1, 1)
    expected, info = walk(1, 0, jnp.asarray(7.0))
    np.testing.assert_allclose(state, expected, rtol=1e-6)
    np.testing.assert_allclose(average.noise, info.noise, rtol=1e-6)
    assert (int(count), bool(ok)) == (1, True)


def test_a_longer_epoch_goes_on_where_a_shorter_one_stopped() -> None:
    """The same keys for the same steps: the first three of five are the three of three."""
    short, long = run(0.0, 9, 3).state, run(0.0, 9, 5).state
    for i in (3, 4):
        short, _ = walk(9, i, short)
    np.testing.assert_allclose(short, long, rtol=1e-6)


def test_an_epoch_on_its_own() -> None:
    source = Transitions.from_log(make_finite().log)
    alone = run_once(Walk(), source, 5, jnp.asarray(0.0), jax.random.key(9))
    jax.tree.map(np.testing.assert_array_equal, alone, run(0.0, 9, 5))


@pytest.mark.parametrize(
    ("loss", "q", "expected"),
    [
        (1.0, 5.0, True),
        (1.0, -10.0, True),
        (1.0, 10.5, False),
        (1.0, -10.5, False),
        (np.nan, 0.0, False),
        (np.inf, 0.0, False),
        (1.0, np.nan, False),
        (1.0, np.inf, False),
    ],
)
def test_bounds(loss: float, q: float, expected: bool) -> None:
    assert bool(within_bounds(jnp.asarray(loss), jnp.asarray(q), 10.0)) is expected


def test_finite_trees() -> None:
    sound = {"weights": jnp.ones(3), "steps": jnp.asarray(4), "name": "static", "none": None}
    assert bool(is_finite(sound))
    assert bool(is_finite({}))
    for bad in (jnp.nan, jnp.inf, -jnp.inf):
        assert not bool(is_finite({**sound, "weights": jnp.ones(3).at[1].set(bad)}))
    assert not bool(jax.jit(is_finite)({"weights": jnp.full(2, jnp.nan)}))


def test_norm_is_that_of_all_numbers_together() -> None:
    tree = {"weights": jnp.asarray([[3.0], [0.0]]), "bias": jnp.asarray(4.0), "nothing": None}
    assert float(measure_norm(tree)) == pytest.approx(5.0)
    assert float(measure_norm({})) == 0.0
