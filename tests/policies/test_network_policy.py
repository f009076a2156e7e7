"""Policies that are a network with a head."""

import math
from collections.abc import Callable
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from nacre.costs import groups
from nacre.errors import InputError
from nacre.policies import (
    MLP,
    Categorical,
    MLPPolicy,
    Policy,
    Scaling,
    Signature,
)
from nacre.policies.heads import Head
from tests.support.policies import CHOICE, CONTROL, FREE, TABLE, expect, vectors


def test_discrete_observations_are_rows_of_the_first_layer() -> None:
    policy = MLPPolicy.init(jax.random.key(0), TABLE, hidden=())
    expected = policy.network.weights[0] + policy.network.biases[0]
    np.testing.assert_allclose(
        expect(Categorical, policy(jnp.arange(5))).logits, expected, rtol=1e-6
    )


def test_scaling_standardises_a_log_and_spares_constant_columns() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 4)) * [2.0, 1e-8, 0.0, 0.0] + [5.0, 0.0, 7.0, 0.1]
    scaling = Scaling.fit(rows)
    scaled = np.asarray(scaling(jnp.asarray(rows)))
    np.testing.assert_allclose(scaled[:, :2].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled[:, :2].std(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(scaled[:, 2:], 0, atol=1e-6)
    same = Scaling.identity(4)(jnp.asarray(rows))
    np.testing.assert_allclose(same, rows, rtol=1e-6)


@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros(3), np.array([[1.0, np.nan]])])
def test_scaling_refuses_what_it_cannot_scale(rows: np.ndarray) -> None:
    with pytest.raises(InputError, match="cannot be scaled"):
        Scaling.fit(rows)


def test_scaling_is_applied_before_the_first_layer_and_never_trained() -> None:
    scaling = Scaling(jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 4.0, 8.0]))
    plain = MLPPolicy.init(jax.random.key(0), CHOICE, hidden=(8,))
    scaled = MLPPolicy.init(jax.random.key(0), CHOICE, hidden=(8,), scaling=scaling)
    x = jnp.array([[3.0, -2.0, 11.0]])
    np.testing.assert_allclose(
        expect(Categorical, scaled(x)).logits,
        expect(Categorical, plain(jnp.array([[1.0, -1.0, 1.0]]))).logits,
        rtol=1e-6,
    )
    gradient = eqx.filter_grad(lambda policy: jnp.sum(expect(Categorical, policy(x)).logits))(
        scaled
    )
    assert not np.any(gradient.scaling.shift)
    assert not np.any(gradient.scaling.scale)
    assert np.any(gradient.network.weights[0])


def network(*sizes: int) -> MLP:
    return MLP.init(jax.random.key(0), sizes)


