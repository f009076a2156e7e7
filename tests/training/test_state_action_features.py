"""Features of states with actions: where they stand, what a policy's mean of them is."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies import Categorical, Deterministic, Gaussian, Policy, Signature
from nacre.policies.distributions import ActionDistribution
from nacre.training.state_action_features import (
    FARTHEST,
    MOST_PRODUCTS,
    N_ACTIONS,
    StateActionFeatures,
    draw_actions,
    draw_shifted,
)

STATES = Box(-np.inf, np.inf, (2,), np.float32)
DISCRETE = Signature(STATES, Discrete(3))
VECTORS = Signature(STATES, Box(-1.0, 1.0, (1,), np.float32))
Rows = NDArray[np.float32]


class Pushing(Policy):
    """The first coordinate and a push as the action, for sure."""

    push: float
    signature: Signature = eqx.field(static=True, default=VECTORS)

    def __call__(self, observations: jax.Array) -> ActionDistribution:
        return Deterministic(observations[..., :1] + self.push)


class Noisy(Pushing):
    """The same with normal noise."""

    def __call__(self, observations: jax.Array) -> ActionDistribution:
        location = observations[..., :1] + self.push
        return Gaussian(location, jnp.full_like(location, -3.0))


class Choosing(Policy):
    """One of three actions by logits that are linear in the state."""

    slopes: jax.Array
    signature: Signature = eqx.field(static=True, default=DISCRETE)

    def __call__(self, observations: jax.Array) -> ActionDistribution:
        return Categorical(observations @ self.slopes)


def draw_rows(n: int, width: int = 2, seed: int = 101) -> Rows:
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def make_log(signature: Signature, states: Rows | None = None, n: int = 200) -> Log:
    states = draw_rows(n) if states is None else states
    rng = np.random.default_rng(102)
    actions = (
        rng.integers(0, 3, len(states))
        if signature.discrete_actions
        else rng.uniform(-1, 1, (len(states), 1)).astype(np.float32)
    )
    return Log.from_arrays(
        observations=states,
        actions=actions,
        rewards=np.ones(len(states)),
        terminated=np.zeros(len(states), bool),
        next_observations=np.roll(states, -1, axis=0),
        offsets=np.arange(0, len(states) + 1, 10),
        action_space=signature.action_space,
    )


def draw(signature: Signature, size: int = 60, seed: int = 100) -> StateActionFeatures:
    rng = np.random.default_rng(seed)
    return StateActionFeatures.draw(make_log(signature), signature, size, rng)


@pytest.mark.parametrize("signature", [DISCRETE, VECTORS])
@pytest.mark.parametrize("size", [90, 256])
def test_shapes_and_about_as_many_features_as_asked_for(signature: Signature, size: int) -> None:
    features, log = draw(signature, size), make_log(signature)
    # Less than one feature of the state for each action is lost by rounding.
    assert size - 3 < features.size <= size
    policy = Choosing(jnp.ones((2, 3))) if signature.discrete_actions else Noisy(0.0)
    for found in (
        features.at(log.observations, log.actions),
        features.expect(log.observations, draw_actions(policy, log.observations)),
    ):
        assert found.shape == (len(log), features.size)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()


def test_there_are_always_some_random_units() -> None:
    assert draw(VECTORS, 1).slopes.shape == (3, 8)
    assert draw(DISCRETE, 1).slopes.shape == (2, 8)


def test_features_of_a_vector_with_an_action_by_hand() -> None:
    """1, x, products / 5 and tanh(x·slopes + offsets) of the scaled x = (state, action)."""
    features = dataclasses.replace(
        draw(VECTORS),
        shift=np.array([1.0, 0.0, 0.0], np.float32),
        scale=np.array([2.0, 1.0, 0.5], np.float32),
        slopes=np.array([[1.0], [0.0], [1.0]], np.float32),
        offsets=np.array([0.5], np.float32),
    )
    found = features.at(np.array([[5.0, 3.0]]), np.array([[-0.5]]))
    x, y, z = 2.0, 3.0, -1.0
    products = np.array([x * x, x * y, x * z, y * y, y * z, z * z]) / 5.0
    np.testing.assert_allclose(found[0], [1.0, x, y, z, *products, np.tanh(x + z + 0.5)], rtol=1e-6)
    assert features.size == found.shape[1] == 11


def test_a_discrete_action_has_its_own_features_and_zeros_elsewhere() -> None:
    """Feature-major, action-minor: index feature · n_actions + action."""
    features, states = draw(DISCRETE), draw_rows(5)
    per_action = features.size // 3
    seen = [
        features.at(states, np.full(5, action)).reshape(5, per_action, 3) for action in range(3)
    ]
    for action, found in enumerate(seen):
        np.testing.assert_array_equal(found[:, 0, action], 1.0)
        np.testing.assert_array_equal(np.delete(found, action, axis=2), 0.0)
        np.testing.assert_array_equal(found[:, :, action], seen[0][:, :, 0])
    mixed = features.at(states, np.array([0, 1, 2, 1, 0])).reshape(5, per_action, 3)
    for row, action in enumerate((0, 1, 2, 1, 0)):
        np.testing.assert_array_equal(mixed[row], seen[action][row])


def test_half_of_the_features_is_a_prefix_for_every_action() -> None:
    """Features of fewer random units are the first ones of all, whatever the action."""
    features, states = draw(DISCRETE), draw_rows(6)
    fewer = dataclasses.replace(
        features, slopes=features.slopes[:, :4], offsets=features.offsets[:4]
    )
    for action in range(3):
        actions = np.full(6, action)
        whole, part = features.at(states, actions), fewer.at(states, actions)
        np.testing.assert_allclose(part, whole[:, : fewer.size], rtol=1e-6, atol=1e-7)
    policy = Choosing(jnp.asarray(draw_rows(2, 3)))
    np.testing.assert_allclose(
        fewer.expect(states, draw_actions(policy, states)),
        features.expect(states, draw_actions(policy, states))[:, : fewer.size],
        rtol=1e-6,
        atol=1e-7,
    )


def test_the_mean_over_a_sure_policy_is_at_its_action() -> None:
    states = draw_rows(7) / 4
    vectors = draw(VECTORS)
    np.testing.assert_allclose(
        vectors.expect(states, draw_actions(Pushing(0.1), states)),
        vectors.at(states, states[:, :1] + 0.1),
        atol=1e-6,
    )
    discrete = draw(DISCRETE)
    # Logits of 1e4 · state: the larger coordinate decides between the first two actions.
    policy = Choosing(jnp.asarray([[1e4, 0.0, -1e6], [0.0, 1e4, -1e6]]))
    clear = np.abs(draw_rows(7))
    np.testing.assert_allclose(
        discrete.expect(clear, draw_actions(policy, clear)),
        discrete.at(clear, np.argmax(clear, axis=1)),
        atol=1e-6,
    )


def test_actions_are_held_within_their_limits() -> None:
    states, features = draw_rows(7), draw(VECTORS)
    np.testing.assert_allclose(
        features.expect(states, draw_actions(Pushing(50.0), states)),
        features.at(states, np.ones((7, 1))),
        atol=1e-6,
    )


def test_the_mean_over_a_categorical_policy_is_weighted_by_its_chances() -> None:
    features, states = draw(DISCRETE), draw_rows(9)
    slopes = draw_rows(2, 3, seed=103)
    weights = np.exp(states @ slopes)
    weights /= weights.sum(axis=1, keepdims=True)
    expected = sum(
        weights[:, [action]] * features.at(states, np.full(9, action)) for action in range(3)
    )
    found = features.expect(states, draw_actions(Choosing(jnp.asarray(slopes)), states))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_the_mean_over_a_noisy_policy_is_that_of_the_lattice_s_actions() -> None:
    """Narrow noise: near the features at the mean action, but not the same."""
    features, states = draw(VECTORS), draw_rows(50) / 4
    found = features.expect(states, draw_actions(Noisy(0.1), states))
    centre = features.at(states, states[:, :1] + 0.1)
    assert 0.0 < np.abs(found - centre).max() < 0.3
    np.testing.assert_allclose(found.mean(axis=0), centre.mean(axis=0), atol=0.02)


def test_coordinates_beyond_five_standard_deviations_are_taken_to_be_there() -> None:
    features = draw(DISCRETE)
    edge = features.shift + FARTHEST * features.scale * np.array([1.0, -1.0])
    beyond = features.shift + 1e6 * features.scale * np.array([1.0, -1.0])
    action = np.zeros(1, np.int64)
    at_edge, far = (features.at(row[None], action) for row in (edge, beyond))
    np.testing.assert_allclose(far, at_edge, rtol=1e-5, atol=1e-5)
    assert np.abs(far).max() == pytest.approx(FARTHEST)
    inside = features.at((features.shift + 4.0 * features.scale)[None], action)
    assert np.abs(inside).max() == pytest.approx(4.0, rel=1e-5)


def test_a_coordinate_that_never_changes_has_no_scale_of_its_own() -> None:
    states = draw_rows(100)
    states[:, 1] = 7.0
    log = make_log(DISCRETE, states)
    features = StateActionFeatures.draw(log, DISCRETE, 60, np.random.default_rng(0))
    assert features.scale[1] == 1.0
    found = features.at(states, np.zeros(100, np.int64)).reshape(100, -1, 3)[:, :, 0]
    np.testing.assert_array_equal(found[:, 2], 0.0)
    np.testing.assert_allclose(found[:, 1].std(), 1.0, rtol=1e-4)


def test_of_many_coordinates_only_the_squares_are_features() -> None:
    width = MOST_PRODUCTS + 1
    signature = Signature(Box(-np.inf, np.inf, (width,), np.float32), Discrete(3))
    log = make_log(signature, draw_rows(100, width))
    features = StateActionFeatures.draw(log, signature, 1, np.random.default_rng(0))
    assert features.size == 3 * (1 + width + width + 8)


def test_the_same_draws_and_rows_give_the_same_numbers() -> None:
    first, again, other = draw(VECTORS), draw(VECTORS), draw(VECTORS, seed=104)
    np.testing.assert_array_equal(first.slopes, again.slopes)
    assert not np.array_equal(first.slopes, other.slopes)
    states = draw_rows(20)
    for_zero = first.expect(states, draw_actions(Noisy(0.0), states))
    np.testing.assert_array_equal(
        first.expect(states, draw_actions(Noisy(0.0), states, 0)), for_zero
    )
    shifted = first.expect(states, draw_actions(Noisy(0.0), states, 8192))
    np.testing.assert_array_equal(
        again.expect(states, draw_actions(Noisy(0.0), states, 8192)), shifted
    )
    assert not np.array_equal(for_zero, shifted)
    # More rows behind do not change the noise of those before them.
    np.testing.assert_allclose(
        first.expect(states[:5], draw_actions(Noisy(0.0), states[:5])), for_zero[:5], atol=1e-6
    )


def test_noise_is_one_lattice_shifted_for_each_row() -> None:
    points = draw_shifted(3, 500, 2)
    assert points.shape == (N_ACTIONS, 500, 2)
    assert 0.0 < points.min() < points.max() < 1.0
    # Between two points of a row lies the same step of the lattice in every row.
    steps = (points[1].astype(np.float64) - points[0]) % 1.0
    np.testing.assert_allclose(np.cos(2 * np.pi * (steps - steps[0])), 1.0, atol=1e-4)
    np.testing.assert_allclose(points.mean(axis=(0, 1)), 0.5, atol=0.02)
