from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.networks import MLP, draw_weights


def test_forward_pass_agrees_with_numpy() -> None:
    network = MLP.init(jax.random.key(0), (3, 5, 4, 2), ("relu", "tanh", "identity"))
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    (w1, w2, w3), (b1, b2, b3) = (
        map(np.asarray, part) for part in (network.weights, network.biases)
    )
    expected = np.tanh(np.maximum(x @ w1 + b1, 0) @ w2 + b2) @ w3 + b3
    np.testing.assert_allclose(network(jnp.asarray(x)), expected, rtol=1e-5, atol=1e-6)
    assert network.sizes == (3, 5, 4, 2)


def test_one_layer_by_hand() -> None:
    network = MLP((jnp.array([[1.0, -1.0]]),), (jnp.array([0.5, 0.5]),), ("relu",))
    np.testing.assert_array_equal(network(jnp.array([[1.0], [-2.0]])), [[1.5, 0.0], [0.0, 2.5]])


def test_random_layers_lie_in_their_bounds_and_depend_on_the_key() -> None:
    network = MLP.init(jax.random.key(1), (16, 9, 4))
    assert network.activations == ("relu", "identity")
    for weight, bias, bound in zip(network.weights, network.biases, (1 / 4, 1 / 3), strict=True):
        for values in (weight, bias):
            assert np.all(np.abs(values) <= bound)
        assert float(jnp.std(weight)) == pytest.approx(bound / np.sqrt(3), rel=0.2)
    other = MLP.init(jax.random.key(2), (16, 9, 4))
    assert not np.array_equal(network.weights[0], other.weights[0])


def test_any_leading_shape_and_compiled_equal_rows_one_by_one() -> None:
    network = MLP.init(jax.random.key(0), (3, 8, 2))
    x = jax.random.normal(jax.random.key(1), (4, 5, 3))
    rows = np.array([[network(x[i, j]) for j in range(5)] for i in range(4)])
    np.testing.assert_allclose(network(x), rows, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(eqx.filter_jit(network)(x), rows, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MLP.init(jax.random.key(0), (3,)), "widths (3,)"),
        (lambda: MLP.init(jax.random.key(0), (3, 0, 2)), "all positive"),
        (lambda: MLP.init(jax.random.key(0), (3, 2), ("relu", "relu")), "2 activations"),
        (
            lambda: MLP.init(jax.random.key(0), (3, 2), cast(Any, ("swish",))),
            "unknown activation 'swish'",
        ),
        (lambda: MLP((), (), ()), "at least one layer"),
        (lambda: MLP((jnp.ones((3, 2)),), (jnp.ones(3),), ("relu",)), "layer 0: weight of shape"),
        (
            lambda: MLP(
                (jnp.ones((3, 2)), jnp.ones((4, 1))), (jnp.ones(2), jnp.ones(1)), ("relu", "relu")
            ),
            "layer 1 reads 4 numbers, the one before has 2 outputs",
        ),
    ],
)
def test_layers_that_do_not_fit_are_refused(build: Callable[[], MLP], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", [(3,), (2, 5, 7), (1, 1), (3, 20_000), (0, 4)])
def test_weights_are_those_of_the_generator(shape: tuple[int, ...]) -> None:
    """To the bit, drawn in whichever length, compiled or not."""
    key = jax.random.key(4)
    expected = jax.random.uniform(key, shape, minval=-0.3, maxval=0.3)
    np.testing.assert_array_equal(draw_weights(key, shape, 0.3), expected)
    compiled = jax.jit(lambda key: draw_weights(key, shape, 0.3))(key)
    np.testing.assert_array_equal(compiled, expected)
