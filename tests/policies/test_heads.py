"""Heads: parameters as distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.policies import (
    MLP,
    ActionDistribution,
    Categorical,
    Deterministic,
    Gaussian,
    MLPPolicy,
    Signature,
    SquashedGaussian,
)
from nacre.policies.heads import Head, default_head
from tests.support.policies import CHOICE, CONTROL, FREE, TABLE, expect, vectors


def test_default_heads() -> None:
    assert default_head(CONTROL) == "squashed_gaussian"
    assert default_head(FREE) == "gaussian"
    assert default_head(CHOICE) == "categorical"
    flat = Box(np.array([0.0, -1.0], np.float32), np.array([0.0, 1.0], np.float32))
    assert default_head(Signature(vectors(3), flat)) == "gaussian"


@pytest.mark.parametrize(
    ("signature", "head", "kind"),
    [
        (CONTROL, None, SquashedGaussian),
        (FREE, None, Gaussian),
        (CHOICE, None, Categorical),
        (TABLE, None, Categorical),
        (CONTROL, "deterministic", Deterministic),
    ],
)
def test_heads_make_distributions_of_the_right_kind_and_shape(
    signature: Signature, head: Head | None, kind: type[ActionDistribution]
) -> None:
    policy = MLPPolicy.init(jax.random.key(0), signature, head=head, hidden=(8,))
    discrete = isinstance(signature.observation_space, Discrete)
    observations = jnp.arange(4) if discrete else jnp.ones((4, 3))
    distribution = policy(observations)
    assert type(distribution) is kind
    assert distribution.batch_shape == (4,)
    assert policy.action_space is signature.action_space
    sample = distribution.sample(jax.random.key(1))
    assert sample.shape == ((4,) if signature.discrete_actions else (4, 2))


def test_a_gaussian_head_by_hand() -> None:
    weight = jnp.array([[1.0, 2.0], [0.0, 30.0]])
    network = MLP((weight,), (jnp.array([0.5, -1.0]),), ("identity",))
    signature = Signature(vectors(2), vectors(1))
    policy = MLPPolicy(network, None, signature, "gaussian")
    distribution = policy(jnp.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    np.testing.assert_allclose(expect(Gaussian, distribution).location[:, 0], [1.5, 0.5, 0.5])
    # 2·1 - 1, then 30 - 1 and -30 - 1 clipped to [-20, 2].
    np.testing.assert_allclose(expect(Gaussian, distribution).log_std[:, 0], [1.0, 2.0, -20.0])


def test_a_deterministic_head_stays_in_the_action_box() -> None:
    network = MLP((jnp.eye(3, 2) * 3,), (jnp.zeros(2),), ("identity",))
    policy = MLPPolicy(network, None, CONTROL, "deterministic")
    np.testing.assert_allclose(
        expect(Deterministic, policy(jnp.array([[1.0, -1.0, 0.0], [0.1, 0.0, 0.0]]))).action,
        [[0.5, -0.5], [0.3, 0.0]],
    )


def network(*sizes: int) -> MLP:
    return MLP.init(jax.random.key(0), sizes)
