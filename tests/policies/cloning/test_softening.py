"""Softmax policies from greedy ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies import (
    Categorical,
    soften,
)
from tests.support.policies import ROWS, expect, make_policy


def test_softened_policies_choose_alike() -> None:
    greedy = make_policy("greedy")
    soft = soften(greedy, ROWS, confidence=0.9)
    said = soft(jnp.asarray(ROWS))
    np.testing.assert_array_equal(said.mode(), greedy(jnp.asarray(ROWS)).mode())
    top = np.max(expect(Categorical, said).probabilities, axis=-1)
    assert np.mean(top) == pytest.approx(0.9, abs=1e-3)
    assert np.min(expect(Categorical, said).probabilities) > 0
    gradient = jax.grad(lambda rows: jnp.sum(expect(Categorical, soft(rows)).probabilities[:, 0]))(
        jnp.asarray(ROWS)
    )
    assert np.any(np.asarray(gradient) != 0)


def test_what_cannot_be_softened() -> None:
    with pytest.raises(InputError, match="'greedy'"):
        soften(make_policy("categorical"), ROWS)
    with pytest.raises(InputError, match="a confidence between"):
        soften(make_policy("greedy"), ROWS, confidence=0.2)
