"""The family of switching costs: definitions, parts, errors, gradients, compilation."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space
from jax.flatten_util import ravel_pytree

from nacre.costs import (
    CostBreakdown,
    Difference,
    FiniteStates,
    GeneralTransportCost,
    GlobalCost,
    LocalCost,
    LogStates,
    SwitchingCost,
    TableImportance,
    Transport,
    TransportCost,
    UniformBox,
    WeightedStates,
    family,
    groups,
    parse_cost,
)
from nacre.costs.links import Link
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import MLPPolicy, Policy, Signature, TabularPolicy
from nacre.policies.heads import Head
from tests.support.policies import expect

KEY = jax.random.key(0)
PLANE = Box(-np.inf, np.inf, (2,))
PUSHES = Box(-1.0, 1.0, (3,))
STATES = np.random.default_rng(0).standard_normal((300, 2)).astype(np.float32)
Kind = Literal["tabular"] | Head
"""Of a pair of policies."""
Plan = Literal["transport", "independent", "optimal"]
SIGNS = TransportCost(5.0, 0.5, groups.thresholds({0: [-0.2, 0.3]}))


def make_policy(
    seed: int,
    observations: Space[Any] = PLANE,
    actions: Space[Any] = PUSHES,
    head: Head | None = None,
) -> MLPPolicy:
    signature = Signature(observations, actions)
    policy = MLPPolicy.init(jax.random.key(seed), signature, head=head, hidden=(8,))
    # Random networks hardly depend on the state: sharpen their first layer.
    weights = (3.0 * policy.network.weights[0], *policy.network.weights[1:])
    return expect(MLPPolicy, eqx.tree_at(lambda p: p.network.weights, policy, weights))


OLD, NEW = make_policy(1), make_policy(2)
UNKNOWN: Any = "log"
"""A link that does not exist."""


def random_table(seed: int, states: int = 7, actions: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(actions), states)


@pytest.fixture(scope="module")
def priced() -> CostBreakdown:
    return SIGNS.evaluate(OLD, NEW, STATES)


def count_changes(old: np.ndarray, new: np.ndarray) -> int:
    return int(np.any(old != new, axis=1).sum())


@pytest.mark.parametrize("changed", [[], [2], [0, 3, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_local_and_global_costs_are_recovered(changed: list[int]) -> None:
    """Table "CoveredSC": the number of states that differ, and whether any does."""
    old, new = random_table(0), random_table(0)
    new[changed] = random_table(1)[changed]
    policies = TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(new)
    local, anywhere = count_changes(old, new), float(count_changes(old, new) > 0)
    assert local == len(changed)
    for cost, expected in (
        (LocalCost(), local),
        (parse_cost('kind = "local"'), local),
        (LocalCost(2.5), 2.5 * local),
        (parse_cost('kind = "local"\nweight = 2.5'), 2.5 * local),
        (GlobalCost(), anywhere),
        (parse_cost('kind = "global"'), anywhere),
        (GlobalCost(40.0), 40.0 * anywhere),
        (parse_cost('kind = "global"\nweight = 40.0'), 40.0 * anywhere),
        (SwitchingCost(Difference(), 1.0, 1.0, FiniteStates(), link="times_states"), local),
    ):
        breakdown = cost.evaluate(*policies)
        assert breakdown.total == pytest.approx(expected, abs=1e-12)
        assert breakdown.standard_error == 0.0
        assert breakdown.n_states == 7
        np.testing.assert_array_equal(breakdown.per_state > 0, np.isin(np.arange(7), changed))
        assert float(cost.at(*policies, jnp.arange(7), KEY)) == pytest.approx(expected, abs=1e-5)


def test_two_groups_are_the_cost_of_the_main_text() -> None:
    """𝓛 = |π_o(A₁) - π_n(A₁)| and 𝓣 = Σ min: state by state from the tables."""
    old, new = random_table(0), random_table(1)
    cost = TransportCost(3.0, 0.2, groups.halves(), state_measure=FiniteStates())
    breakdown = cost.evaluate(
        TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(new)
    )
    a, b = old[:, :2].sum(axis=1), new[:, :2].sum(axis=1)
    learning, transaction = np.abs(a - b), np.minimum(a, b) + np.minimum(1 - a, 1 - b)
    np.testing.assert_allclose(breakdown.per_state, 3 * learning + 0.2 * transaction, rtol=1e-6)
    assert breakdown.learning == pytest.approx(3.0 * learning.mean(), rel=1e-6)
    assert breakdown.transaction == pytest.approx(0.2 * transaction.mean(), rel=1e-6)
    assert breakdown.group_names == ("actions 0-1", "actions 2-3")


def test_parts_add_up(priced: CostBreakdown) -> None:
    assert priced.total == pytest.approx(priced.learning + priced.transaction, rel=1e-12)
    assert priced.total == pytest.approx(priced.per_state.mean(), rel=1e-12)
    assert priced.learning == pytest.approx(5.0 * priced.learning_mass, rel=1e-5)
    assert priced.transaction == pytest.approx(0.5 * priced.transaction_mass, rel=1e-5)
    assert priced.learning_mass + priced.transaction_mass == pytest.approx(1.0, abs=1e-5)
    assert priced.learning_mass > 0.01
    assert priced.standard_error == 0.0
    assert priced.n_states == 300
    assert priced.per_state.shape == (300,)
    assert np.ptp(priced.per_state) > 0.1


def test_flows_lead_from_old_to_new_masses(priced: CostBreakdown) -> None:
    transport = SIGNS.statewise
    assert isinstance(transport, Transport)
    old, new = (
        np.asarray(policy(jnp.asarray(STATES)).mass(transport.groups)) for policy in (OLD, NEW)
    )
    np.testing.assert_allclose(priced.flows.sum(axis=1), old.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(priced.flows.sum(axis=0), new.mean(axis=0), atol=1e-6)
    assert priced.flows.min() >= 0


def test_unchanged_policy_pays_the_transaction_weight() -> None:
    breakdown = SIGNS.evaluate(OLD, OLD, STATES)
    assert breakdown.total == pytest.approx(0.5, rel=1e-6)
    assert breakdown.learning == 0.0


def test_result_as_text_and_json(priced: CostBreakdown) -> None:
    form = json.loads(json.dumps(priced.as_json(), allow_nan=False))
    assert form["total"] == priced.total
    assert form["groups"] == list(priced.group_names)
    assert np.array(form["flows"]).shape == (3, 3)
    assert "±" not in repr(priced)
    assert f"total={priced.total:.6g}, learning=" in repr(priced)
    sure = dataclasses.replace(priced, standard_error=0.25)
    assert "± 0.25" in repr(sure)
    assert sure.as_json()["standard_error"] == 0.25
    unknown = dataclasses.replace(priced, standard_error=math.nan)
    assert unknown.as_json()["standard_error"] is None


@pytest.mark.parametrize("n", [family.CHUNK, 2 * family.CHUNK + 5])
def test_chunks_do_not_matter(n: int) -> None:
    states = np.random.default_rng(1).standard_normal((n, 2)).astype(np.float32)
    comparison = SIGNS.statewise.compare(OLD(jnp.asarray(states)), NEW(jnp.asarray(states)), KEY)
    costs = np.asarray(SIGNS.statewise_cost(comparison), np.float64)
    breakdown = SIGNS.evaluate(OLD, NEW, states)
    np.testing.assert_allclose(breakdown.per_state, costs, rtol=1e-5)
    assert breakdown.total == pytest.approx(costs.mean(), rel=1e-6)
    np.testing.assert_allclose(breakdown.flows, comparison.flows.mean(axis=0), atol=1e-5)


def test_few_states_at_once_where_comparisons_are_large(
    monkeypatch: pytest.MonkeyPatch, priced: CostBreakdown
) -> None:
    # Nine cells a state: seven states at once, then one.
    for cells in (63, 1):
        monkeypatch.setattr(family, "CELLS", cells)
        breakdown = SIGNS.evaluate(OLD, NEW, STATES)
        np.testing.assert_allclose(breakdown.per_state, priced.per_state, rtol=1e-5)
        np.testing.assert_allclose(breakdown.flows, priced.flows, atol=1e-6)


def test_batch_is_a_loop(priced: CostBreakdown) -> None:
    each = [SIGNS.evaluate(OLD, NEW, STATES[i : i + 1]).total for i in range(10)]
    np.testing.assert_allclose(each, priced.per_state[:10], rtol=1e-5)


def test_compiled_is_eager(priced: CostBreakdown) -> None:
    eager = SIGNS.at(OLD, NEW, jnp.asarray(STATES), KEY)
    compiled = eqx.filter_jit(SIGNS.at)(OLD, NEW, jnp.asarray(STATES), KEY)
    np.testing.assert_allclose(compiled, eager, rtol=1e-6)
    np.testing.assert_allclose(eager, priced.total, rtol=1e-5)


class CountedImportance:
    """Counts how often it is traced; all of them are equal."""

    traces = 0

    def __call__(self, states: jax.Array) -> jax.Array:
        CountedImportance.traces += 1
        return jnp.ones(states.shape[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountedImportance)

    def __hash__(self) -> int:
        return 1


def test_equal_costs_are_compiled_once(priced: CostBreakdown) -> None:
    def make(price: float, link: Link = "identity") -> SwitchingCost:
        cuts = groups.thresholds({0: [-0.2, 0.3]})
        return TransportCost(price, 0.5, cuts, importance=CountedImportance(), link=link)

    assert make(5.0) == make(5.0)
    assert hash(make(5.0)) == hash(make(5.0))
    assert make(5.0) != make(6.0)
    first = make(5.0).evaluate(OLD, NEW, STATES)
    traces = CountedImportance.traces
    assert traces > 0
    # Neither an equal cost, nor another policy, price, link or measure of as many states.
    make(5.0).evaluate(OLD, make_policy(3), STATES)
    higher = make(6.0).evaluate(OLD, NEW, STATES)
    make(5.0, "positive").evaluate(OLD, NEW, STATES)
    given = dataclasses.replace(make(5.0), state_measure=WeightedStates(STATES))
    assert given.evaluate(OLD, NEW).total == pytest.approx(first.total, rel=1e-12)
    assert CountedImportance.traces == traces
    assert higher.total - first.total == pytest.approx(first.learning_mass, rel=1e-4)

    @eqx.filter_jit
    def price(cost: SwitchingCost, policy: Policy) -> jax.Array:
        return cost.at(OLD, policy, jnp.asarray(STATES), KEY)

    price(make(5.0), NEW)
    traces = CountedImportance.traces
    price(make(5.0), make_policy(3))
    assert CountedImportance.traces == traces


def test_costs_from_files_equal_those_from_python() -> None:
    text = """
        kind = "general"
        learning_weight = 5
        transaction_weight = 0.1
        groups = { kind = "sign" }
        states = { measure = "given", states = [[0.0, 1.0]] }
        plan = { learning_ground = "one", coupling = "optimal" }
    """
    price: Any = np.float32(5.0)
    cost = GeneralTransportCost(
        price,
        0.1,
        groups.sign(0),
        learning_ground="one",
        plan="optimal",
        state_measure=WeightedStates(np.array([[0.0, 1.0]], np.float32)),
    )
    assert parse_cost(text) == cost
    assert hash(parse_cost(text)) == hash(cost)


def test_log_gives_its_states(priced: CostBreakdown) -> None:
    log = Log.from_arrays(
        STATES,
        np.zeros((300, 3), np.float32),
        np.zeros(300),
        np.ones(300, bool),
        next_observations=STATES,
        observation_space=PLANE,
        action_space=PUSHES,
    )
    assert SIGNS.evaluate(OLD, NEW, log).total == pytest.approx(priced.total, rel=1e-6)
    assert SIGNS.evaluate(OLD, NEW, jnp.asarray(STATES)).total == priced.total
    some = dataclasses.replace(SIGNS, state_measure=LogStates(50)).evaluate(OLD, NEW, log, seed=3)
    assert some.n_states == 50
    assert some.standard_error > 0
    assert np.all(np.isclose(some.per_state[:, None], priced.per_state, rtol=1e-5).any(axis=1))


def test_weights_of_states_count() -> None:
    policies = (
        TabularPolicy.from_probabilities(random_table(0)),
        TabularPolicy.from_probabilities(random_table(1)),
    )
    weights = np.random.default_rng(2).dirichlet(np.ones(7))
    plain = TransportCost(3.0, 0.2, groups.halves(), state_measure=FiniteStates())
    costs = plain.evaluate(*policies).per_state
    for measure in (FiniteStates(tuple(weights)), WeightedStates(np.arange(7), weights)):
        breakdown = dataclasses.replace(plain, state_measure=measure).evaluate(*policies)
        assert breakdown.total == pytest.approx(weights @ costs, rel=1e-9)
        assert breakdown.flows.sum() == pytest.approx(1.0, abs=1e-6)
        assert breakdown.standard_error == 0.0
    weighted = plain.at(*policies, jnp.arange(7), KEY, jnp.asarray(weights))
    assert float(weighted) == pytest.approx(weights @ costs, rel=1e-5)
    twice = WeightedStates(np.array([3, 3, 1]))
    breakdown = dataclasses.replace(plain, state_measure=twice).evaluate(*policies)
    assert breakdown.total == pytest.approx((2 * costs[3] + costs[1]) / 3, rel=1e-6)


class Norm(eqx.Module):
    """An importance with parameters of its own."""

    scale: jax.Array

    def __call__(self, states: jax.Array) -> jax.Array:
        return jnp.asarray(self.scale * jnp.linalg.norm(states, axis=-1))


@pytest.mark.parametrize(
    ("importance", "weights"),
    [
        (lambda states: states[:, 0] > 0, STATES[:, 0] > 0),
        (lambda states: 2.0, np.full(300, 2.0)),
        (Norm(jnp.array(3.0)), 3 * np.linalg.norm(STATES, axis=1)),
    ],
)
def test_importance_is_any_function(
    importance: Callable[[jax.Array], jax.Array], weights: np.ndarray, priced: CostBreakdown
) -> None:
    cost = dataclasses.replace(SIGNS, importance=importance)
    breakdown = cost.evaluate(OLD, NEW, STATES)
    np.testing.assert_allclose(breakdown.per_state, weights * priced.per_state, rtol=1e-5)
    assert breakdown.total == pytest.approx(np.mean(weights * priced.per_state), rel=1e-5)
    assert breakdown.total == pytest.approx(breakdown.learning + breakdown.transaction, rel=1e-12)
    assert breakdown.flows.sum() == pytest.approx(np.mean(weights), rel=1e-5)
    assert float(cost.at(OLD, NEW, jnp.asarray(STATES), KEY)) == pytest.approx(
        breakdown.total, rel=1e-5
    )


def test_importance_must_be_one_number_a_state() -> None:
    cost = dataclasses.replace(SIGNS, importance=lambda states: states[:, :1])
    text = r"shape \(300, 1\) for states of shape \(300, 2\); it must give one number"
    with pytest.raises(InputError, match=text):
        cost.at(OLD, NEW, jnp.asarray(STATES), KEY)
    with pytest.raises(InputError, match=text):
        cost.evaluate(OLD, NEW, STATES)
    table = dataclasses.replace(SIGNS, importance=TableImportance((1.0,)))
    with pytest.raises(InputError, match="needs discrete observations"):
        table.check(PLANE, PUSHES)


def test_links(priced: CostBreakdown) -> None:
    links: tuple[tuple[Link, float], ...] = (
        ("identity", priced.total),
        ("positive", 1.0),
        (jnp.sqrt, math.sqrt(priced.total)),
        (lambda x: 3 * x + 1, 3 * priced.total + 1),
    )
    for link, expected in links:
        breakdown = dataclasses.replace(SIGNS, link=link).evaluate(OLD, NEW, STATES)
        assert breakdown.total == pytest.approx(expected, rel=1e-12)
        assert breakdown.learning == priced.learning
    free = TransportCost(5.0, 0.0, groups.sign(0), link="positive")
    assert free.evaluate(OLD, OLD, STATES).total == 0.0
    with pytest.raises(InputError, match="multiplies by the number of states, observations"):
        dataclasses.replace(SIGNS, link="times_states").evaluate(OLD, NEW, STATES)
    with pytest.raises(InputError, match=r"the link gives nan for the average cost .*finite there"):
        dataclasses.replace(SIGNS, link=lambda x: jnp.sqrt(-x)).evaluate(OLD, NEW, STATES)


def test_standard_error_goes_through_the_link() -> None:
    drawn = dataclasses.replace(SIGNS, state_measure=UniformBox(3.0, 100))
    plain = drawn.evaluate(OLD, NEW)
    assert plain.standard_error == pytest.approx(plain.per_state.std(ddof=1) / 10)
    rooted = dataclasses.replace(drawn, link=jnp.sqrt).evaluate(OLD, NEW)
    slope = 0.5 / math.sqrt(plain.total)
    assert rooted.standard_error == pytest.approx(slope * plain.standard_error, rel=1e-9)
    single = dataclasses.replace(drawn, state_measure=UniformBox(3.0, 1)).evaluate(OLD, NEW)
    assert math.isnan(single.standard_error)
    assert drawn.evaluate(OLD, NEW, seed=1).total != plain.total
    assert drawn.evaluate(OLD, NEW, seed=0).total == plain.total


def price_often(cost: SwitchingCost, log: np.ndarray | None = None) -> list[CostBreakdown]:
    return [cost.evaluate(OLD, NEW, log, seed=seed) for seed in range(200)]


def share_within(prices: list[CostBreakdown], truth: float) -> float:
    """Share of prices whose interval of 1.96 standard errors holds the truth."""
    return float(np.mean([abs(p.total - truth) <= 1.96 * p.standard_error for p in prices]))


@pytest.mark.parametrize("measure", [UniformBox(3.0, 80), LogStates(80)], ids=["box", "log"])
def test_standard_errors_of_drawn_states_are_calibrated(measure: UniformBox | LogStates) -> None:
    whole = LogStates() if isinstance(measure, LogStates) else UniformBox(3.0, 400_000)
    truth = dataclasses.replace(SIGNS, state_measure=whole).evaluate(OLD, NEW, STATES).total
    prices = price_often(dataclasses.replace(SIGNS, state_measure=measure), STATES)
    assert 0.88 <= share_within(prices, truth) <= 0.99


def test_standard_errors_of_drawn_actions_are_calibrated() -> None:
    """At all states of a log only the actions are drawn, else both."""
    cost = GeneralTransportCost(5.0, 0.5, groups.sign(0), n_samples=2)
    prices = price_often(cost, STATES[:40])
    # Without bias, so that the mean of 200 has a fourteenth of the error of one.
    truth = float(np.mean([price.total for price in prices]))
    assert 0.88 <= share_within(prices, truth) <= 0.99
    some = dataclasses.replace(cost, state_measure=LogStates(20))
    assert 0.88 <= share_within(price_often(some, STATES[:40]), truth) <= 0.99


PRICED = {
    "transport": SIGNS,
    "general": GeneralTransportCost(2.0, 1.0, groups.sign(0), n_samples=2),
    "link": dataclasses.replace(SIGNS, link=jnp.sqrt),
    "importance": dataclasses.replace(SIGNS, importance=lambda states: 1.0 + states[..., 0] ** 2),
}


@pytest.mark.parametrize("kind", PRICED)
def test_prices_that_are_given_stand_in_for_the_cost_s_own(kind: str) -> None:
    """As arrays in a compiled function: one program for all prices, the same numbers to 1e-5."""
    cost, states = PRICED[kind], jnp.asarray(STATES[:40])
    compiled = 0

    @jax.jit
    def priced(prices: jax.Array) -> jax.Array:
        nonlocal compiled
        compiled += 1
        return cost.at(OLD, NEW, states, KEY, prices=prices)

    for learning, transaction in ((7.0, 0.25), (1.0, 1.0), (3.0, 0.0)):
        other = dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction)
        expected = other.at(OLD, NEW, states, KEY)
        found = priced(jnp.array([learning, transaction]))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert compiled == 1
    np.testing.assert_allclose(
        priced(jnp.asarray(cost.prices)), cost.at(OLD, NEW, states, KEY), rtol=1e-5
    )


def test_prices_are_the_two_weights_and_the_cost_is_linear_in_them() -> None:
    assert SIGNS.prices == (5.0, 0.5)
    states = jnp.asarray(STATES[:40])
    slopes = jax.grad(lambda prices: SIGNS.at(OLD, NEW, states, KEY, prices=prices))(jnp.ones(2))
    by_hand = SIGNS.evaluate(OLD, NEW, STATES[:40])
    np.testing.assert_allclose(slopes, [by_hand.learning_mass, by_hand.transaction_mass], rtol=1e-5)
    comparison = SIGNS.statewise.compare(OLD(jnp.asarray(states)), NEW(jnp.asarray(states)), KEY)
    np.testing.assert_allclose(
        SIGNS.statewise_cost(comparison, (2.0, 3.0)),
        2.0 * comparison.learning + 3.0 * comparison.transaction,
        rtol=1e-6,
    )


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_prices_must_be_prices(value: Any) -> None:
    for name in ("learning_weight", "transaction_weight"):
        weights: dict[str, Any] = {"learning_weight": 1.0, "transaction_weight": 0.0} | {
            name: value
        }
        with pytest.raises(InputError, match=f"^{name} = .*: a price must be"):
            TransportCost(groups=groups.sign(0), **weights)
    for make in (LocalCost, GlobalCost):
        with pytest.raises(InputError, match=r"weight = .*: a price must be"):
            make(value)
    with pytest.raises(InputError) as caught:
        SwitchingCost(Difference(), value, value, link=UNKNOWN)
    assert len(caught.value.problems) == 3


def test_learning_must_not_be_cheaper_than_transaction() -> None:
    with pytest.raises(
        InputError, match="learning_weight = 1 is below transaction_weight = 2"
    ) as e:
        TransportCost(1.0, 2.0, groups.sign(0))
    assert "no longer be an optimal transport; raise the learning weight or" in str(e.value)
    assert TransportCost(2.0, 2.0, groups.sign(0)).learning_weight == 2.0


def test_groups_and_links_are_asked_for() -> None:
    for make in (TransportCost, GeneralTransportCost):
        with pytest.raises(InputError, match="needs groups of actions"):
            make(1.0)
    with pytest.raises(InputError, match="link = 'log' is unknown; give identity, times_states"):
        SwitchingCost(Difference(), 1.0, link=UNKNOWN)


def test_nan_is_no_price() -> None:
    broken = eqx.tree_at(lambda p: p.network.biases[-1], NEW, jnp.full(6, jnp.nan))
    for cost in (SIGNS, SwitchingCost(Difference(), 1.0)):
        for old, new in ((OLD, broken), (broken, OLD)):
            with pytest.raises(InputError, match="cost is nan at state 0: a policy or the imp"):
                cost.evaluate(old, new, STATES)
    point = make_policy(1, head="deterministic")
    nowhere = eqx.tree_at(lambda p: p.network.biases[-1], point, jnp.full(3, jnp.nan))
    with pytest.raises(InputError, match="nan at state 0"):
        SIGNS.evaluate(point, nowhere, STATES)
    states = STATES.copy()
    states[7, 1] = np.nan
    with pytest.raises(InputError, match="state 7 holds NaN or infinity"):
        SIGNS.evaluate(OLD, NEW, states)
    undefined = dataclasses.replace(SIGNS, importance=lambda s: jnp.log(s[:, 0] - STATES[0, 0]))
    with pytest.raises(InputError, match="inf at state 0"):
        undefined.evaluate(OLD, NEW, STATES)


@pytest.mark.parametrize(
    ("observations", "actions", "what"),
    [
        (Box(-1.0, 1.0, (3,)), PUSHES, ["observations"]),
        (Discrete(2), PUSHES, ["observations"]),
        (PLANE, Box(-1.0, 1.0, (2,)), ["actions"]),
        (Discrete(2), Discrete(3), ["observations", "actions"]),
    ],
)
def test_policies_must_fit_together(
    observations: Space[Any], actions: Space[Any], what: list[str]
) -> None:
    other = make_policy(3, observations, actions)
    for old, new in ((OLD, other), (other, OLD)):
        with pytest.raises(InputError, match="do not fit together") as caught:
            SIGNS.evaluate(old, new, STATES)
        assert len(caught.value.problems) == len(what)
        for problem, name in zip(caught.value.problems, what, strict=True):
            assert f"the old one's {name} are" in problem


@pytest.mark.parametrize(
    ("cost", "log", "text"),
    [
        (SIGNS, None, "no log was given"),
        (SIGNS, np.zeros((0, 2)), "there is none; give at least one"),
        (SIGNS, [[1.0, 2.0], [3.0]], "differ in length"),
        (SIGNS, np.zeros((4, 3)), "are no rows of the policies' observations"),
        (TransportCost(1.0, groups=groups.halves()), STATES, "need discrete actions"),
        (TransportCost(1.0, groups=groups.sign(3)), STATES, "use action coordinate 3"),
        (LocalCost(), STATES, "multiplies by the number of states"),
        (dataclasses.replace(SIGNS, state_measure=FiniteStates()), None, "needs discrete obs"),
    ],
)
def test_what_does_not_fit_is_refused(cost: SwitchingCost, log: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        cost.evaluate(OLD, NEW, log)


def make_pair(kind: Kind) -> tuple[Policy, Policy, jax.Array]:
    """Two policies in double precision and the states to compare them at."""
    if kind == "tabular":
        first, second = (
            TabularPolicy.from_probabilities(random_table(seed, 5, 6)) for seed in (0, 1)
        )
        return first, second, jnp.arange(5)
    actions = Discrete(6) if kind == "categorical" else PUSHES
    old, new = (make_policy(seed, PLANE, actions, kind) for seed in (1, 2))
    return old, new, jnp.asarray(STATES[:5], float)


def make_cost(kind: Plan, discrete: bool) -> SwitchingCost:
    partition = groups.halves() if discrete else groups.sign(0)
    if kind == "transport":
        return TransportCost(5.0, 0.5, partition)
    # Distances on a line have ties, and there an optimal plan has no derivative.
    matrix = np.random.default_rng(3).random((6, 6)).tolist()
    first, second = (matrix, matrix) if discrete else ("l2", lopsided)
    return GeneralTransportCost(
        5.0,
        0.5,
        partition,
        learning_ground=first,
        transaction_ground=second,
        plan=kind,
        n_samples=3,
    )


def lopsided(x: jax.Array, y: jax.Array) -> jax.Array:
    """A function of the user's own, not symmetric."""
    return jnp.sum((x[..., :, None, :] - 1.1 * y[..., None, :, :]) ** 2, axis=-1) ** 1.5


