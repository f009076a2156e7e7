"""Plans of the general transport cost: feasibility, optimality against POT, gradients, edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest

from nacre.costs import assignment, simplex
from nacre.costs.plans import (
    Plans,
    independent_plans,
    optimal_plan_cost,
    optimal_plans,
    optimal_transport,
    optimal_transport_cost,
    plan_cost,
    surplus,
)
from nacre.errors import InputError

# Compiling takes longer than solving: most tests share the shape of the many random cases.
COUNT, N, M, MOST_GROUPS = 1000, 14, 11, 20
SEEDS = range(10)


@pytest.fixture(autouse=True)
def _precision(request: pytest.FixtureRequest) -> Iterator[None]:
    with jax.enable_x64("float32" not in request.node.name):
        yield


def one_hot(labels: np.ndarray, groups: int) -> np.ndarray:
    return np.asarray(np.eye(groups)[labels])


def sparse_masses(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Dirichlet masses, each point missing with a probability drawn for each case."""
    masses = rng.dirichlet(np.full(size, 0.7), count)
    missing = rng.random((count, size)) < rng.uniform(0, 0.8, (count, 1))
    missing[np.arange(count), rng.integers(size, size=count)] = False
    masses = np.where(missing, 0, masses)
    return np.asarray(masses / masses.sum(-1, keepdims=True))


class Cases:
    """Random policies with 2 to 20 groups, drawn anew for each case, and their ground costs."""

    def __init__(self, seed: int) -> None:
        rng, count = np.random.default_rng(seed), COUNT
        self.old, self.new = sparse_masses(rng, count, N), sparse_masses(rng, count, M)
        groups = rng.integers(2, MOST_GROUPS + 1, (count, 1))
        self.group_old = rng.integers(0, groups, (count, N))
        self.group_new = rng.integers(0, groups, (count, M))
        # Once all in one group, so that the largest problem has the same size for all seeds.
        self.group_old[-1], self.group_new[-1] = 0, 0
        self.membership = (
            one_hot(self.group_old, MOST_GROUPS),
            one_hot(self.group_new, MOST_GROUPS),
        )
        self.c1, self.c2 = rng.random((count, N, M)), rng.random((count, N, M))
        self.a = np.einsum("si,sil->sl", self.old, self.membership[0])
        self.b = np.einsum("sj,sjl->sl", self.new, self.membership[1])
        self.same_group = self.group_old[:, :, None] == self.group_new[:, None, :]

    @property
    def masses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.old, self.new, self.membership[0], self.membership[1]

    @property
    def grounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.c1, self.c2


@cache
def draw_cases(seed: int) -> Cases:
    return Cases(seed)


@pytest.fixture
def cases() -> Cases:
    return draw_cases(0)


