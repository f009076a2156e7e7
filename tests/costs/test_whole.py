"""Costs of whole policies: prices, breakdowns, gradients, and functions that fail."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nacre
from nacre.costs import FiniteStates, ValueTerms, describe_cost, format_cost
from nacre.costs.description import holds_code
from nacre.costs.whole import WholePolicyCost
from nacre.errors import InputError
from nacre.policies import TabularPolicy
from nacre.policies.mixture import mix_policies

OLD, NEW = (
    TabularPolicy.from_probabilities(table)
    for table in ([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])
)


def table_of(policy: Any) -> Any:
    return policy(jnp.arange(2)).probabilities


def largest_change(old: Any, new: Any) -> Any:
    return jnp.max(jnp.abs(table_of(old) - table_of(new)))


def count_rules(old: Any, new: Any) -> float:
    return float(len(np.unique(np.asarray(table_of(new)).argmax(axis=1))))


def make_cost(function: Any = largest_change, weight: float = 8.0) -> WholePolicyCost:
    cost = nacre.PolicyCost(function, weight, state_measure=FiniteStates())
    assert isinstance(cost, WholePolicyCost)
    return cost


def test_the_price_is_the_weight_times_the_function() -> None:
    cost = make_cost()
    found = cost.evaluate(OLD, NEW)
    assert (found.total, found.learning, found.transaction) == (8.0, 8.0, 0.0)
    assert found.standard_error == 0.0
    assert found.learning_mass == pytest.approx(0.5)
    np.testing.assert_allclose(found.per_state, [16.0, 0.0])
    assert cost.evaluate(OLD, OLD).total == 0.0
    half = mix_policies(OLD, NEW, 0.5)
    assert cost.evaluate(OLD, half).total == pytest.approx(4.0)
    shared = dataclasses.replace(cost, terms=ValueTerms("€", 2.0, 4.0)).per_episode()
    assert shared.evaluate(OLD, NEW).total == pytest.approx(1.0)


def test_functions_in_jax_have_gradients_and_others_are_not_traced() -> None:
    cost, counted = make_cost(), make_cost(count_rules)
    assert cost.untraceable(OLD) == ""
    assert "not written in jax.numpy" in counted.untraceable(OLD)
    assert counted.evaluate(OLD, NEW).total == 16.0

    def price(table: Any) -> Any:
        new = TabularPolicy(jnp.log(table), OLD.signature)
        return cost.at(OLD, new, jnp.arange(2), jax.random.key(0), prices=jnp.array([2.0, 0.0]))

    new = jnp.array([[0.4, 0.6], [0.5, 0.5]])
    assert float(price(new)) == pytest.approx(1.2, abs=1e-6)
    slope = np.asarray(jax.grad(price)(new))
    assert np.abs(slope[0]).sum() > 0
    assert not slope[1].any()


def test_such_a_cost_has_no_file_form_and_is_described_by_its_function() -> None:
    cost = make_cost()
    described = describe_cost(cost)
    assert described["kind"] == "policies"
    assert described["weight"] == 8.0
    assert described["function"].endswith("largest_change")
    assert holds_code(cost)
    assert not holds_code(nacre.LocalCost())
    assert holds_code(dataclasses.replace(nacre.LocalCost(), link=lambda x: x))
    with pytest.raises(InputError, match="no file form, a part of it is Python code"):
        format_cost(cost)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda old, new: -1.0, "gives -1.0: a price must be finite and not negative"),
        (lambda old, new: float("nan"), "gives nan: a price must be finite"),
        (lambda old, new: new.missing, "failed for a TabularPolicy and a TabularPolicy: .*missing"),
        (lambda old, new: "much", "it should ask policies by policy.states. and give a number"),
    ],
)
def test_functions_that_give_no_price_are_named(function: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_cost(function).evaluate(OLD, NEW)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InputError, match="function = 3: give a function"):
        nacre.PolicyCost(3)  # type: ignore[arg-type]
