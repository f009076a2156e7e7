"""Prices: linear in their weights where the cost is, and as uncertain as their parts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.costs import FiniteStates, LocalCost, TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.costs.links import Link
from nacre.inference.price import LEAST_MASS, Price, find_price
from nacre.logs import Log
from nacre.policies import TabularPolicy

OLD = TabularPolicy.from_probabilities(np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]))
NEW = TabularPolicy.from_probabilities(np.array([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]]))
LOG = Log.from_arrays(
    np.array([0, 1]),
    np.array([0, 0]),
    np.zeros(2),
    np.ones(2, bool),
    next_observations=np.array([0, 1]),
    offsets=np.arange(3),
    observation_space=Discrete(2),
    action_space=Discrete(3),
)
PARTITION = groups.indices([[0], [1, 2]])
TRANSPORT = TransportCost(4.0, 1.0, PARTITION, state_measure=FiniteStates())


def price_of(cost: SwitchingCost, *, uncertainty: float = 0.0) -> Price:
    breakdown = cost.evaluate(OLD, NEW, LOG)
    return find_price(cost, breakdown, OLD, NEW, LOG, uncertainty=uncertainty)


def test_total_and_other_weights_by_hand() -> None:
    price = Price(2.0, 1.0, 0.3, 0.7, fixed=0.5, error=0.36)
    assert price.total == pytest.approx(0.5 + 0.6 + 0.7)
    assert price.at(0.0, 0.0) == 0.5
    assert price.at(10.0, 1.0) - price.at(9.0, 1.0) == pytest.approx(0.3)
    assert price.relative_error == pytest.approx(0.2)
    assert price.fixed_error == 0.0
    free = Price(0.0, 0.0, 0.3, 0.7, error=1.0)
    assert (free.relative_error, free.fixed_error) == (0.0, 1.0)


def test_the_least_cost_is_a_cost() -> None:
    """From the least mass on an error is a share of it, below it is on its own."""
    least = Price(0.0, 0.0, 0.0, 0.0, fixed=LEAST_MASS, error=1.0)
    assert (least.relative_error, least.fixed_error) == (1.0 / LEAST_MASS, 0.0)
    less = dataclasses.replace(least, fixed=LEAST_MASS / 2)
    assert (less.relative_error, less.fixed_error) == (0.0, 1.0)


@pytest.mark.parametrize(("moved", "per_mass"), [(LEAST_MASS, True), (LEAST_MASS / 2, False)])
def test_the_least_mass_is_priced_by_what_it_costs(moved: float, per_mass: bool) -> None:
    """A tenth of the old policy is uncertain, at a weight of 2.5 for each unit of moved mass."""
    cost = LocalCost(2.5)
    breakdown = dataclasses.replace(cost.evaluate(OLD, NEW, LOG), learning_mass=moved)
    price = find_price(cost, breakdown, OLD, NEW, LOG, uncertainty=0.1)
    scale = price.learning_mass / moved if per_mass else 1.0
    assert price.error == pytest.approx(0.1 * 2.5 * scale)


def test_masses_of_the_transport_cost() -> None:
    """0.3 leaves the first group in one of two states: L = 0.15, T = (0.7 + 1) / 2."""
    price = price_of(TRANSPORT)
    assert price.learning_mass == pytest.approx(0.15, abs=1e-6)
    assert price.transaction_mass == pytest.approx(0.85, abs=1e-6)
    assert price.fixed == price.error == 0.0
    assert price.total == pytest.approx(TRANSPORT.evaluate(OLD, NEW, LOG).total, rel=1e-6)


@pytest.mark.parametrize("cost", [TRANSPORT, LocalCost(2.5)], ids=["transport", "local"])
def test_the_price_is_the_cost_at_every_weight(cost: SwitchingCost) -> None:
    price = price_of(cost)
    assert price.total == pytest.approx(cost.evaluate(OLD, NEW, LOG).total, rel=1e-6)
    twice = dataclasses.replace(
        cost,
        learning_weight=2 * cost.learning_weight,
        transaction_weight=2 * cost.transaction_weight,
    )
    at_twice = price.at(twice.learning_weight, twice.transaction_weight)
    assert at_twice == pytest.approx(twice.evaluate(OLD, NEW, LOG).total, rel=1e-6)


@pytest.mark.parametrize("link", ["identity", "times_states"])
def test_at_its_own_weights_it_is_the_cost_to_the_last_digit(link: Link) -> None:
    """In so many states that flows in single precision do not add up to one."""
    rng = np.random.default_rng(100)
    old, new = (TabularPolicy.from_probabilities(rng.dirichlet(np.ones(3), 999)) for _ in "ab")
    cost = TransportCost(0.7, 0.3, PARTITION, state_measure=FiniteStates(), link=link)
    breakdown = cost.evaluate(old, new)
    assert find_price(cost, breakdown, old, new, LOG).total == pytest.approx(
        breakdown.total, rel=1e-15
    )
    assert abs(breakdown.flows.sum() - 1.0) > 1e-7


def test_what_is_not_linear_is_fixed() -> None:
    price = price_of(dataclasses.replace(TRANSPORT, link="positive"))
    assert (price.learning_mass, price.transaction_mass, price.fixed) == (0.0, 0.0, 1.0)
    assert price.at(100.0, 50.0) == price.total == 1.0


def test_errors_of_weights_and_of_the_old_policy_add_in_squares() -> None:
    """Weights off by 1 and 0.2; a tenth of the old policy may move between groups for 4 - 1."""
    loose = dataclasses.replace(TRANSPORT, weight_errors=(1.0, 0.2))
    assert price_of(loose).error == pytest.approx(math.hypot(0.15, 0.2 * 0.85), abs=1e-6)
    assert price_of(TRANSPORT, uncertainty=0.1).error == pytest.approx(0.3, rel=1e-5)
    both = price_of(loose, uncertainty=0.1).error
    assert both == pytest.approx(math.hypot(0.15, 0.17, 0.3), abs=1e-6)
