"""Mixtures of distributions over action vectors."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import groups
from nacre.policies.distributions import (
    Deterministic,
    Gaussian,
    Mixture,
)
from tests.support.distributions import deterministic, deterministic_and_uniform, uniform


def test_parts_of_weight_zero_are_never_drawn() -> None:
    parts = (Deterministic(jnp.array([1.0])), Deterministic(jnp.array([2.0])))
    noise = jnp.array([[0.0], [0.5], [1 - 2**-24], [1.0]])
    first = Mixture(jnp.array([1.0, 0.0]), parts).transform(noise)
    second = Mixture(jnp.array([0.0, 1.0]), parts).transform(noise)
    np.testing.assert_array_equal(first, np.full((4, 1), 1.0))
    np.testing.assert_array_equal(second, np.full((4, 1), 2.0))


def test_an_atom_has_a_probability_and_a_mixture_with_one_has_no_density() -> None:
    atom = deterministic()
    assert float(atom.log_prob(atom.action)) == 0.0
    assert float(atom.log_prob(atom.action + 1)) == -np.inf
    assert float(uniform().log_prob(jnp.array([5.0, 0.0, 0.0]))) == -np.inf
    with pytest.raises(TypeError, match="no density"):
        deterministic_and_uniform().log_prob(jnp.zeros(3))


def test_a_mixture_broadcasts_shared_weights_and_parts() -> None:
    part = Gaussian(jnp.zeros((4, 3)), jnp.zeros((4, 3)))
    mixture = Mixture(jnp.array([0.5, 0.5]), (part, deterministic()))
    assert mixture.batch_shape == (4,)
    assert mixture.action_size == 3

    @eqx.filter_jit
    def compute(mixture: Mixture) -> Any:
        drawn = mixture.sample(jax.random.key(0), (2,))
        return drawn, mixture.mode(), mixture.mass(groups.sign(0))

    drawn, mode, mass = compute(mixture)
    assert drawn.shape == (2, 4, 3)
    assert mode.shape == (4, 3)
    np.testing.assert_allclose(mass, [[0.75, 0.25]] * 4, rtol=1e-6)
