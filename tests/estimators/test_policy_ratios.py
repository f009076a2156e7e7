"""Ratios of two policies: by hand for tables, by the density for vectors, none without one."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from nacre.estimators.policy_ratios import (
    N_DRAWS,
    PolicyRatios,
    compare,
    is_same_point,
    read_answers,
)
from nacre.logs import Log
from nacre.policies import MLPPolicy, Policy, Signature, TabularPolicy
from nacre.policies.heads import Head
from nacre.policies.networks import MLP

KEY = jax.random.key(100)
LINE = Box(-np.inf, np.inf, (1,))


def make_log(states: np.ndarray, actions: np.ndarray, spaces: tuple[Space[Any], Space[Any]]) -> Log:
    n = len(states)
    return Log.from_arrays(
        states,
        actions,
        np.zeros(n),
        np.ones(n, bool),
        next_observations=states,
        offsets=np.arange(n + 1),
        observation_space=spaces[0],
        action_space=spaces[1],
    )


TABLE_LOG = make_log(np.array([0, 0, 1]), np.array([0, 1, 1]), (Discrete(2), Discrete(2)))
LINE_LOG = make_log(
    np.zeros((200, 1), np.float32),
    np.random.default_rng(100).normal(size=(200, 1)).astype(np.float32),
    (LINE, LINE),
)


def constant(location: float, head: Head = "gaussian") -> MLPPolicy:
    """The same normal of spread one everywhere, or its mean for sure."""
    outputs = [location, 0.0] if head == "gaussian" else [location]
    network = MLP((jnp.zeros((1, len(outputs))),), (jnp.asarray(outputs),), ("identity",))
    return MLPPolicy(network, None, Signature(LINE, LINE), head)


def compare_policies(log: Log, old: Policy, new: Policy) -> PolicyRatios:
    ratios = compare(read_answers(KEY, log, old), read_answers(KEY, log, new))
    assert ratios is not None
    return ratios


def test_tables_by_hand() -> None:
    old = TabularPolicy.from_probabilities(np.array([[0.8, 0.2], [0.5, 0.5]]))
    new = TabularPolicy.from_probabilities(np.array([[0.2, 0.8], [1.0, 0.0]]))
    ratios = compare_policies(TABLE_LOG, old, new)
    np.testing.assert_allclose(ratios.ratios, [0.25, 4.0, 0.0], rtol=1e-5)
    np.testing.assert_allclose(ratios.masses, [[0.2, 0.8], [0.2, 0.8], [1.0, 0.0]], rtol=1e-5)
    # Total variation: 0.6 in the first state, 0.5 in the second.
    np.testing.assert_allclose(ratios.excess(1.0), [0.6, 0.6, 0.5], rtol=1e-5)
    # Σ π_old ρ² - 1 = 0.05 + 3.2 - 1 in the first state, 0.5 · 4 - 1 in the second.
    np.testing.assert_allclose(ratios.second_moment(math.inf), [2.25, 2.25, 1.0], rtol=1e-5)


def test_a_policy_against_itself_has_ratio_one_everywhere() -> None:
    table = TabularPolicy.from_probabilities(np.array([[0.8, 0.2], [0.5, 0.5]]))
    for log, policy in ((TABLE_LOG, table), (LINE_LOG, constant(0.3))):
        ratios = compare_policies(log, policy, policy)
        np.testing.assert_allclose(ratios.ratios, 1.0, rtol=1e-6)
        for limit in (1.0, 5.0, math.inf):
            np.testing.assert_allclose(ratios.excess(limit), 0.0, atol=1e-6)
            np.testing.assert_allclose(ratios.second_moment(limit), 0.0, atol=1e-5)


def test_actions_that_the_old_policy_never_takes_are_beyond_every_limit() -> None:
    old = TabularPolicy.from_probabilities(np.array([[1.0, 0.0], [0.5, 0.5]]))
    new = TabularPolicy.from_probabilities(np.array([[0.7, 0.3], [0.5, 0.5]]))
    log = make_log(np.array([0, 1]), np.array([0, 1]), (Discrete(2), Discrete(2)))
    np.testing.assert_allclose(compare_policies(log, old, new).excess(math.inf), [0.3, 0.0])


def test_vectors_have_the_ratio_of_densities() -> None:
    """N(1, 1) over N(0, 1) is exp(a - 1/2); their total variation is 2 Φ(1/2) - 1 = 0.383."""
    ratios = compare_policies(LINE_LOG, constant(0.0), constant(1.0))
    np.testing.assert_allclose(ratios.ratios, np.exp(LINE_LOG.actions[:, 0] - 0.5), rtol=1e-4)
    assert ratios.masses.shape == (200, N_DRAWS)
    np.testing.assert_allclose(ratios.masses.sum(axis=1), 1.0)
    assert ratios.excess(1.0).mean() == pytest.approx(0.383, abs=0.02)


def test_without_noise_there_is_no_ratio_but_a_point() -> None:
    point, same, other = (
        read_answers(KEY, LINE_LOG, constant(x, "deterministic")) for x in (0.2, 0.2, 0.3)
    )
    noisy = read_answers(KEY, LINE_LOG, constant(0.2))
    assert compare(point, noisy) is compare(noisy, point) is compare(point, same) is None
    assert is_same_point(point, same)
    assert not is_same_point(point, other)
    assert not is_same_point(noisy, noisy)
