"""Break-even: at the returned prices nothing is left, and repricing is recomputing."""

from __future__ import annotations

import dataclasses
import json
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nacre.costs import GeneralTransportCost, GlobalCost, LocalCost, SwitchingCost, TransportCost
from nacre.costs import groups as action_groups
from nacre.inference.break_even import (
    BreakEven,
    Price,
    draw_grid,
    find_break_even,
    find_price,
    reprice,
)
from nacre.inference.gain import Gain
from nacre.policies import TabularPolicy
from nacre.simulators import random_policy, random_world

DIFFERENCES = np.array([9.0, 10.0, 11.0])
PRICE = Price(5.0, 1.0, 0.25, 0.75)
GAIN = Gain(DIFFERENCES, PRICE.total, cost_error=0.1)

weights = st.floats(0.0, 20.0)


def test_the_cost_is_linear_in_its_weights() -> None:
    assert PRICE.total == 5.0 * 0.25 + 1.0 * 0.75
    assert PRICE.at(8.0, 0.0) == 2.0
    assert PRICE.at(0.0, 4.0) == 3.0


def test_expected_break_even_by_hand() -> None:
    """Ten to gain: c_l · 0.25 + 0.75 = 10 at c_l = 37; 1.25 + c_t · 0.75 = 10 at c_t = 35/3."""
    found = find_break_even(GAIN, PRICE, 0.95)
    assert found.expected_learning_weight == pytest.approx(37.0, rel=1e-12)
    assert found.expected_transaction_weight == pytest.approx(35 / 3, rel=1e-12)


@given(
    st.lists(st.floats(-50, 50), min_size=3, max_size=6).map(np.array),
    weights,
    weights,
    st.floats(0.01, 1.0),
    st.floats(0.0, 0.5),
    st.floats(0.0, 2.0),
    st.none() | st.floats(-50, 50),
)
def test_at_the_returned_weights_nothing_is_left(
    differences: np.ndarray,
    learning: float,
    transaction: float,
    mass: float,
    error: float,
    doubt: float,
    pessimistic: float | None,
) -> None:
    """The bound is zero there to 1e-9, or below it although the weight is free."""
    price = Price(learning, transaction, mass, 1.0 - 0.9 * mass)
    gain = Gain(differences, price.total, error * price.total, doubt, pessimistic)
    found = find_break_even(gain, price, 0.9)
    for name, weight in (("learning", found.learning_weight), ("other", found.transaction_weight)):
        assert weight is not None
        at = (weight, transaction) if name == "learning" else (learning, weight)
        bound = reprice(gain, price, *at).bound(0.9)
        assert abs(bound) < 1e-9 if weight > 0 else bound < 1e-9
    expected = found.expected_learning_weight
    assert expected is not None
    mean = reprice(gain, price, expected, transaction).mean
    assert abs(mean) < 1e-9 if expected > 0 else mean < 1e-9
    assert found.learning_weight <= expected + 1e-9  # type: ignore[operator]


@given(weights, weights)
def test_the_verdict_turns_there(learning: float, transaction: float) -> None:
    found = find_break_even(GAIN, PRICE, 0.95)
    assert found.learning_weight is not None
    assume(abs(learning - found.learning_weight) > 1e-6)
    pays = reprice(GAIN, PRICE, learning, PRICE.transaction_weight).bound(0.95) > 0
    assert pays == (learning < found.learning_weight)


@given(weights, weights)
def test_repricing_is_recomputing(learning: float, transaction: float) -> None:
    """Another cost, its error in proportion; everything else stays."""
    total = learning * 0.25 + transaction * 0.75
    expected = Gain(DIFFERENCES, total, 0.1 * total / 2.0)
    found = reprice(GAIN, PRICE, learning, transaction)
    assert found.cost == pytest.approx(total, abs=1e-12)
    assert found.bound(0.95) == pytest.approx(expected.bound(0.95), abs=1e-9)
    assert found.differences is GAIN.differences


def test_the_same_price_is_the_same_gain() -> None:
    again = reprice(GAIN, PRICE, PRICE.learning_weight, PRICE.transaction_weight)
    assert (again.cost, again.cost_error) == (GAIN.cost, GAIN.cost_error)


def test_the_grid_holds_the_bounds_at_each_pair_of_prices() -> None:
    learning, transaction = [0.0, 5.0, 40.0], [0.0, 1.0]
    grid = draw_grid(GAIN, PRICE, 0.95, learning, transaction)
    assert np.shape(grid) == (3, 2)
    for row, c_l in zip(grid, learning, strict=True):
        for bound, c_t in zip(row, transaction, strict=True):
            assert bound == reprice(GAIN, PRICE, c_l, c_t).bound(0.95)
    assert grid[1][1] == GAIN.bound(0.95)
    assert np.all(np.diff(grid, axis=0) < 0)
    assert np.all(np.diff(grid, axis=1) < 0)
    assert grid[0][0] > 0 > grid[2][1]


