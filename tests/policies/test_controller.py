from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import MLP, Controller, MLPPolicy, Policy, Signature, TabularPolicy

VECTORS = Box(-np.inf, np.inf, (3,), np.float32)
LIMITED = Box(np.array([-1.0, 0.0], np.float32), np.array([0.5, 2.0], np.float32))


@pytest.fixture(params=["vectors to vectors", "vectors to choice", "table"])
def policy(request: pytest.FixtureRequest) -> Policy:
    if request.param == "table":
        return TabularPolicy.from_probabilities(np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]]))
    action_space = LIMITED if request.param == "vectors to vectors" else Discrete(4)
    return MLPPolicy.init(jax.random.key(0), Signature(VECTORS, action_space), hidden=(8,))


def observations(policy: Policy, n: int) -> np.ndarray:
    if isinstance(policy.observation_space, Discrete):
        return np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)


def test_one_observation_gives_one_action_and_many_give_many(policy: Policy) -> None:
    controller = Controller(policy)
    batch = observations(policy, 5)
    many, state = controller.predict(batch, deterministic=True)
    assert state is None
    assert many.shape == (5, *(policy.action_space.shape or ()))
    assert many.dtype == policy.action_space.dtype
    for row, expected in zip(batch, many, strict=True):
        one, _ = controller.predict(row, deterministic=True)
        assert isinstance(one, np.ndarray)
        assert policy.action_space.contains(one)
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-6)
    assert controller.predict(batch[:0])[0].shape == (0, *(policy.action_space.shape or ()))


def test_deterministic_actions_are_modes_and_leave_the_draws_alone(policy: Policy) -> None:
    batch = observations(policy, 6)
    controller, other = Controller(policy, seed=3), Controller(policy, seed=3)
    for _ in range(3):
        modes, _ = controller.predict(batch, deterministic=cast(bool, np.True_))
        np.testing.assert_allclose(modes, policy(jnp.asarray(batch)).mode(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(controller.predict(batch)[0], other.predict(batch)[0])


def test_draws_are_reproduced_by_the_seed_and_differ_from_call_to_call(policy: Policy) -> None:
    batch = np.repeat(observations(policy, 1), 64, axis=0)
    first, again, other = (Controller(policy, seed=seed) for seed in (1, 1, 2))
    runs = [[c.predict(batch)[0] for _ in range(2)] for c in (first, again, other)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert not np.array_equal(runs[0][0], runs[0][1])
    assert all(policy.action_space.contains(action) for action in runs[0][0])


def test_the_state_is_handed_back(policy: Policy) -> None:
    state = (np.ones(2),)
    _, returned = Controller(policy).predict(
        observations(policy, 1), state, np.array([True]), deterministic=True
    )
    assert returned is state


def test_unbounded_heads_are_clipped_to_the_action_space() -> None:
    network = MLP((jnp.zeros((3, 4)),), (jnp.array([9.0, -9.0, 0.0, 0.0]),), ("identity",))
    policy = MLPPolicy(network, None, Signature(VECTORS, LIMITED), "gaussian")
    action, _ = Controller(policy).predict(np.zeros(3), deterministic=True)
    np.testing.assert_array_equal(action, np.array([0.5, 0.0], np.float32))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros(2), "observation of shape (2,): give shape (3,) or (batch, 3)"),
        (np.zeros((4, 2)), "observation of shape (4, 2)"),
        (np.zeros((2, 2, 3)), "observation of shape (2, 2, 3)"),
        (0.5, "observation of shape ()"),
        ([0.0, np.nan, 0.0], "observation[1] is NaN or infinite"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, np.inf]], "observation[1, 2] is NaN or infinite"),
        ([0.0, 1e300, 0.0], "observation[1] is NaN or infinite in float32"),
        (["a", "b", "c"], "is not made of numbers"),
        ([[0.0], [1.0, 2.0]], "is not made of numbers"),
        ([1j, 0.0, 0.0], "is not made of numbers"),
        (None, "is not made of numbers"),
    ],
)
def test_wrong_vectors_are_refused(observation: object, message: str) -> None:
    policy = MLPPolicy.init(jax.random.key(0), Signature(VECTORS, LIMITED), hidden=(8,))
    with pytest.raises(InputError) as caught:
        Controller(policy).predict(observation)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (3, "lies outside Discrete(3): give a whole number from 0 to 2"),
        ([0, -1], "lies outside"),
        (0.5, "of type float64"),
        (True, "of type bool"),
        (np.zeros((2, 2), int), "shape (2, 2)"),
        ("left", "give a whole number from 0 to 2"),
        ([[0], [1, 2]], "give a whole number from 0 to 2"),
    ],
)
def test_wrong_numbers_are_refused(observation: object, message: str) -> None:
    policy = TabularPolicy.from_probabilities(np.full((3, 2), 0.5))
    with pytest.raises(InputError) as caught:
        Controller(policy).predict(observation)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
