"""Exact values: the paper's two-state world, and relations that hold in every world."""

from __future__ import annotations

import dataclasses
from typing import cast

import jax
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from nacre.errors import InputError
from nacre.estimators.exact import (
    iterate_to_fixed_point,
    net_bellman_operator,
    net_state_action_values,
    net_values,
    occupancy,
    optimal_policy,
    start_value,
    state_action_values,
    switching_cost,
    value_range,
    values,
)
from nacre.simulators import (
    FiniteWorld,
    random_policy,
    random_world,
    two_state_cost,
    two_state_policies,
    two_state_world,
)

GAMMA = 0.99
ALWAYS = 1 / (1 - GAMMA)  # one, every step
EVERY_OTHER = 1 / (1 - GAMMA**2)  # one, every second step, from the first
TWO_STATE_VALUES = {
    "n1": (ALWAYS, 0.0),
    "n2": (GAMMA * EVERY_OTHER, EVERY_OTHER),
    "n3": (ALWAYS, ALWAYS),
    "n4": (0.0, 0.0),
    "old": (ALWAYS / 2, ALWAYS / 2),
}
TWO_STATE_COSTS = {"n1": 25.0, "n2": 25.0, "n3": 50.0, "n4": 50.0, "old": 0.0}
PRINTED = {
    "n1": ((100, 0), (75, -25)),
    "n2": ((49.75, 50.25), (24.75, 25.25)),
    "n3": ((100, 100), (50, 50)),
    "n4": ((0, 0), (-50, -50)),
    "old": ((50, 50), (50, 50)),
}

WORLDS = [(seed, terminating) for seed in range(8) for terminating in (False, True)]


def sample_world(seed: int, terminating: bool) -> FiniteWorld:
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    discount = rng.uniform(0.3, 0.95)
    world = random_world(seed, n_states, n_actions, discount=discount, terminating=terminating)
    return world.starting_at(rng.dirichlet(np.ones(n_states)))


@pytest.mark.parametrize("name", TWO_STATE_VALUES)
def test_two_state_values(name: str) -> None:
    """As the geometric series gives them, to 1e-9, and as the paper prints them, to 2 decimals."""
    world, policies = two_state_world(), two_state_policies()
    found = values(world, policies[name])
    net = net_values(world, policies["old"], policies[name], two_state_cost)
    np.testing.assert_allclose(found, TWO_STATE_VALUES[name], atol=1e-9)
    np.testing.assert_allclose(net, found - TWO_STATE_COSTS[name], atol=1e-12)
    np.testing.assert_allclose(found, PRINTED[name][0], atol=0.005)
    np.testing.assert_allclose(net, PRINTED[name][1], atol=0.005)


def test_two_state_net_q_depends_on_the_first_action() -> None:
    """Proposition po_action: n1 is best at s_α, but not if the first action there is `alt`."""
    world, policies = two_state_world(), two_state_policies()
    net_q = {
        name: net_state_action_values(world, policies["old"], policies[name], two_state_cost)
        for name in ("n1", "n3")
    }
    np.testing.assert_allclose(net_q["n1"][0], [ALWAYS - 25, -25], atol=1e-9)
    np.testing.assert_allclose(net_q["n3"][0, 1], GAMMA * ALWAYS - 50, atol=1e-9)
    np.testing.assert_allclose(net_q["n3"][0, 1], 49, atol=1e-9)
    assert net_q["n1"][0, 1] < net_q["n3"][0, 1]


def test_two_state_range_and_optimum() -> None:
    world = two_state_world()
    np.testing.assert_array_equal(optimal_policy(world), two_state_policies()["n3"])
    np.testing.assert_allclose(value_range(world), [0.0, ALWAYS], atol=1e-9)
    np.testing.assert_allclose(value_range(world, 1), [0.0, ALWAYS], atol=1e-9)


def test_value_of_a_step_that_may_be_the_last() -> None:
    """r + γ(1-d) r + ... = r / (1 - γ(1-d)), worked by hand for r = 2, d = 1/4, γ = 0.8."""
    world = FiniteWorld(
        transition=np.ones((1, 1, 1)),
        reward=np.array([[2.0]]),
        discount=0.8,
        start=np.ones(1),
        termination=np.array([[0.25]]),
    )
    np.testing.assert_allclose(values(world, [[1.0]]), [2.0 / (1 - 0.6)], rtol=1e-14)
    np.testing.assert_allclose(state_action_values(world, [[1.0]]), [[5.0]], rtol=1e-14)


