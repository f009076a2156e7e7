"""Hidden confounding that would turn a switch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacre.advice.confounding import describe_confounding
from tests.support.rooms import (
    BEST,
    DISCOUNT,
    OLD,
    Table,
    find_rooms_advice,
    make_policy,
    make_rooms_log,
)


def describe(low: float, cost: float = 0.0, new: Table = BEST) -> dict[str, Any]:
    return describe_confounding(
        make_rooms_log(), make_policy(OLD), make_policy(new), DISCOUNT, low=low, cost=cost
    )


def test_what_is_not_proven_needs_no_turning() -> None:
    assert describe(0.5, 0.5) == {}
    assert describe(-1.0) == {}
    assert describe(float("nan")) == {}


def test_a_larger_gain_takes_stronger_confounding() -> None:
    factors = [describe(low)["factor"] for low in (0.01, 0.2, 1.0)]
    assert all(factor > 1.0 for factor in factors)
    assert factors == sorted(factors)
    assert factors[0] < factors[2]
    # The cost counts as much as the gain.
    assert describe(1.2, 1.0)["factor"] == pytest.approx(factors[1], rel=1e-3)
    assert f"{factors[1]:.2f}" in describe(0.2)["text"]


def test_only_a_switch_says_it() -> None:
    switch, other = find_rooms_advice().record, find_rooms_advice(50.0).record
    assert switch.confounding["text"]
    assert other.confounding == {}


def test_an_action_that_neither_policy_takes_prefers_none() -> None:
    """A foreign episode's action is impossible for both: no warning, and a number all the same."""
    never = np.eye(OLD.shape[1])[np.zeros(len(OLD), int)]
    said = describe_confounding(
        make_rooms_log(), make_policy(never), make_policy(never), DISCOUNT, low=1.0, cost=0.0
    )
    assert said["text"]