def test_what_moves_no_mass_turns_nothing() -> None:
    found = find_break_even(GAIN, Price(5.0, 1.0, 0.0, 1.0), 0.95)
    assert (found.learning_weight, found.expected_learning_weight) == (None, None)
    assert found.transaction_weight is not None
    rounding = find_break_even(GAIN, Price(5.0, 1.0, 1.0, 1e-12), 0.95)
    assert rounding.transaction_weight is None


def test_a_candidate_that_gains_nothing_even_for_free() -> None:
    loss = dataclasses.replace(GAIN, differences=-DIFFERENCES)
    assert find_break_even(loss, PRICE, 0.95) == BreakEven(0.0, 0.0, 0.0, 0.0)
    unproven = dataclasses.replace(GAIN, doubt=9.9)
    found = find_break_even(unproven, PRICE, 0.95)
    assert found.learning_weight == 0.0
    assert found.expected_learning_weight == pytest.approx(37.0, rel=1e-12)


def test_critics_that_all_agree_turn_where_the_mean_does() -> None:
    certain = Gain(np.full(3, 0.3), 0.1 * 0.7)
    found = find_break_even(certain, Price(0.1, 0.0, 0.7, 0.3), 0.95)
    assert found.learning_weight == pytest.approx(3 / 7, rel=1e-9)
    assert found.learning_weight == pytest.approx(found.expected_learning_weight, rel=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_known_has_no_break_even(bad: float) -> None:
    nothing = BreakEven(None, None, None, None)
    for broken in (
        Gain(np.array([1.0, bad, 2.0]), 1.0),
        dataclasses.replace(GAIN, doubt=bad),
        dataclasses.replace(GAIN, pessimistic=bad),
        dataclasses.replace(GAIN, cost=bad),
    ):
        assert find_break_even(broken, PRICE, 0.95) == nothing
    assert json.dumps(nothing.as_json(), allow_nan=False).count("null") == 4


def test_a_free_switch_has_no_error_to_scale() -> None:
    free = Gain(DIFFERENCES, 0.0)
    found = reprice(free, Price(0.0, 0.0, 0.5, 0.5), 4.0, 2.0)
    assert (found.cost, found.cost_error) == (3.0, 0.0)


HALVES = action_groups.indices([[0, 1], [2, 3]])
LINE = [[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 1.0], [3.0, 2.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    "cost",
    [
        TransportCost(5.0, 0.5, HALVES),
        TransportCost(5.0, 0.0, HALVES, importance=lambda states: 1.0 + states),
        GeneralTransportCost(5.0, 0.0, HALVES, learning_ground=LINE, transaction_ground=LINE),
        dataclasses.replace(TransportCost(5.0, 0.5, HALVES), link="times_states"),
        LocalCost(3.0),
    ],
    ids=["transport", "importance", "general", "times_states", "local"],
)
def test_prices_of_every_linear_cost_are_what_the_cost_says_at_other_weights(
    cost: SwitchingCost,
) -> None:
    """To 1e-5: the masses are single precision."""
    world = random_world(0, 3, 4)
    tables = [random_policy(seed, world) for seed in (1, 2)]
    old, new = (TabularPolicy.from_probabilities(table) for table in tables)
    log = world.sample_log(tables[0], 50, seed=0, horizon=25)
    breakdown = cost.evaluate(old, new, log)
    price = find_price(cost, breakdown, old, new, log)
    assert price.total == pytest.approx(breakdown.total, rel=1e-5)
    for learning, transaction in ((2.0, 1.0), (7.0, 0.0), (4.0, 4.0)):
        other = dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction)
        expected = other.evaluate(old, new, log).total
        assert price.at(learning, transaction) == pytest.approx(expected, rel=1e-5)


def test_a_cost_that_is_not_linear_in_its_weights_has_no_break_even() -> None:
    world = random_world(0, 3, 4)
    tables = [random_policy(seed, world) for seed in (1, 2)]
    old, new = (TabularPolicy.from_probabilities(table) for table in tables)
    log = world.sample_log(tables[0], 50, seed=0, horizon=25)
    bent = dataclasses.replace(TransportCost(5.0, 0.5, HALVES), link=jnp.sqrt)
    for cost in (GlobalCost(2.0), bent):
        price = find_price(cost, cost.evaluate(old, new, log), old, new, log)
        found = find_break_even(Gain(DIFFERENCES, 2.0), price, 0.95)
        assert found == BreakEven(None, None, None, None)
    unchanged = LocalCost(3.0)
    same = find_price(unchanged, unchanged.evaluate(old, old, log), old, old, log)
    assert (same.learning_mass, same.transaction_mass) == (0.0, 0.0)
