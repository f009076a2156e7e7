"""Uniform distributions and single points."""

import math

import jax.numpy as jnp
import numpy as np

from nacre.costs import groups
from nacre.policies.distributions import (
    Deterministic,
    Gaussian,
    Uniform,
)


def test_box_mass_by_hand() -> None:
    normal = Gaussian(jnp.array([1.0]), jnp.array([math.log(2.0)]))
    below = 0.3085375387259869  # Φ(-1/2)
    np.testing.assert_allclose(normal.mass(groups.sign(0)), [below, 1 - below], rtol=1e-6)
    flat = Uniform(jnp.array([-1.0, 0.0]), jnp.array([3.0, 1.0]))
    np.testing.assert_allclose(
        flat.mass(groups.thresholds({0: [0.0], 1: [0.5]})), [0.125, 0.125, 0.375, 0.375]
    )


def test_an_atom_on_a_threshold_belongs_to_the_group_below() -> None:
    atoms = Deterministic(jnp.array([[-0.5], [0.0], [0.5]]))
    np.testing.assert_array_equal(atoms.mass(groups.sign(0)), [[1, 0], [1, 0], [0, 1]])