@pytest.mark.parametrize(("seed", "terminating"), WORLDS)
def test_values_relate(seed: int, terminating: bool) -> None:
    """V = Σ_a π Q, and the start's value is what the visited states earn; to 1e-10."""
    world = sample_world(seed, terminating)
    policy = random_policy(seed, world)
    q, visits = state_action_values(world, policy), occupancy(world, policy)
    np.testing.assert_allclose(values(world, policy), (policy * q).sum(axis=1), atol=1e-10)
    earned = visits @ (policy * world.reward).sum(axis=1)
    np.testing.assert_allclose(start_value(world, policy), earned, atol=1e-10)
    if not terminating:
        np.testing.assert_allclose(visits.sum(), 1 / (1 - world.discount), rtol=1e-10)
    assert np.all(visits >= -1e-12)


@pytest.mark.parametrize(("seed", "terminating"), WORLDS)
def test_net_bellman_operator_contracts_by_the_discount(seed: int, terminating: bool) -> None:
    world = sample_world(seed, terminating)
    rng = np.random.default_rng(seed)
    operator = net_bellman_operator(world, random_policy(seed, world), rng.uniform(0, 50))
    for scale in (1e-3, 1.0, 1e3):
        first, second = scale * rng.standard_normal((2, world.n_states, world.n_actions))
        before = np.abs(first - second).max()
        after = np.abs(operator(first) - operator(second)).max()
        assert after <= world.discount * before * (1 + 1e-9)


def test_the_contraction_factor_is_reached() -> None:
    """Where nothing terminates, constants shrink by exactly γ."""
    world = random_world(0, 5, 3, discount=0.7)
    operator = net_bellman_operator(world, random_policy(0, world), 3.0)
    shrunk = operator(np.ones((5, 3))) - operator(np.zeros((5, 3)))
    np.testing.assert_allclose(shrunk, 0.7, rtol=1e-12)


@pytest.mark.parametrize(("seed", "terminating"), WORLDS)
def test_fixed_point_is_q_minus_cost(seed: int, terminating: bool) -> None:
    """To 1e-8, from any beginning, also where steps terminate."""
    world = sample_world(seed, terminating)
    rng = np.random.default_rng(seed)
    policy, cost = random_policy(seed, world), rng.uniform(0, 50)
    operator = net_bellman_operator(world, policy, cost)
    expected = state_action_values(world, policy) - cost
    np.testing.assert_allclose(operator(expected), expected, atol=1e-10)
    beginning = 100 * rng.standard_normal(expected.shape)
    reached = iterate_to_fixed_point(operator, beginning, contraction=world.discount)
    assert reached.converged
    np.testing.assert_allclose(reached.value, expected, atol=1e-8)
    assert np.abs(reached.value - expected).max() <= reached.error_bound + 1e-11


def test_dropping_the_absorbing_state_s_net_value_would_lose_the_cost() -> None:
    """Bootstrapping with zero after termination is off by γ d C: the operator must not do it."""
    world = random_world(2, 4, 2, terminating=True)
    policy, cost = random_policy(2, world), 10.0
    net_q = state_action_values(world, policy) - cost
    ahead = world.continuation @ (policy * net_q).sum(axis=1)
    naive = world.reward - (1 - world.discount) * cost + world.discount * ahead
    lost = world.discount * world.termination * cost
    assert lost.max() > 1
    np.testing.assert_allclose(naive - net_q, lost, atol=1e-10)


def test_iteration_says_when_it_gave_up() -> None:
    world = two_state_world()
    operator = net_bellman_operator(world, two_state_policies()["n3"], 0.0)
    short = iterate_to_fixed_point(operator, np.zeros((2, 2)), contraction=0.99, max_iterations=5)
    assert (short.converged, short.n_iterations) == (False, 5)
    assert short.error_bound >= np.abs(short.value - state_action_values(world, np.eye(2))).max()
    with pytest.raises(InputError, match=r"contraction: 1.0 is outside"):
        iterate_to_fixed_point(operator, np.zeros((2, 2)), contraction=1.0)


@pytest.mark.parametrize(("seed", "terminating"), WORLDS)
def test_no_policy_leaves_the_value_range(seed: int, terminating: bool) -> None:
    world = sample_world(seed, terminating)
    low, high = value_range(world)
    rng = np.random.default_rng(seed)
    shape = (200, world.n_states)
    stochastic = rng.dirichlet(np.full(world.n_actions, 0.3), shape)
    deterministic = np.eye(world.n_actions)[rng.integers(world.n_actions, size=shape)]
    found = start_value(world, np.concatenate([stochastic, deterministic]))
    assert low - 1e-9 <= found.min()
    assert found.max() <= high + 1e-9
    best = optimal_policy(world)
    q = state_action_values(world, best)
    np.testing.assert_allclose(q.max(axis=1), values(world, best), atol=1e-10)
    np.testing.assert_allclose(start_value(world, best), high, atol=1e-12)


