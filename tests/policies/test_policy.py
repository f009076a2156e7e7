"""Signatures: the spaces between which a policy acts."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from nacre.errors import InputError
from nacre.policies import (
    Signature,
)
from nacre.policies.policy import describe_space
from tests.support.policies import CHOICE, CONTROL, FREE, TABLE, vectors


def test_signatures_compare_and_hash_by_content() -> None:
    again = Signature(vectors(3), vectors(2, 0.5))
    assert again == CONTROL
    assert hash(again) == hash(CONTROL)
    assert len({CONTROL, CHOICE, FREE, TABLE, again}) == 4
    assert Signature(vectors(3), vectors(2, 0.6)) != CONTROL
    assert CONTROL != "a text"
    double = Box(-np.ones(3) * np.inf, np.ones(3) * np.inf, dtype=np.float64)
    assert Signature(double, vectors(2, 0.5)) == CONTROL


def test_signature_sizes() -> None:
    assert (CONTROL.observation_size, CONTROL.action_size, CONTROL.discrete_actions) == (
        3,
        2,
        False,
    )
    assert (TABLE.observation_size, TABLE.action_size, TABLE.discrete_actions) == (5, 2, True)
    assert CONTROL.action_limits == ((-0.5, -0.5), (0.5, 0.5))


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Box(0, 1, (2, 3)), "action_space: a Box of shape (2, 3)"),
        (Discrete(3, start=1), "action_space: a Discrete space that starts at 1"),
        (MultiDiscrete([2, 2]), "action_space: MultiDiscrete"),
    ],
)
def test_spaces_that_policies_cannot_have_are_refused(
    space: gymnasium.Space[Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        Signature(vectors(3), space)
    assert message in str(caught.value)


def test_spaces_are_described_on_one_line() -> None:
    low = -np.arange(1, 41, dtype=np.float32)
    text = describe_space(Box(low, -low))
    assert "\n" not in text
    assert len(text) == 100
    assert describe_space(Discrete(3)) == "Discrete(3)"
