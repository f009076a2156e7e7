"""An epoch is its steps one after the other, and ends where one is unhealthy."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.training.loop import is_finite, measure_norm, run_epoch, within_bounds


class Info(eqx.Module):
    level: jax.Array
    noise: jax.Array


def walk(key, state):
    """The info tells of the state before the step."""
    noise = jax.random.normal(key)
    return state + 1 + 0.01 * noise, Info(state, noise)


def always(info):
    return jnp.asarray(True)


@pytest.mark.parametrize("compiled", [False, True])
def test_epoch_is_its_steps(compiled):
    """Same state, averages to 1e-6; step i has the key fold_in(key, i)."""
    key, start = jax.random.key(4), jnp.asarray(2.0)

    def run(state):
        return run_epoch(walk, state, key, 5, always)

    state, average, count, healthy = (jax.jit(run) if compiled else run)(start)
    expected, infos = start, []
    for i in range(5):
        expected, info = walk(jax.random.fold_in(key, i), expected)
        infos.append(info)
    np.testing.assert_allclose(state, expected, rtol=1e-6)
    np.testing.assert_allclose(average.level, np.mean([i.level for i in infos]), rtol=1e-6)
    np.testing.assert_allclose(average.noise, np.mean([i.noise for i in infos]), rtol=1e-5)
    assert (int(count), bool(healthy)) == (5, True)


@pytest.mark.parametrize("last_good", [0, 1, 3])
def test_epoch_ends_at_the_first_unhealthy_step(last_good):
    """The unhealthy step is done and counted; a healthy one after it would not be reached."""

    def healthy(info):
        return (info.level < last_good) | (info.level > last_good + 1)

    def step(key, state):
        return state + 1, Info(state, state)

    state, average, count, ok = run_epoch(step, jnp.asarray(0.0), jax.random.key(0), 10, healthy)
    assert (float(state), int(count), bool(ok)) == (last_good + 1, last_good + 1, False)
    np.testing.assert_allclose(average.level, np.mean(np.arange(last_good + 1)))


def test_unhealthy_in_the_very_last_step():
    *_, count, ok = run_epoch(
        walk, jnp.asarray(0.0), jax.random.key(0), 3, lambda info: info.level < 1.5
    )
    assert (int(count), bool(ok)) == (3, False)


def test_no_steps_change_nothing():
    state, average, count, ok = run_epoch(walk, jnp.asarray(7.0), jax.random.key(0), 0, always)
    assert (float(state), int(count), bool(ok)) == (7.0, 0, True)
    assert (float(average.level), float(average.noise)) == (0.0, 0.0)


def test_one_step():
    state, average, count, ok = run_epoch(walk, jnp.asarray(7.0), jax.random.key(1), 1, always)
    expected, info = walk(jax.random.fold_in(jax.random.key(1), 0), jnp.asarray(7.0))
    np.testing.assert_allclose(state, expected, rtol=1e-6)
    np.testing.assert_allclose(average.noise, info.noise, rtol=1e-6)
    assert (int(count), bool(ok)) == (1, True)


def test_a_longer_epoch_goes_on_where_a_shorter_one_stopped():
    """The same keys for the same steps: the first three of five are the three of three."""
    key = jax.random.key(9)
    short, *_ = run_epoch(walk, jnp.asarray(0.0), key, 3, always)
    long, *_ = run_epoch(walk, jnp.asarray(0.0), key, 5, always)
    for i in (3, 4):
        short, _ = walk(jax.random.fold_in(key, i), short)
    np.testing.assert_allclose(short, long, rtol=1e-6)


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
def test_bounds(loss, q, expected):
    assert bool(within_bounds(jnp.asarray(loss), jnp.asarray(q), 10.0)) is expected


def test_finite_trees():
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