@cache
def couple(kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    cases = draw_cases(seed)
    plans = (
        independent_plans(*cases.masses)
        if kind == "independent"
        else optimal_plans(*cases.masses, *cases.grounds)
    )
    return np.asarray(plans.learning), np.asarray(plans.transaction)


def as_plans(kind: str) -> Plans:
    learning, transaction = couple(kind)
    return Plans(jnp.asarray(learning), jnp.asarray(transaction))


def emd2(source: np.ndarray, target: np.ndarray, ground: np.ndarray) -> float:
    """POT's optimum on the points with mass; POT wants the totals equal to the last bit."""
    i, j = np.flatnonzero(source), np.flatnonzero(target)
    if not i.size or not j.size:
        return 0.0
    total = source.sum()
    part = ground[np.ix_(i, j)]
    return float(total) * float(ot.emd2(source[i] / total, target[j] / target.sum(), part))


# Proposition "FeasibleTransportPlan" and its ingredients


@pytest.mark.parametrize("kind", ["independent", "optimal"])
@pytest.mark.parametrize("seed", SEEDS)
def test_sum_of_plans_has_the_policies_as_marginals(kind: str, seed: int) -> None:
    many = draw_cases(seed)
    gamma, lam = couple(kind, seed)
    assert gamma.dtype == np.float64
    assert gamma.min() >= 0
    assert lam.min() >= 0
    np.testing.assert_allclose((gamma + lam).sum(2), many.old, rtol=0, atol=1e-12)
    np.testing.assert_allclose((gamma + lam).sum(1), many.new, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["independent", "optimal"])
def test_each_plan_has_its_own_marginals(kind: str, cases: Cases) -> None:
    gamma, lam = couple(kind)
    rho, eta, tau = (np.asarray(part) for part in surplus(*cases.masses))
    np.testing.assert_allclose(gamma.sum(2), rho, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gamma.sum(1), eta, rtol=0, atol=1e-12)
    assert np.all(lam[~cases.same_group] == 0)
    within = np.einsum("sij,sil->sl", lam, cases.membership[0])
    np.testing.assert_allclose(within, tau, rtol=0, atol=1e-12)


def test_surplus_is_what_the_groups_lose_and_gain(cases: Cases) -> None:
    rho, eta, tau = (np.asarray(part) for part in surplus(*cases.masses))
    lost = np.einsum("si,sil->sl", rho, cases.membership[0])
    gained = np.einsum("sj,sjl->sl", eta, cases.membership[1])
    np.testing.assert_allclose(lost, np.maximum(cases.a - cases.b, 0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(gained, np.maximum(cases.b - cases.a, 0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(tau, np.minimum(cases.a, cases.b), rtol=0, atol=1e-14)


# Proposition "Recovery" and the optimality of the proposed cost


@pytest.mark.parametrize("kind", ["independent", "optimal"])
def test_unit_ground_costs_recover_learning_and_transaction_masses(kind: str, cases: Cases) -> None:
    gamma, lam = couple(kind)
    learning = np.maximum(cases.a - cases.b, 0).sum(1)
    transaction = np.minimum(cases.a, cases.b).sum(1)
    np.testing.assert_allclose(gamma.sum((1, 2)), learning, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lam.sum((1, 2)), transaction, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_indicator_cost_is_the_optimum_over_all_plans(seed: int) -> None:
    """c_l between groups and c_t ≤ c_l within: the statewise cost is the transport optimum."""
    many = draw_cases(seed)
    weights = np.where(many.same_group, 0.1, 5.0)
    expected = 5.0 * np.maximum(many.a - many.b, 0).sum(1)
    expected += 0.1 * np.minimum(many.a, many.b).sum(1)
    found = np.asarray(optimal_transport_cost(many.old, many.new, weights))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    pot = [emd2(*problem) for problem in zip(many.old, many.new, weights, strict=True)]
    np.testing.assert_allclose(pot, expected, rtol=0, atol=1e-9)


def test_optimal_costs_equal_pot_problem_by_problem(cases: Cases) -> None:
    learning, transaction = (
        np.asarray(part) for part in optimal_plan_cost(*cases.masses, *cases.grounds)
    )
    rho, eta, tau = (np.asarray(part) for part in surplus(*cases.masses))
    for s in range(400):
        assert learning[s] == pytest.approx(emd2(rho[s], eta[s], cases.c1[s]), abs=1e-9)
        expected = 0.0
        for group in np.flatnonzero(tau[s]):
            source = np.where(cases.group_old[s] == group, cases.old[s], 0) / cases.a[s, group]
            target = np.where(cases.group_new[s] == group, cases.new[s], 0) / cases.b[s, group]
            expected += tau[s, group] * emd2(source, target, cases.c2[s])
        assert transaction[s] == pytest.approx(expected, abs=1e-9)


def test_independent_plans_cost_no_less_than_optimal_ones(cases: Cases) -> None:
    optimal = plan_cost(as_plans("optimal"), *cases.grounds)
    independent = plan_cost(as_plans("independent"), *cases.grounds)
    directly = optimal_plan_cost(*cases.masses, *cases.grounds)
    for best, other, direct in zip(optimal, independent, directly, strict=True):
        assert np.all(np.asarray(other) >= np.asarray(best) - 1e-12)
        np.testing.assert_allclose(direct, best, rtol=0, atol=1e-14)
    assert np.mean(np.asarray(independent[1]) > np.asarray(optimal[1]) + 1e-3) > 0.2


def small_plans(
    cases: Cases, old: np.ndarray, new: np.ndarray, groups: np.ndarray, ground: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Optimal plans of a few small problems, put in the place of the first of the many cases."""
    count, n = old.shape
    arrays = [part.copy() for part in (*cases.masses, *cases.grounds)]
    for array, part in zip(
        arrays, (old, new, *(one_hot(groups, MOST_GROUPS),) * 2, ground, ground), strict=True
    ):
        array[:count] = 0
        array[(slice(count), *(slice(size) for size in part.shape[-(array.ndim - 1) :]))] = part
    first, second, third, fourth, learning, transaction = arrays
    plans = optimal_plans(first, second, third, fourth, learning, transaction)
    return tuple(np.asarray(plan)[:count, :n, :n] for plan in plans)


def distances(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


def test_plans_worked_by_hand(cases: Cases) -> None:
    """Groups {0, 1} and {2}: 0.3 moves over, 0.5 and 0.2 stay."""
    old, new = np.array([0.6, 0.2, 0.2]), np.array([0.1, 0.4, 0.5])
    groups = np.array([0, 0, 1])
    membership = one_hot(groups, 2)
    rho, eta, tau = surplus(old, new, membership, membership)
    np.testing.assert_allclose(rho, [0.225, 0.075, 0], atol=1e-15)
    np.testing.assert_allclose(eta, [0, 0, 0.3], atol=1e-15)
    np.testing.assert_allclose(tau, [0.5, 0.2], atol=1e-15)
    (gamma,), (lam,) = small_plans(cases, old[None], new[None], groups, distances(3))
    np.testing.assert_allclose(
        gamma, [[0.0, 0.0, 0.225], [0.0, 0.0, 0.075], [0.0, 0.0, 0.0]], atol=1e-15
    )
    np.testing.assert_allclose(lam, [[0.1, 0.275, 0], [0, 0.125, 0], [0, 0, 0.2]], atol=1e-15)
    learning, transaction = plan_cost(
        Plans(jnp.asarray(gamma), jnp.asarray(lam)), distances(3), distances(3)
    )
    assert float(learning) == pytest.approx(0.525, abs=1e-15)
    assert float(transaction) == pytest.approx(0.275, abs=1e-15)
    independent = independent_plans(old, new, membership, membership)
    np.testing.assert_allclose(
        independent.transaction, [[0.075, 0.3, 0], [0.025, 0.1, 0], [0, 0, 0.2]], atol=1e-15
    )


# The solver


@pytest.mark.parametrize(("n", "m"), [(1, 6), (25, 25), (45, 40)])
def test_transport_is_exact_and_a_vertex(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 100 + m)
    count = 60
    source, target = rng.dirichlet(np.ones(n), count), rng.dirichlet(np.ones(m), count)
    x, y = rng.standard_normal((n, 2)), rng.standard_normal((m, 2))
    for ground in (rng.random((n, m)), np.linalg.norm(x[:, None] - y, axis=-1)):
        plan = np.asarray(optimal_transport(source, target, ground))
        assert plan.min() >= 0
        assert np.count_nonzero(plan, axis=(1, 2)).max() <= n + m - 1
        np.testing.assert_allclose(plan.sum(2), source, rtol=0, atol=1e-12)
        np.testing.assert_allclose(plan.sum(1), target, rtol=0, atol=1e-12)
        expected = [emd2(a, b, ground) for a, b in zip(source, target, strict=True)]
        np.testing.assert_allclose((plan * ground).sum((1, 2)), expected, rtol=0, atol=1e-9)


def test_scale_of_masses_and_costs_does_not_matter(cases: Cases) -> None:
    plan = np.asarray(optimal_transport(cases.old, cases.new, cases.c1))
    scaled = optimal_transport(cases.old * 1e-9, cases.new * 1e-9, 1e6 * cases.c1 - 3e5)
    np.testing.assert_allclose(scaled, plan * 1e-9, rtol=0, atol=1e-22)


def test_ties_everywhere() -> None:
    """Integer masses and costs: every basis is degenerate, and many are optimal."""
    rng = np.random.default_rng(6)
    source = rng.multinomial(12, np.ones(N) / N, COUNT) / 12
    target = rng.multinomial(12, np.ones(M) / M, COUNT) / 12
    ground = rng.integers(0, 3, (COUNT, N, M)).astype(float)
    plan = np.asarray(optimal_transport(source, target, ground))
    np.testing.assert_allclose(plan.sum(2), source, rtol=0, atol=1e-12)
    np.testing.assert_allclose(plan.sum(1), target, rtol=0, atol=1e-12)
    expected = [emd2(a, b, c) for a, b, c in zip(source, target, ground, strict=True)]
    np.testing.assert_allclose((plan * ground).sum((1, 2)), expected, rtol=0, atol=1e-9)


def test_equal_and_one_hot_policies_and_constant_costs(cases: Cases) -> None:
    n = 10
    groups = np.arange(n) % 3
    some, first, last = np.random.default_rng(7).dirichlet(np.ones(n)), np.eye(n)[0], np.eye(n)[9]
    old, new = np.stack([some, first, first, some]), np.stack([some, first, last, last])
    gamma, lam = small_plans(cases, old, new, groups, distances(n))
    np.testing.assert_array_equal(gamma[:3], np.zeros((3, n, n)))
    np.testing.assert_allclose(lam[0], np.diag(some), rtol=0, atol=1e-14)
    np.testing.assert_allclose(lam[1], np.diag(first), rtol=0, atol=1e-14)
    np.testing.assert_allclose(lam[2], np.outer(first, last), rtol=0, atol=1e-14)
    moved = np.maximum((old - new) @ one_hot(groups, 3), 0).sum(-1)
    for value in (0.0, 2.5):
        gamma, lam = small_plans(cases, old, new, groups, np.full((n, n), value))
        np.testing.assert_allclose(gamma.sum((1, 2)), moved, rtol=0, atol=1e-12)
        np.testing.assert_allclose((gamma + lam).sum(1), new, rtol=0, atol=1e-12)


def test_broadcast_problems_are_solved_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "_CELLS_PER_CHUNK", 96)
    rng = np.random.default_rng(9)
    source, target = rng.dirichlet(np.ones(4), (5, 7)), rng.dirichlet(np.ones(3), 7)
    ground = rng.random((7, 4, 3))
    cost = np.asarray(optimal_transport_cost(source, target, ground))
    assert cost.shape == (5, 7)
    for i, j in np.ndindex(5, 7):
        assert cost[i, j] == pytest.approx(emd2(source[i, j], target[j], ground[j]), abs=1e-9)


def test_mapped_problems_and_traced_memberships_are_solved_too() -> None:
    rng = np.random.default_rng(10)
    old, new = rng.dirichlet(np.ones(3), 8), rng.dirichlet(np.ones(2), 8)
    membership = one_hot(np.array([0, 1, 0]), 2), np.eye(2)
    ground = rng.random((3, 2))
    mapped = jax.vmap(optimal_plan_cost, (0, 0, None, None, None, None))
    learning, transaction = jax.jit(mapped)(old, new, *membership, ground, ground)
    rho, eta, tau = (np.asarray(part) for part in surplus(old, new, *membership))
    for s in range(8):
        assert float(learning[s]) == pytest.approx(emd2(rho[s], eta[s], ground), abs=1e-9)
        first, second = old[s] * [1, 0, 1], new[s] * [1, 0]
        expected = tau[s, 0] * emd2(first / first.sum(), second / second.sum(), ground)
        expected += tau[s, 1] * ground[1, 1]
        assert float(transaction[s]) == pytest.approx(expected, abs=1e-9)


def test_an_empty_batch_has_empty_plans() -> None:
    assert optimal_transport(np.zeros((0, 5)), np.zeros((0, 4)), np.ones((5, 4))).shape == (0, 5, 4)


# Gradients

STEP = 1e-6
Costs = Callable[..., jax.Array]


def differentiate(costs: Costs, *at: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Values of a batch of functions and their gradients with respect to all arguments."""

    def total(*at: np.ndarray) -> tuple[jax.Array, jax.Array]:
        values = costs(*at)
        return values.sum(), values

    gradients, values = jax.grad(total, tuple(range(len(at))), has_aux=True)(*at)
    return np.asarray(values), [np.asarray(gradient) for gradient in gradients]


def tangent(rng: np.random.Generator, *shape: int) -> np.ndarray:
    direction = rng.standard_normal(shape)
    return np.asarray(direction - direction.mean(-1, keepdims=True))


def transport_problems(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.dirichlet(np.ones(6), 9), rng.dirichlet(np.ones(5), 9), rng.random((9, 6, 5))


def test_gradients_of_the_optimum_are_potentials_and_plan() -> None:
    rng, source, target, ground = transport_problems(3)
    value, (u, v, plan) = differentiate(optimal_transport_cost, source, target, ground)
    for gradient, direction in (
        (u, (tangent(rng, 9, 6), np.zeros((9, 5)))),
        (v, (np.zeros((9, 6)), tangent(rng, 9, 5))),
    ):
        up, down = (
            differentiate(
                optimal_transport_cost,
                source + step * direction[0],
                target + step * direction[1],
                ground,
            )[0]
            for step in (STEP, -STEP)
        )
        found = (gradient * direction[0 if gradient is u else 1]).sum(-1)
        np.testing.assert_allclose(found, (up - down) / (2 * STEP), rtol=0, atol=1e-7)
    np.testing.assert_allclose(plan.sum(2), source, rtol=0, atol=1e-12)
    np.testing.assert_allclose((plan * ground).sum((1, 2)), value, rtol=0, atol=1e-14)
    # Duality: feasible potentials of the same value.
    assert (ground - u[:, :, None] - v[:, None, :]).min() >= -1e-12
    dual = (u * source).sum(-1) + (v * target).sum(-1)
    np.testing.assert_allclose(dual, value, rtol=0, atol=1e-12)


@pytest.mark.parametrize("side", ["source", "target"])
def test_gradients_at_points_without_mass_are_one_sided(side: str) -> None:
    _, source, target, ground = transport_problems(11)
    masses = source if side == "source" else target
    masses[:, [1, 4]] = 0
    masses /= masses.sum(-1, keepdims=True)
    value, gradients = differentiate(optimal_transport_cost, source, target, ground)
    gradient = gradients[0 if side == "source" else 1]
    for k in (1, 4):
        masses[:, k] += STEP
        masses[:, 0] -= STEP
        grown, _ = differentiate(optimal_transport_cost, source, target, ground)
        masses[:, k] -= STEP
        masses[:, 0] += STEP
        found = gradient[:, k] - gradient[:, 0]
        np.testing.assert_allclose(found, (grown - value) / STEP, rtol=0, atol=1e-7)


def test_potentials_are_feasible_where_both_sides_have_points_without_mass() -> None:
    _, source, target, ground = transport_problems(12)
    source[:, [1, 4]], target[:, 2] = 0, 0
    # Nothing to move at all in the last one.
    source[8], target[8] = 0, 0
    source[:8] /= source[:8].sum(-1, keepdims=True)
    target[:8] /= target[:8].sum(-1, keepdims=True)
    value, (u, v, plan) = differentiate(optimal_transport_cost, source, target, ground)
    assert np.all(plan[8] == 0)
    assert value[8] == 0
    reduced = (ground - u[:, :, None] - v[:, None, :])[:8]
    assert reduced.min() >= -1e-12
    assert np.abs(reduced[plan[:8] > 0]).max() <= 1e-12


@pytest.mark.parametrize("kind", ["independent", "optimal", "optimal without plans"])
def test_general_costs_have_the_right_gradient(kind: str) -> None:
    rng = np.random.default_rng(12)
    old, new = rng.dirichlet(np.ones(6), 9), rng.dirichlet(np.ones(5), 9)
    membership = one_hot(np.array([0, 0, 1, 1, 2, 2]), 3), one_hot(np.array([0, 1, 1, 2, 2]), 3)
    c1, c2 = rng.random((6, 5)), rng.random((6, 5))

    def costs(new: np.ndarray) -> jax.Array:
        if kind == "independent":
            parts = plan_cost(independent_plans(old, new, *membership), c1, c2)
        elif kind == "optimal":
            parts = plan_cost(optimal_plans(old, new, *membership, c1, c2), c1, c2)
        else:
            parts = optimal_plan_cost(old, new, *membership, c1, c2)
        return 3 * parts[0] + parts[1]

    along = tangent(rng, 9, 5)
    _, (gradient,) = differentiate(costs, new)
    up, down = (differentiate(costs, new + step * along)[0] for step in (STEP, -STEP))
    expected = (up - down) / (2 * STEP)
    np.testing.assert_allclose((gradient * along).sum(-1), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["independent", "optimal"])
def test_float32_plans_are_accurate_and_their_gradients_finite(kind: str) -> None:
    """On random policies, equal and one-hot ones, empty groups, groups with next to no mass."""
    n = 6
    rng = np.random.default_rng(13)
    uniform, half = np.full(n, 1 / n), np.array([0.5, 0.5, 0, 0, 0, 0])
    faint = np.array([0.5, 0.5, 1e-30, 0, 1e-25, 1e-37])
    policies = np.stack([uniform, half, faint, np.eye(n)[0], np.eye(n)[5]])
    policies = np.concatenate([policies, rng.dirichlet(np.ones(n), 9)])
    old, new = np.repeat(policies, 14, 0), np.tile(policies, (14, 1))
    membership = one_hot(np.array([0, 0, 1, 1, 2, 2]), 4)
    ground = rng.random((n, n))

    def cost(new: jax.Array) -> tuple[jax.Array, Plans]:
        plans = (
            independent_plans(old, new, membership, membership)
            if kind == "independent"
            else optimal_plans(old, new, membership, membership, ground, ground)
        )
        learning, transaction = plan_cost(plans, ground, ground)
        return learning.sum() + transaction.sum(), plans

    gradient, plans = jax.grad(cost, has_aux=True)(jnp.asarray(new))
    total = np.asarray(plans.learning + plans.transaction)
    assert total.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(total.sum(2), old, rtol=0, atol=1e-6)
    np.testing.assert_allclose(total.sum(1), new, rtol=0, atol=1e-6)
    assert np.all(np.isfinite(gradient))
    assert np.abs(gradient).max() < 100
    if kind == "optimal":
        rho, eta, _ = (np.asarray(p, float) for p in surplus(old, new, membership, membership))
        exact = [emd2(a, b, ground) for a, b in zip(rho, eta, strict=True)]
        found = (np.asarray(plans.learning) * ground).sum((1, 2))
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


# Wrong input


def test_unusable_numbers_give_nan_for_their_own_problem_only(cases: Cases) -> None:
    old = np.array([[0.5, 0.5], [0.5, np.nan], [1.5, -0.5], [0.5, 0.5]])
    new = np.array([[0.3, 0.7], [0.3, 0.7], [0.3, 0.7], [0.3, 0.8]])
    independent = independent_plans(old, new, np.eye(2), np.eye(2))
    optimal = small_plans(cases, old, new, np.arange(2), distances(2))
    for plan in (*independent, *optimal):
        assert np.all(np.isfinite(plan[0]))
        assert np.all(np.isnan(plan[1:]))


def test_unusable_ground_costs_give_nan_for_their_own_problem_only(cases: Cases) -> None:
    ground = cases.c1.copy()
    ground[1, 0, 1], ground[2, 3, 4] = np.inf, np.nan
    plan = np.asarray(optimal_transport(cases.old, cases.new, ground))
    assert np.all(np.isnan(plan[1:3]))
    assert np.all(np.isfinite(plan[[0, 3]]))


def test_a_search_that_gives_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplex, "_PIVOTS_PER_NODE", 0)
    plan = optimal_transport(np.full((2, 3), 1 / 3), np.full(3, 1 / 3), np.eye(3))
    cast("Any", assignment._solve_balanced).clear_cache()
    assert np.all(np.isnan(plan))


def test_shapes_that_do_not_fit_are_refused() -> None:
    masses, ground = np.full(3, 1 / 3), np.ones((3, 3))
    with pytest.raises(InputError, match=r"membership_old has shape \(2, 2\)"):
        surplus(masses, masses, np.eye(2), one_hot(np.array([0, 1, 1]), 2))
    with pytest.raises(InputError, match="membership_old has 3 groups, membership_new 2"):
        independent_plans(masses, masses, np.eye(3), one_hot(np.array([0, 1, 1]), 2))
    with pytest.raises(InputError, match=r"ground costs have shape \(3, 2\)"):
        optimal_plans(masses, masses, np.eye(3), np.eye(3), ground, ground[:, :2])
    with pytest.raises(InputError, match=r"ground costs have shape \(3,\)"):
        optimal_transport(masses, masses, ground[0])
