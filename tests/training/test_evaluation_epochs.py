"""Epochs of fitted evaluation: stopped by what is not a number, one program for two backups."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PRNGKeyArray

from nacre.policies.tabular import TabularPolicy
from nacre.training.backup import Backup, CriticState
from nacre.training.evaluation_epochs import EvaluationEpoch
from nacre.training.loop import run_once
from nacre.training.preparation import init_critics
from nacre.training.transitions import Transitions
from tests.support.training import SMALL, TABLES, make_steady_log, sample_finite


def test_nan_stops_the_epoch_at_once() -> None:
    """At the first batch that draws the row whose reward is NaN, as replaying the keys says."""
    log = make_steady_log()
    source = Transitions.from_log(log)
    poisoned = eqx.tree_at(lambda t: t.rows.rewards, source, source.rows.rewards.at[7].set(jnp.nan))
    policy = TabularPolicy.from_probabilities(np.ones((1, 1)))
    critics = init_critics(SMALL, jax.random.key(0), log, policy.signature, 0.9)

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(None, 0))
    def draws_it(key: PRNGKeyArray, step: Array) -> Array:
        batch_key, _ = jax.random.split(jax.random.fold_in(key, step))
        return jnp.isnan(poisoned.sample(batch_key, 8).rewards).any()

    stopped = set()
    program = EvaluationEpoch.of(SMALL, policy, 0.9, 1e3)
    for seed in range(12):
        key = jax.random.key(seed)
        _, info, count, ok = run_once(program, poisoned, 5, CriticState.init(SMALL, critics), key)
        draws = np.asarray(draws_it(key, jnp.arange(5)))
        assert bool(ok) is not bool(draws.any())
        assert int(count) == (np.argmax(draws) + 1 if draws.any() else 5)
        assert bool(np.isnan(info.loss)) is bool(draws.any())
        stopped.add(int(count) if draws.any() else None)
    assert len(stopped) > 3


@pytest.mark.parametrize("backup", ["own", "min"])
def test_one_program_serves_either_kind_of_target(backup: Backup) -> None:
    """Told at run time whether the minimum counts, it says what the kind's own program says."""
    world, old, log = sample_finite(1)
    policy, source = TabularPolicy.from_probabilities(old), Transitions.from_log(log)
    critics = dataclasses.replace(TABLES, backup=backup)
    fresh = init_critics(critics, jax.random.key(0), log, policy.signature, world.discount)
    begun, key = CriticState.init(critics, fresh), jax.random.key(1)
    programs = (
        EvaluationEpoch.of(critics, policy, world.discount, 1e3),
        EvaluationEpoch(critics, policy, world.discount, jnp.asarray(1e3)),
    )
    told, apart = (run_once(program, source, 20, begun, key).state for program in programs)
    for ours, theirs in zip(told.online.weights, apart.online.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        assert np.abs(np.asarray(ours) - np.asarray(begun.online.weights[0])).max() > 0.01


def test_backups_that_compile_once() -> None:
    """Only the mean is a program of its own."""

    def static_part(backup: Backup) -> object:
        critics = dataclasses.replace(TABLES, backup=backup)
        program = EvaluationEpoch.of(critics, None, 0.9, 1e3)
        return jax.tree.structure(eqx.filter(program, eqx.is_array))

    assert static_part("own") == static_part("min") != static_part("mean")
