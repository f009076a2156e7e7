"""Policies on finitely many states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike

from nacre.errors import InputError
from nacre.policies import (
    Signature,
    TabularPolicy,
)


def test_tables() -> None:
    table = np.array([[0.25, 0.75], [1.0, 0.0]])
    policy = TabularPolicy.from_probabilities(table)
    np.testing.assert_allclose(policy.table, table, rtol=1e-6)
    np.testing.assert_allclose(
        policy(jnp.array([1, 0, 1])).probabilities, table[[1, 0, 1]], rtol=1e-6
    )
    assert policy.signature == Signature(Discrete(2), Discrete(2))
    with jax.enable_x64(True):
        exact = TabularPolicy.from_probabilities([[0.1, 0.9]])
        np.testing.assert_allclose(exact.table, [[0.1, 0.9]], rtol=1e-15)


@pytest.mark.parametrize(
    "table",
    [[0.5, 0.5], [[0.5, 0.4]], [[-0.1, 1.1]], [[np.nan, 1.0]], np.zeros((0, 2)), np.zeros((2, 0))],
)
def test_tables_that_are_no_probabilities_are_refused(table: ArrayLike) -> None:
    with pytest.raises(InputError, match="is not a matrix of probabilities"):
        TabularPolicy.from_probabilities(table)
