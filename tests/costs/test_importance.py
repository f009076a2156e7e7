"""Importance as data."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import Rule, RuleImportance, TableImportance
from nacre.errors import InputError

STATES = jnp.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, -5.0], [3.0, 0.0]])


def test_first_rule_that_holds_counts_and_bounds_are_strict() -> None:
    importance = RuleImportance((Rule(0, 4.0, above=0.0, below=2.0), Rule(1, 7.0, above=0.0)), 0.5)
    expected = [7.0, 4.0, 7.0, 0.5, 0.5]
    np.testing.assert_array_equal(importance(STATES), expected)
    np.testing.assert_array_equal(jax.jit(importance)(STATES), expected)
    np.testing.assert_array_equal(importance(STATES[None])[0], expected)


def test_a_rule_may_bind_from_below_only() -> None:
    np.testing.assert_array_equal(
        RuleImportance((Rule(1, 0.0, below=0.0),))(STATES), [1, 1, 1, 0, 1]
    )


def test_table_gives_each_state_its_weight() -> None:
    importance = TableImportance((3.0, 0.0, 1.0))
    np.testing.assert_array_equal(importance(jnp.array([[2, 0], [1, 1]])), [[1.0, 3.0], [0.0, 0.0]])


def test_importance_can_key_compiled_functions() -> None:
    first, second = (RuleImportance((Rule(0, 2.0, above=1.0),)) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert hash(TableImportance((1.0,))) == hash(TableImportance((1.0,)))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weights_must_be_prices(weight: float) -> None:
    for make in (
        lambda: Rule(0, weight, above=0.0),
        lambda: RuleImportance((), weight),
        lambda: TableImportance((1.0, weight)),
    ):
        with pytest.raises(InputError, match="must be finite and not negative"):
            make()


def test_impossible_rules_are_refused() -> None:
    with pytest.raises(InputError, match="coordinate -1 is negative"):
        Rule(-1, 1.0, above=0.0)
    with pytest.raises(InputError, match="has no bound"):
        Rule(0, 1.0)
    for bounds in ((1.0, 1.0), (2.0, 1.0), (math.nan, 1.0)):
        with pytest.raises(InputError, match="no number lies above"):
            Rule(0, 1.0, *bounds)
    with pytest.raises(InputError, match="list of weights is empty"):
        TableImportance(())


def test_importance_must_fit_the_observations() -> None:
    rules, table = RuleImportance((Rule(1, 1.0, above=0.0),)), TableImportance((1.0, 2.0))
    rules.check(Box(-1, 1, (2,)))
    table.check(Discrete(2))
    with pytest.raises(
        InputError, match=r"observation coordinate 1, the observations have 1 \(0 t"
    ):
        rules.check(Box(-1, 1, (1,)))
    with pytest.raises(InputError, match="by rules needs vector observations"):
        rules.check(Discrete(2))
    with pytest.raises(InputError, match="2 weights given for 3 states"):
        table.check(Discrete(3))
    with pytest.raises(InputError, match="needs discrete observations"):
        table.check(Box(-1, 1, (2,)))
