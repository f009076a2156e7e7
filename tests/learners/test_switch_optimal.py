"""The search for switch-optimal policies."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal, cast

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from nacre.errors import InputError
from nacre.estimators.exact import net_values, optimal_policy, start_value, value_range
from nacre.learners.switch_optimal import Search, switch_optimal
from nacre.simulators import (
    random_policy,
    random_world,
    two_state_cost,
    two_state_policies,
    two_state_world,
)
from nacre.simulators.finite import TabularCost

Method = Literal["auto", "enumeration", "gradient"]


def in_jax(cost: Callable[[Array, Array], Array]) -> TabularCost:
    """A cost that is written for JAX: its tables and its number are arrays of JAX."""
    return cast(TabularCost, cost)


def transport(learning_weight: float, transaction_weight: float = 0.0) -> TabularCost:
    """c_t + (c_l - c_t) · mean over states of the mass moved out of or into the first action."""

    @in_jax
    def cost(old: Array, new: Array) -> Array:
        moved = jnp.abs(old[:, 0] - new[:, 0]).mean()
        return transaction_weight + (learning_weight - transaction_weight) * moved

    return cost


@in_jax
def count_changes(old: Array, new: Array) -> Array:
    """The local cost: how many states' rows change, times three; in jax.numpy."""
    return 3.0 * jnp.any(old != new, axis=-1).sum()


@in_jax
def charge_any_change(old: Array, new: Array) -> Array:
    """The global cost, in jax.numpy."""
    return 3.0 * jnp.any(old != new)


@pytest.mark.parametrize("resolution", [1, 2, 5])
def test_two_state_world_at_s_alpha(resolution: int) -> None:
    """n1 nets 1/(1-γ) - 25 = 75, and nothing ties with it."""
    policies = two_state_policies()
    found = switch_optimal(
        two_state_world(), policies["old"], two_state_cost, search=Search(resolution=resolution)
    )
    np.testing.assert_array_equal(found.policy, policies["n1"])
    np.testing.assert_allclose([found.value, found.cost], [1 / 0.01, 25.0], atol=1e-9)
    np.testing.assert_allclose(found.net_value, 75.0, atol=1e-9)
    assert (found.keeps_old, found.method, len(found.ties)) == (False, "enumeration", 1)


