"""Features of states, and systems of them that are solved again and again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from nacre.logs import Log
from nacre.simulators import random_policy, random_world
from nacre.training.features import Features, factorise

RIGHT = np.array([1.0, 2.0])


@pytest.mark.parametrize("sparse", [False, True])
def test_systems_are_solved(sparse: bool) -> None:
    system = np.array([[2.0, 1.0], [1.0, 3.0]])
    solve = factorise(scipy.sparse.csr_array(system) if sparse else system)
    np.testing.assert_allclose(system @ solve(RIGHT), RIGHT, rtol=1e-12)


def test_what_cannot_be_told_apart_stays_zero() -> None:
    twins = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-16]])
    np.testing.assert_allclose(factorise(twins)(np.ones(2)), [0.5, 0.5], atol=1e-9)
    indefinite = np.array([[1.0, 1.0], [1.0, 1.0]]) - 1e-17 * np.eye(2)
    np.testing.assert_allclose(factorise(indefinite)(RIGHT), [0.75, 0.75], atol=1e-9)


def test_states_are_one_hot_and_vectors_bounded() -> None:
    world = random_world(1, 4, 2, discount=0.9)
    log = world.sample_log(random_policy(1, world), 50, seed=1, horizon=10)
    found = Features(log, np.random.default_rng(0))
    np.testing.assert_array_equal(found(np.array([2, 0])).toarray(), np.eye(4)[[2, 0]])

    n = 40
    rng = np.random.default_rng(2)
    states = np.concatenate([rng.normal(size=(n, 2)), np.full((n, 1), 7.0)], axis=1)
    log = Log.from_arrays(
        observations=states.astype(np.float32),
        actions=rng.normal(size=(n, 1)).astype(np.float32),
        rewards=np.zeros(n, np.float32),
        terminated=np.zeros(n, bool),
        truncated=np.ones(n, bool),
        next_observations=states.astype(np.float32),
    )
    vectors = Features(log, np.random.default_rng(0))
    far = vectors(np.full((1, 3), 1e9, np.float32))
    assert far.shape == (1, vectors.size)
    assert np.isfinite(far).all()
    # A coordinate that never changes has no scale of its own.
    assert np.abs(vectors(log.observations)[:, 3]).max() == 0.0
