"""Mini-batches are trees of columns: what is not there stays away."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from nacre.training.batches import Batch


def test_columns_that_are_not_there_are_no_leaves() -> None:
    """Six columns of every log; a target is one more, and rows of all are taken together."""
    column = jnp.arange(4.0)
    plain = Batch(column, column, column, column, column, column)
    assert len(jax.tree.leaves(plain)) == 6
    targeted = dataclasses.replace(plain, targets=column)
    taken = jax.tree.map(lambda column: column[jnp.array([3, 1])], targeted)
    assert len(jax.tree.leaves(taken)) == 7
    np.testing.assert_array_equal(taken.targets, [3.0, 1.0])
    assert taken.resampling is None