@pytest.mark.parametrize(
    ("build", "messages"),
    [
        (lambda: MLPPolicy(network(3, 2), None, CONTROL, "categorical"), ["does not fit action"]),
        (lambda: MLPPolicy(network(3, 4), None, CHOICE, "deterministic"), ["use 'categorical'"]),
        (
            lambda: MLPPolicy(network(3, 4), None, CONTROL, cast(Head, "soft")),
            ["unknown head 'soft'; known:"],
        ),
        (
            lambda: MLPPolicy(network(2, 3), None, CONTROL, "gaussian"),
            ["last layer has 3 outputs", "needs 4", "first layer has 2 inputs"],
        ),
        (
            lambda: MLPPolicy(network(3, 4), None, FREE, "squashed_gaussian"),
            ["finite action bounds", "or use head 'gaussian'"],
        ),
        (
            lambda: MLPPolicy(
                network(3, 2), None, Signature(vectors(3), vectors(1, 0.0)), "squashed_gaussian"
            ),
            ["lower ones below upper ones"],
        ),
        (
            lambda: MLPPolicy(network(3, 4), None, FREE, "gaussian", (2.0, -20.0)),
            ["log_std_bounds (2.0, -20.0)"],
        ),
        (
            lambda: MLPPolicy(network(3, 4), None, FREE, "gaussian", (math.nan, 2.0)),
            ["log_std_bounds (nan, 2.0)"],
        ),
        (
            lambda: MLPPolicy(network(3, 4), Scaling.identity(2), CHOICE, "categorical"),
            ["needs 3 shifts"],
        ),
        (
            lambda: MLPPolicy(
                network(3, 4), Scaling(jnp.zeros(3), jnp.zeros(3)), CHOICE, "categorical"
            ),
            ["as many positive scales"],
        ),
        (
            lambda: MLPPolicy(network(5, 2), Scaling.identity(5), TABLE, "categorical"),
            ["discrete observations are not scaled"],
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    build: Callable[[], MLPPolicy], messages: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        build().check()
    for message in messages:
        assert message in str(caught.value)
    assert all("\n" not in problem for problem in caught.value.problems)


def test_a_second_equal_policy_does_not_compile_again() -> None:
    traces = []

    @eqx.filter_jit
    def masses(policy: MLPPolicy, observations: Array) -> Array:
        traces.append(policy.head)
        return policy(observations).mass(groups.sign(0))

    x = jnp.ones((4, 3))

    def build(key: int, limit: float) -> MLPPolicy:
        signature = Signature(vectors(3), vectors(2, limit))
        return MLPPolicy.init(jax.random.key(key), signature, hidden=(8,))

    first, second = masses(build(0, 0.5), x), masses(build(1, 0.5), x)
    assert len(traces) == 1
    assert not np.allclose(first, second)
    masses(build(0, 0.7), x)
    assert len(traces) == 2


def share(policy: Policy, x: Array) -> Array:
    return policy(x).mass(groups.sign(0))[..., 0]


def test_compilation_and_batches_go_through_a_policy() -> None:
    policy = MLPPolicy.init(jax.random.key(0), CONTROL, hidden=(8,))
    x = jax.random.normal(jax.random.key(1), (6, 3))
    compiled = eqx.filter_jit(share)
    together = share(policy, x)
    np.testing.assert_allclose(compiled(policy, x), together, rtol=1e-5)
    np.testing.assert_allclose([compiled(policy, row) for row in x], together, rtol=1e-5)
    mapped = jax.jit(jax.vmap(lambda row: share(policy, row)))
    np.testing.assert_allclose(mapped(x), together, rtol=1e-5)


def test_policies_made_in_a_batch_are_a_batch_of_policies() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    members = eqx.filter_vmap(lambda key: MLPPolicy.init(key, CONTROL, hidden=(8,)))(keys)
    x = jax.random.normal(jax.random.key(1), (6, 3))
    shares = eqx.filter_jit(eqx.filter_vmap(share, in_axes=(eqx.if_array(0), None)))(members, x)
    last = MLPPolicy.init(keys[2], CONTROL, hidden=(8,))
    np.testing.assert_allclose(shares[2], share(last, x), rtol=1e-5)


def test_gradients_go_through_a_policy() -> None:
    with jax.enable_x64(True):
        policy = MLPPolicy.init(jax.random.key(0), CONTROL, hidden=(8,))
        x = jax.random.normal(jax.random.key(1), (6, 3))

        def first_layer(policy: MLPPolicy) -> Array:
            return policy.network.weights[0]

        @jax.jit
        def total(step: float) -> Array:
            weight = first_layer(policy).at[1, 2].add(step)
            return jnp.sum(share(eqx.tree_at(first_layer, policy, weight), x))

        gradient = eqx.filter_jit(eqx.filter_grad(lambda p: jnp.sum(share(p, x))))(policy)
        difference = (total(1e-6) - total(-1e-6)) / 2e-6
        assert float(first_layer(gradient)[1, 2]) == pytest.approx(float(difference), rel=1e-6)
