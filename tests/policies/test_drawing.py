"""Uniform numbers drawn as a vector are those of any shape."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from nacre.policies.drawing import draw_uniform


@pytest.mark.parametrize("shape", [(), (7,), (64, 11), (3, 5, 2), (4, 0)])
def test_numbers_are_those_of_the_library_to_the_bit(shape: tuple[int, ...]) -> None:
    key = jax.random.key(3)
    drawn = draw_uniform(key, shape)
    assert drawn.shape == shape
    np.testing.assert_array_equal(drawn, jax.random.uniform(key, shape))
