"""Switches by region: the new policy there, the old one elsewhere."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import MLPPolicy, Signature, TabularPolicy
from nacre.policies.region import parse_region, switch_region

OLD, NEW = np.full((3, 2), 0.5), np.array([[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]])


def make_network(seed: int) -> MLPPolicy:
    signature = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))
    return MLPPolicy.init(jax.random.key(seed), signature, hidden=(4,))


def test_a_region_of_tables_is_a_table() -> None:
    old, new = (TabularPolicy.from_probabilities(table) for table in (OLD, NEW))
    found = switch_region(old, new, parse_region("states 0, 2"))
    assert isinstance(found, TabularPolicy)
    np.testing.assert_allclose(found.table, np.stack([NEW[0], OLD[1], NEW[2]]), atol=1e-6)


@pytest.mark.parametrize("text", ["1 >= 0.25", "speed >= 0.25", "1 <= 0.25"])
def test_a_coordinate_tells_where(text: str) -> None:
    old, new = make_network(1), make_network(2)
    states = jnp.asarray(np.random.default_rng(100).normal(size=(20, 2)), jnp.float32)
    region = parse_region(text, ("position", "speed"))
    found = switch_region(old, new, region)(states)
    within = np.asarray(states[:, 1] >= 0.25)
    if "<=" in text:
        within = ~within
    said: list[Any] = [new(states), old(states), found]
    expected = np.where(within[:, None], said[0].probabilities, said[1].probabilities)
    np.testing.assert_allclose(said[2].probabilities, expected, atol=1e-6)


def test_what_is_no_region_is_refused() -> None:
    with pytest.raises(InputError, match="expected NAME >= NUMBER"):
        parse_region("speed > 3")
    with pytest.raises(InputError, match="expected NAME >= NUMBER"):
        parse_region("speed >= 3", ("position",))
    old = TabularPolicy.from_probabilities(OLD)
    with pytest.raises(InputError, match="want numbered states"):
        switch_region(old, old, parse_region("0 >= 1"))
    network = make_network(1)
    with pytest.raises(InputError, match="have 2 coordinates"):
        switch_region(network, network, parse_region("7 >= 1"))
    with pytest.raises(InputError, match="different spaces"):
        switch_region(network, old, parse_region("0 >= 1"))