def test_a_batch_is_its_members() -> None:
    world = random_world(1, 7, 3, terminating=True)
    batch = np.stack([random_policy(seed, world) for seed in range(6)]).reshape(2, 3, 7, 3)
    for evaluate in (values, state_action_values, start_value, occupancy):
        together = evaluate(world, batch)
        for index in np.ndindex(2, 3):
            np.testing.assert_allclose(together[index], evaluate(world, batch[index]), atol=1e-12)


def test_keeping_the_old_policy_costs_nothing() -> None:
    """Even under a cost that charges an unchanged policy."""
    world = random_world(0, 3, 2)
    old = random_policy(0, world)
    new = old[::-1].copy()

    def always(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
        return 7.0

    assert switching_cost(old, old.copy(), always) == 0.0
    assert switching_cost(old, new, always) == 7.0
    np.testing.assert_array_equal(net_values(world, old, old, always), values(world, old))
    np.testing.assert_allclose(net_values(world, old, new, always), values(world, new) - 7.0)
    np.testing.assert_array_equal(
        net_state_action_values(world, old, old, always), state_action_values(world, old)
    )


def test_costs_in_jax_are_charged_in_double() -> None:
    """0.1 + 0.2 in float32 is off by 1e-8."""
    old, new = np.array([[0.1, 0.9]]), np.array([[0.2, 0.8]])

    def charge(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
        return cast("float", jax.numpy.sum(old[:, 0] + new[:, 0]))

    charged = switching_cost(old, new, charge)
    np.testing.assert_allclose(charged, 0.1 + 0.2, rtol=1e-15)


def test_single_precision_tables_are_evaluated_in_double() -> None:
    world = random_world(0, 3, 2)
    table = jax.numpy.asarray(random_policy(0, world))
    assert table.dtype == np.float32
    assert values(world, table).dtype == np.float64


@pytest.mark.parametrize("terminating", [False, True])
def test_gradient_agrees_with_finite_differences(terminating: bool) -> None:
    """Along directions that keep rows summing to one; central differences, relative 1e-6."""
    world = random_world(5, 6, 3, terminating=terminating)
    policy = random_policy(5, world, concentration=5.0)
    direction = np.random.default_rng(0).standard_normal(policy.shape)
    direction -= direction.mean(axis=1, keepdims=True)
    weights = np.arange(18.0).reshape(6, 3)

    def objectives(table: ArrayLike) -> tuple[NDArray[np.float64], ...]:
        return (
            start_value(world, table),
            cast("NDArray[np.float64]", (weights * state_action_values(world, table)).sum()),
            cast("NDArray[np.float64]", (weights[:, 0] * occupancy(world, table)).sum()),
        )

    for number in range(3):
        with jax.enable_x64(True):
            slope = jax.jit(jax.grad(lambda table, i=number: objectives(table)[i]))(policy)
        step = 1e-6 * direction
        difference = objectives(policy + step)[number] - objectives(policy - step)[number]
        np.testing.assert_allclose(
            np.sum(np.asarray(slope) * direction), difference / 2e-6, rtol=1e-6
        )


def test_traced_in_single_precision_is_refused() -> None:
    world = two_state_world()
    table = np.full((2, 2), 0.5, dtype=np.float32)
    with pytest.raises(InputError, match="traced in float32, exact values need float64"):
        jax.grad(lambda policy: start_value(world, policy))(table)


def test_wrong_policies_are_refused() -> None:
    world = two_state_world()
    with pytest.raises(InputError, match="is no distribution"):
        values(world, np.ones((2, 2)))
    with pytest.raises(InputError, match=r"shape \(3, 2\), expected \(2, 2\)"):
        net_bellman_operator(world, np.full((3, 2), 0.5), 1.0)


def test_another_start_is_another_question() -> None:
    world = random_world(0, 4, 2)
    policy = random_policy(0, world)
    whole = values(world, policy)
    np.testing.assert_allclose(start_value(world, policy, 2), whole[2])
    mixed = np.array([0.1, 0.2, 0.3, 0.4])
    moved = dataclasses.replace(world, start=mixed)
    np.testing.assert_allclose(start_value(world, policy, mixed), mixed @ whole)
    np.testing.assert_allclose(occupancy(world, policy, mixed), occupancy(moved, policy))
