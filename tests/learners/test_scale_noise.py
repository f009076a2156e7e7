"""Policies with less noise: exactly so much less, the same middle."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.learners.base import Learner, LearningProblem
from nacre.learners.scale_noise import LEAST_LOG_STD, ScaleNoise, scale_noise
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy
from nacre.training.progress import NoProgress
from tests.support.rooms import DISCOUNT, make_cost, make_policy, make_rooms_log

PLANE = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
BOX = gymnasium.spaces.Box(-1.0, 2.0, (2,), np.float32)
STATES = jnp.asarray(np.random.default_rng(0).normal(size=(50, 3)), jnp.float32)


def make_network(head: Head) -> MLPPolicy:
    space = gymnasium.spaces.Discrete(4) if head in ("categorical", "greedy") else BOX
    return MLPPolicy.init(jax.random.key(1), Signature(PLANE, space), head=head, hidden=(8,))


@pytest.mark.parametrize("head", ["squashed_gaussian", "gaussian", "clipped_gaussian"])
@pytest.mark.parametrize("factor", [0.3, 0.9, 1e-3])
def test_gaussians_keep_their_middle_and_lose_noise(head: Head, factor: float) -> None:
    policy = make_network(head)
    scaled = scale_noise(policy, factor)
    assert scaled is not None
    old: Any = policy(STATES)
    new: Any = scaled(STATES)
    np.testing.assert_array_equal(new.location, old.location)
    np.testing.assert_array_equal(new.mode(), old.mode())
    np.testing.assert_allclose(new.std, factor * old.std, rtol=1e-5)
    assert isinstance(scaled, MLPPolicy)
    scaled.check()


@pytest.mark.parametrize("raw", [5.0, 2.0, -30.0])
def test_noise_at_a_bound_becomes_less_too(raw: float) -> None:
    """Outputs beyond the bounds of log standard deviations are cut off there, before and after."""
    policy = make_network("squashed_gaussian")
    forced = eqx.tree_at(
        lambda p: (p.network.weights[-1], p.network.biases[-1]),
        policy,
        (policy.network.weights[-1].at[:, 2:].set(0.0), jnp.array([0.1, 0.2, raw, raw])),
    )
    scaled = scale_noise(forced, 0.5)
    assert scaled is not None
    old: Any = forced(STATES)
    new: Any = scaled(STATES)
    np.testing.assert_allclose(new.std, 0.5 * old.std, rtol=1e-5)


def test_least_noise_stays_what_a_file_may_hold() -> None:
    policy = make_network("gaussian")
    scaled = scale_noise(policy, 1e-12)
    assert isinstance(scaled, MLPPolicy)
    assert scaled.log_std_bounds[0] == LEAST_LOG_STD
    scaled.check()


@pytest.mark.parametrize("factor", [0.5, 0.2])
def test_choices_become_sharper(factor: float) -> None:
    """Probabilities to the power 1 / factor: the order stays, the entropy falls."""
    policies: list[tuple[Policy, jax.Array]] = [
        (make_network("categorical"), STATES),
        (
            TabularPolicy.from_probabilities([[0.2, 0.5, 0.3, 0.0], [0.1, 0.2, 0.3, 0.4]]),
            jnp.array([0, 1]),
        ),
    ]
    for policy, states in policies:
        rows = jnp.asarray(states)
        scaled = scale_noise(policy, factor)
        assert scaled is not None
        said: list[Any] = [one(rows) for one in (policy, scaled)]
        old, new = (np.asarray(one.probabilities, np.float64) for one in said)
        expected = old ** (1 / factor)
        expected /= expected.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(new, expected, atol=1e-5)
        np.testing.assert_array_equal(new.argmax(axis=-1), old.argmax(axis=-1))
        assert np.all(new.max(axis=-1) > old.max(axis=-1))


class Foreign(Policy):
    """A policy whose noise is not ours to change."""

    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    "policy",
    [
        make_network("greedy"),
        make_network("deterministic"),
        TabularPolicy.from_probabilities([[0.0, 1.0], [1.0, 0.0]]),
        Foreign(Signature(PLANE, BOX)),
    ],
    ids=["greedy", "deterministic", "certain table", "foreign"],
)
def test_what_has_no_noise_of_ours_is_left(policy: Policy) -> None:
    assert scale_noise(policy, 0.3) is None


# As a learner


def pose(table: np.ndarray) -> LearningProblem:
    log = make_rooms_log()
    return LearningProblem(log, make_policy(table), make_cost(1.0), log.starts, DISCOUNT)


def test_one_candidate_is_proposed() -> None:
    learner: Learner = ScaleNoise(0.5)
    assert isinstance(learner, Learner)
    problem = pose(np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert learner.applies(problem) == ""
    (candidate,) = learner.learn(jax.random.key(0), problem, NoProgress())
    assert (candidate.name, learner.name) == ("noise-0.5", "noise-0.5")
    assert candidate.origin == "the old policy with 0.5 of its noise"
    assert candidate.curve == ()
    squares = np.array([[0.04, 0.64], [0.36, 0.16]])
    assert isinstance(candidate.policy, TabularPolicy)
    expected = squares / squares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(candidate.policy.table, expected, rtol=1e-5)


def test_without_noise_it_does_not_apply() -> None:
    learner, problem = ScaleNoise(), pose(np.eye(2))
    assert "no noise" in learner.applies(problem)
    assert list(learner.learn(jax.random.key(0), problem, NoProgress())) == []


@pytest.mark.parametrize("factor", [0.0, 1.0, -0.5, float("nan")])
def test_factors_lie_between_0_and_1(factor: float) -> None:
    with pytest.raises(InputError, match="factor = "):
        ScaleNoise(factor)
