"""Critics before the first epoch: scaled by the log, fitted to its returns, bounded by them."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.estimators.exact import values
from nacre.logs import Log
from nacre.simulators import LinearPolicy, double_integrator
from nacre.training.backup import CriticConfig, CriticState
from nacre.training.preparation import (
    begin_critics,
    draw_resampling,
    fit_critics,
    init_critics,
    largest_believable,
    prefit,
)
from nacre.training.transitions import Transitions
from tests.support.training import TABLES, make_steady_log, sample_finite, sign


def make_state(log: Log, discount: float) -> CriticState:
    critics = init_critics(TABLES, jax.random.key(0), log, sign(log), discount)
    return CriticState.init(TABLES, critics)


def test_prefit_is_a_regression_on_returns() -> None:
    """The old policy's state-action values, before any bootstrapping; the targets follow."""
    world, old, log = sample_finite(0)
    state, source = make_state(log, world.discount), Transitions.from_log(log)
    fitted = prefit(TABLES, state, log, source, world.discount, jax.random.key(1), 500)
    q = np.asarray(fitted.online(jnp.arange(8))).mean(axis=0)
    error = (old * q).sum(axis=1) - values(world, old)
    assert np.abs(error).mean() < 0.1 * np.ptp(values(world, old))
    for online, target in zip(fitted.online.weights, fitted.target.weights, strict=True):
        np.testing.assert_array_equal(online, target)
    assert prefit(TABLES, state, log, source, 0.95, jax.random.key(1), 0) is state


def test_critics_meet_the_targets_of_their_rows() -> None:
    """One number a state and action: the error falls to a fifth; same key, same bits."""
    world, _, log = sample_finite(0)
    state = make_state(log, world.discount)
    table = np.random.default_rng(0).normal(float(state.online.shift), 5.0, (8, 3))
    source = Transitions.from_log(log).with_targets(table[log.observations, log.actions])
    fitted, again = (fit_critics(TABLES, source, state, jax.random.key(0), 500) for _ in range(2))
    before, after = (
        np.abs(np.asarray(one.online(jnp.arange(8))) - table).mean() for one in (state, fitted)
    )
    assert after < 0.2 * before
    jax.tree.map(np.testing.assert_array_equal, fitted, again)


def test_rows_without_targets_cannot_be_fitted_to() -> None:
    world, _, log = sample_finite(0)
    state, source = make_state(log, world.discount), Transitions.from_log(log)
    with pytest.raises(InputError, match="no targets"):
        fit_critics(TABLES, source, state, jax.random.key(0), 5)


def test_given_critics_are_begun_with() -> None:
    world, _, log = sample_finite(0)
    given = make_state(log, world.discount).online
    keys = (jax.random.key(3), jax.random.key(4))
    source, spaces = Transitions.from_log(log), sign(log)
    begun = begin_critics(TABLES, log, source, spaces, world.discount, keys, 0, given)
    for state in begun:
        jax.tree.map(np.testing.assert_array_equal, state.online, given)
    fresh, fitted = begin_critics(TABLES, log, source, spaces, world.discount, keys, 10)
    begun_with, reached = (np.asarray(state.online.weights[0]) for state in (fresh, fitted))
    assert not np.array_equal(begun_with, reached)


def test_returns_scale_the_critics() -> None:
    world, old, log = sample_finite(0)
    critics = init_critics(TABLES, jax.random.key(0), log, sign(log), world.discount)
    assert critics.scaling is None
    assert abs(float(critics.shift) - values(world, old).mean()) < 2
    assert 0.1 < float(critics.spread) < 20


def test_returns_without_spread_keep_a_scale() -> None:
    """One state that always pays 1: the value is 100 everywhere, the spread a thousandth of it."""
    log = make_steady_log()
    critics = init_critics(TABLES, jax.random.key(0), log, sign(log), 0.99)
    np.testing.assert_allclose(critics.shift, 100.0, rtol=1e-4)
    np.testing.assert_allclose(critics.spread, 0.1, rtol=1e-4)
    silent = dataclasses.replace(log, rewards=np.zeros(len(log), np.float32))
    critics = init_critics(TABLES, jax.random.key(0), silent, sign(log), 0.99)
    assert (float(critics.shift), float(critics.spread)) == (0.0, float(np.float32(1e-6)))


def test_observations_scale_the_critics() -> None:
    policy = LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.6]))
    log = double_integrator().sample_log(policy, 200, seed=0, horizon=50)
    config = CriticConfig(hidden=(), scale_observations=True)
    critics = init_critics(config, jax.random.key(0), log, sign(log), 0.97)
    encoded = np.asarray(critics.encode(jnp.asarray(log.observations)))
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(encoded.std(axis=0), 1, rtol=1e-4)
    assert (float(critics.shift), float(critics.spread)) == (0.0, 1.0)


def test_every_member_draws_as_many_episodes_as_there_are() -> None:
    drawn = draw_resampling(50, 40, seed=3)
    assert drawn.shape == (50, 40)
    np.testing.assert_array_equal(drawn.sum(axis=0), 50)
    np.testing.assert_array_equal(drawn, np.round(drawn))
    # An episode is left out with probability (1 - 1/50)^50 = 0.364: 2000 times, ± 4 deviations.
    assert abs(np.mean(drawn == 0) - 0.364) < 4 * np.sqrt(0.364 * 0.636 / 2000)
    np.testing.assert_array_equal(drawn, draw_resampling(50, 40, seed=3))
    assert not np.array_equal(drawn, draw_resampling(50, 40, seed=4))


def test_what_is_believable() -> None:
    """A hundred times max |r| / (1 - γ), but never less than a hundred, nor beyond float32."""
    log = make_steady_log()
    np.testing.assert_allclose(largest_believable(log, 0.9), 1000.0)
    silent = dataclasses.replace(log, rewards=np.zeros(40, np.float32))
    assert largest_believable(silent, 0.9) == 100.0
    loud = dataclasses.replace(log, rewards=np.full(40, 1e37, np.float32))
    assert largest_believable(loud, 0.99) == np.finfo(np.float32).max
