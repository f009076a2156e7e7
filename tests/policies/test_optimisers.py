"""Optimisers: made once for each setting, and a step by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax

from nacre.policies.optimisers import clipped_adam, falling_adam, init_memory


def test_equal_settings_share_an_optimiser() -> None:
    assert clipped_adam(0.1, 1.0) is clipped_adam(0.1, 1.0)
    assert falling_adam(0.1, 10) is not falling_adam(0.1, 20)


def test_one_vector_gives_the_numbers_of_many_arrays() -> None:
    arrays = {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(3)}
    gradient = {"weight": jnp.full((2, 3), 0.5), "bias": jnp.arange(3.0)}
    optimiser = clipped_adam(0.1, None)
    updates, _ = optimiser.update(gradient, init_memory(optimiser, arrays))
    plain = optax.adam(0.1)
    expected, _ = plain.update(gradient, plain.init(arrays))
    for name, update in updates.items():
        np.testing.assert_allclose(update, expected[name], rtol=1e-6)


def test_the_learning_rate_falls_to_zero() -> None:
    optimiser = falling_adam(0.1, 2)
    memory = init_memory(optimiser, jnp.zeros(1))
    steps = []
    for _ in range(3):
        update, memory = optimiser.update(jnp.ones(1), memory)
        steps.append(float(-update[0]))
    np.testing.assert_allclose(steps, [0.1, 0.05, 0.0], atol=1e-6)