@pytest.mark.parametrize("resolution", [1, 2, 5])
def test_two_state_world_at_s_beta(resolution: int) -> None:
    """Proposition po_state: n3 ties with keeping the old policy, which is preferred."""
    policies = two_state_policies()
    found = switch_optimal(
        two_state_world(),
        policies["old"],
        two_state_cost,
        start=1,
        search=Search(resolution=resolution),
    )
    assert (found.keeps_old, found.method, found.cost) == (True, "keep", 0.0)
    np.testing.assert_allclose(found.net_value, 50.0, atol=1e-9)
    np.testing.assert_array_equal(found.ties, [policies["old"], policies["n3"]])
    net = net_values(two_state_world(), policies["old"], policies["n3"], two_state_cost)
    np.testing.assert_allclose(net[1], found.net_value, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_enumeration_agrees_with_a_plain_loop(seed: int) -> None:
    """Every policy whose rows are on the grid or old, one by one."""
    world = random_world(seed, 3, 3)
    old, cost = random_policy(seed, world), transport(4.0, 1.0)
    steps = [np.array(row) / 2 for row in itertools.product(range(3), repeat=3) if sum(row) == 2]
    best = start_value(world, old)
    for rows in itertools.product(*([*steps, old[state]] for state in range(3))):
        new = np.stack(rows)
        if not np.array_equal(new, old):
            best = max(best, net_values(world, old, new, cost)[0])
    found = switch_optimal(world, old, cost, method="enumeration", search=Search(resolution=2))
    np.testing.assert_allclose(found.net_value, best, atol=1e-10)
    assert found.n_evaluated == 7**3


@pytest.mark.parametrize(
    ("seed", "weight", "terminating"),
    [(0, 2.0, False), (1, 10.0, False), (2, 5.0, True), (3, 30.0, False), (4, 10.0, True)],
)
def test_gradient_reaches_the_enumerated_optimum(
    seed: int, weight: float, terminating: bool
) -> None:
    """Within 1e-3 of the value range; it may find better ones, off the grid."""
    world = random_world(seed, 3, 3, terminating=terminating)
    old, cost = random_policy(seed, world), transport(weight, 0.1)
    low, high = value_range(world)
    grid = switch_optimal(world, old, cost, method="enumeration", search=Search(resolution=6))
    climbed = switch_optimal(world, old, cost, method="gradient")
    assert climbed.net_value >= grid.net_value - 1e-3 * (high - low)
    both = switch_optimal(world, old, cost)
    assert both.net_value >= max(climbed.net_value, grid.net_value) - 1e-3 * (high - low)
    for found in (grid, climbed, both):
        np.testing.assert_allclose(found.value, start_value(world, found.policy), atol=1e-12)
        np.testing.assert_allclose(found.net_value, found.value - found.cost, atol=1e-12)
        assert found.net_value >= start_value(world, old)
        assert found.keeps_old == (found.cost == 0.0)


def test_free_switches_go_to_the_optimal_policy() -> None:
    world = random_world(6, 12, 4)
    found = switch_optimal(world, random_policy(6, world), lambda old, new: 0.0 * new.sum())
    np.testing.assert_allclose(found.value, start_value(world, optimal_policy(world)), atol=1e-9)
    assert found.method == "gradient"


@pytest.mark.parametrize("method", ["enumeration", "gradient"])
def test_prohibitive_costs_keep_the_old_policy(method: Method) -> None:
    world = random_world(0, 4, 3)
    old = random_policy(0, world)
    found = switch_optimal(world, old, transport(1e6, 1e3), method=method)
    assert found.keeps_old
    np.testing.assert_array_equal(found.policy, old)
    assert (found.net_value, found.cost) == (found.value, 0.0)


@pytest.mark.parametrize("method", ["enumeration", "gradient"])
def test_a_single_action_leaves_nothing_to_switch_to(method: Method) -> None:
    world = random_world(0, 3, 1)
    found = switch_optimal(world, np.ones((3, 1)), transport(1.0, 0.5), method=method)
    assert (found.keeps_old, found.n_evaluated >= 1, len(found.ties)) == (True, True, 1)


def test_an_optimal_old_policy_is_kept() -> None:
    world = random_world(1, 8, 3)
    old = optimal_policy(world)
    found = switch_optimal(world, old, transport(5.0), method="gradient")
    np.testing.assert_allclose(found.net_value, start_value(world, old), atol=1e-9)
    assert found.keeps_old


def test_higher_weights_move_less_mass() -> None:
    world = random_world(3, 4, 3)
    old = random_policy(3, world)
    moved = []
    for weight in (0.0, 20.0, 1000.0):
        new = switch_optimal(world, old, transport(weight), method="gradient").policy
        moved.append(np.abs(new[:, 0] - old[:, 0]).mean())
    assert np.all(np.diff(moved) <= 1e-3)
    assert moved[0] > 0.2
    assert moved[-1] < 1e-3


def test_step_costs_are_enumerated_and_not_climbed() -> None:
    """The local cost: searching its gradient is refused, "auto" enumerates."""
    world = random_world(0, 4, 2)
    old = random_policy(0, world)
    with pytest.raises(InputError, match=r"gradient: .* step function, its gradient is zero"):
        switch_optimal(world, old, count_changes, method="gradient")
    found = switch_optimal(world, old, count_changes)
    unchanged = np.all(found.policy == old, axis=1).sum()
    assert found.method == "enumeration"
    assert found.cost == 3.0 * (4 - unchanged)


def test_a_constant_cost_can_be_climbed() -> None:
    """Under the global cost the best switch is to the optimal policy."""
    world = random_world(1, 4, 3)
    old = random_policy(1, world)
    found = switch_optimal(world, old, charge_any_change, method="gradient")
    best = start_value(world, optimal_policy(world))
    np.testing.assert_allclose(found.net_value, best - 3.0, atol=1e-9)


def test_what_is_beyond_reach_is_refused_with_the_remedy() -> None:
    world, policies = two_state_world(), two_state_policies()
    old = policies["old"]
    with pytest.raises(InputError, match=r"gradient: .* JAX cannot trace it"):
        switch_optimal(world, old, two_state_cost, method="gradient")
    with pytest.raises(InputError, match=r"enumeration: 3\^2 policies .* above the limit 8"):
        switch_optimal(world, old, two_state_cost, method="enumeration", search=Search(limit=8))
    with pytest.raises(InputError) as caught:
        switch_optimal(world, old, two_state_cost, search=Search(limit=8))
    assert [line.split(":")[0] for line in caught.value.problems] == ["enumeration", "gradient"]
    with pytest.raises(InputError, match="method: 'guess' is not one of auto"):
        switch_optimal(world, old, two_state_cost, method=cast(Method, "guess"))
    with pytest.raises(InputError, match="resolution: 0 is below 1"):
        Search(resolution=0)
    with pytest.raises(InputError, match="cost: NaN for the new policy"):
        switch_optimal(world, old, lambda old, new: float("nan"), method="enumeration")


def test_enumeration_in_several_batches_misses_none() -> None:
    """5^6 policies do not fit one batch; the best deterministic one is the optimal policy."""
    world = random_world(2, 6, 4)
    old = random_policy(2, world)
    found = switch_optimal(world, old, lambda old, new: 0.0, method="enumeration")
    assert found.n_evaluated == 5**6
    np.testing.assert_allclose(found.value, value_range(world)[1], atol=1e-9)


def test_the_same_seed_finds_the_same_policy() -> None:
    world = random_world(4, 9, 3)
    old = random_policy(4, world)
    first, again = (switch_optimal(world, old, transport(8.0)) for _ in range(2))
    np.testing.assert_array_equal(first.policy, again.policy)
    assert first.net_value == again.net_value