@pytest.mark.parametrize("kind", ["transport", "independent", "optimal"])
@pytest.mark.parametrize("head", ["squashed_gaussian", "gaussian", "categorical", "tabular"])
def test_gradients_agree_with_finite_differences(head: Kind, kind: Plan) -> None:
    with jax.enable_x64(True):
        old, new, states = make_pair(head)
        cost = make_cost(kind, head in ("categorical", "tabular"))
        parameters, rest = eqx.partition(new, eqx.is_inexact_array)
        flat, unflatten = ravel_pytree(parameters)
        assert flat.dtype == jnp.float64

        @jax.jit
        def slope(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
            return jax.value_and_grad(
                lambda x: cost.at(old, eqx.combine(unflatten(x), rest), states, KEY)
            )(flat)

        gradient = slope(flat)[1]
        directions = np.random.default_rng(0).standard_normal((4, flat.size))
        for direction in [gradient / jnp.linalg.norm(gradient), *directions]:
            step = 1e-5 * direction
            change = float(slope(flat + step)[0] - slope(flat - step)[0]) / 2e-5
            assert abs(change) > 1e-6
            assert float(gradient @ direction) == pytest.approx(change, rel=1e-4)


def test_optimal_plan_between_halves_of_a_line_is_found() -> None:
    """Every plan costs the same there; the search must end as users compile it, not as tests do."""
    program = """
import numpy as np
from nacre.costs import FiniteStates, GeneralTransportCost, groups
from nacre.policies import TabularPolicy
tables = [np.random.default_rng(seed).dirichlet(np.ones(6), 5) for seed in (0, 1)]
cost = GeneralTransportCost(1.0, 0.0, groups.halves(), plan="optimal", state_measure=FiniteStates())
print(cost.evaluate(*(TabularPolicy.from_probabilities(table) for table in tables)).total)
"""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(  # noqa: S603 - our own program
        command, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    expected = 0.0
    for old, new in zip(random_table(0, 5, 6), random_table(1, 5, 6), strict=True):
        left = old[:3].sum() > new[:3].sum()
        leaves, arrives = (slice(0, 3), slice(3, 6)) if left else (slice(3, 6), slice(0, 3))
        moved = old[leaves].sum() - new[leaves].sum()
        centre_old = np.average(np.arange(6)[leaves], weights=old[leaves])
        centre_new = np.average(np.arange(6)[arrives], weights=new[arrives])
        expected += moved * abs(centre_new - centre_old) / 5
    assert float(done.stdout) == pytest.approx(expected, rel=1e-5)


def test_gradient_at_the_old_policy_is_finite() -> None:
    """Where nothing has changed yet, which is where learning starts."""
    for cost in (SIGNS, GeneralTransportCost(5.0, 0.5, groups.sign(0))):

        def price(new: MLPPolicy, cost: SwitchingCost = cost) -> jax.Array:
            return cost.at(OLD, new, jnp.asarray(STATES[:9]), KEY)

        slope = eqx.filter_jit(eqx.filter_grad(price))
        gradient = slope(OLD)
        leaves = jax.tree.leaves(gradient)
        assert leaves
        assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
