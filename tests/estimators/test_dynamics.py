"""The ensemble of models: linear worlds are found, predictions stay within the log."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.estimators.dynamics import (
    Dynamics,
    DynamicsConfig,
    Network,
    encode_actions,
    fit_dynamics,
)
from nacre.logs import Log

QUICK = DynamicsConfig(members=3, hidden=(8,), batch_size=64, epochs=3, checks=2)
PULL = np.array([[0.9, 0.2], [0.0, 0.8]])
PUSH = np.array([[0.0, 0.0], [1.0, -0.5]])
"""What each of the two actions adds to a state."""


def make_log(noise: float = 0.0) -> Log:
    """x' = A x + b_a, reward x₀ + a; 40 episodes of 20 steps, no end."""
    rng = np.random.default_rng(100)
    states = np.empty((40, 21, 2))
    states[:, 0] = rng.normal(size=(40, 2))
    actions = rng.integers(0, 2, (40, 20))
    for t in range(20):
        moved = states[:, t] @ PULL.T + PUSH[actions[:, t]]
        states[:, t + 1] = moved + noise * rng.normal(size=(40, 2))
    return Log.from_arrays(
        states[:, :-1].reshape(-1, 2),
        actions.ravel(),
        (states[:, :-1, 0] + actions).ravel(),
        np.zeros(800, bool),
        np.arange(800) % 20 == 19,
        states[:, 1:].reshape(-1, 2),
        offsets=np.arange(0, 801, 20),
        action_space=Discrete(2),
    )


@functools.cache
def fit(noise: float) -> tuple[Dynamics, dict[str, float]]:
    return fit_dynamics(jax.random.key(100), QUICK, make_log(noise))


def test_a_linear_world_is_found() -> None:
    dynamics, facts = fit(0.0)
    assert dynamics.n_members == 3
    assert facts["unexplained_state"] < 1e-3
    assert facts["unexplained_reward"] < 1e-3
    states = jnp.broadcast_to(jnp.asarray([[0.5, 0.3], [0.2, -0.1]]), (3, 2, 2))
    actions = jnp.broadcast_to(jnp.asarray([0, 1]), (3, 2))
    ahead, rewards, ending = dynamics.step(states, actions, jnp.zeros((2, 2)))
    expected = np.asarray(states[0]) @ PULL.T + PUSH
    np.testing.assert_allclose(ahead, np.broadcast_to(expected, (3, 2, 2)), atol=0.1)
    np.testing.assert_allclose(rewards, np.tile([0.5, 1.2], (3, 1)), atol=0.1)
    # No episode of the log ended, so none is predicted to.
    np.testing.assert_array_equal(ending, 0.0)


def test_noise_is_what_is_left_of_held_out_states() -> None:
    dynamics, _ = fit(0.3)
    np.testing.assert_allclose(dynamics.noise, 0.3, rtol=0.2)
    states = jnp.zeros((3, 1, 2))
    actions = jnp.zeros((3, 1), jnp.int32)
    still, up = (dynamics.step(states, actions, jnp.full((1, 2), z))[0] for z in (0.0, 1.0))
    np.testing.assert_allclose((up - still)[:, 0], dynamics.noise, rtol=1e-4)


def test_predictions_stay_within_the_log() -> None:
    dynamics, _ = fit(0.3)
    log = make_log(0.3)
    far = jnp.full((3, 1, 2), 1e3)
    ahead, rewards, _ = dynamics.step(far, jnp.ones((3, 1), jnp.int32), jnp.zeros((1, 2)))
    assert np.all(np.asarray(ahead) <= log.observations.max(axis=0))
    np.testing.assert_allclose(rewards, log.rewards.max())


def test_the_same_key_gives_the_same_ensemble_and_members_differ() -> None:
    first, _ = fit(0.3)
    again, _ = fit_dynamics(jax.random.key(100), QUICK, make_log(0.3))
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    weights = np.asarray(first.network.weights[0])
    assert not np.allclose(weights[0], weights[1])


def test_a_new_network_is_the_zero_map_and_the_linear_part_adds() -> None:
    network = Network.init(jax.random.key(0), 2, (3, 8, 4))
    inputs = jax.random.normal(jax.random.key(1), (2, 5, 3))
    np.testing.assert_array_equal(network(inputs), np.zeros((2, 5, 4)))
    skip = jax.random.normal(jax.random.key(2), (2, 3, 4))
    linear = Network(skip, network.weights, network.biases)
    np.testing.assert_allclose(linear(inputs), inputs @ skip, atol=1e-5)


def test_discrete_actions_are_one_hot() -> None:
    np.testing.assert_array_equal(encode_actions(jnp.array([1, 0]), 3), [[0, 1, 0], [1, 0, 0]])
    vectors = jnp.ones((2, 4))
    assert encode_actions(vectors, 0) is vectors


def test_all_problems_of_a_configuration_are_named() -> None:
    with pytest.raises(InputError) as caught:
        DynamicsConfig(members=1, batch_size=0, held_out=0.0)
    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        "members",
        "batch_size",
        "held_out",
    ]
