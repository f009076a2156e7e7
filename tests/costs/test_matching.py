"""Matchings of least cost: against SciPy, and as the optimal plan between equal masses."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from nacre.costs.matching import match_points
from nacre.costs.plans import matched_plan_cost, optimal_plan_cost

COUNT, N = 60, 17


def make_costs(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    if kind == "distances":
        x, y = rng.normal(size=(2, COUNT, N, 2))
        return np.asarray(np.linalg.norm(x[:, :, None] - y[:, None], axis=-1))
    if kind == "ties":
        return rng.integers(0, 3, (COUNT, N, N)).astype(float)
    return rng.random((COUNT, N, N)) - 0.5


@pytest.mark.parametrize("kind", ["distances", "ties", "negative"])
def test_matchings_cost_no_more_than_those_of_scipy(kind: str) -> None:
    with jax.enable_x64(True):
        costs = make_costs(kind)
        columns = np.asarray(match_points(jnp.asarray(costs)))
    np.testing.assert_array_equal(np.sort(columns, axis=-1), np.tile(np.arange(N), (COUNT, 1)))
    found = np.take_along_axis(costs, columns[..., None], -1).sum((1, 2))
    best = [cost[linear_sum_assignment(cost)].sum() for cost in costs]
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-12)


def test_a_batch_of_any_shape_and_costs_that_are_no_numbers() -> None:
    costs = make_costs("distances")[:6].reshape(2, 3, N, N)
    broken = costs.copy()
    broken[0, 0] = np.nan
    columns, others = match_points(jnp.asarray(costs)), match_points(jnp.asarray(broken))
    assert columns.shape == (2, 3, N)
    np.testing.assert_array_equal(columns[1], others[1])
    np.testing.assert_array_equal(np.sort(others[0, 0]), np.arange(N))
    assert match_points(jnp.zeros((0, N, N))).shape == (0, N)
    assert match_points(jnp.ones((1, 1))).tolist() == [0]


@pytest.mark.parametrize("groups", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_matched_plans_cost_what_the_simplex_method_says(groups: int) -> None:
    """Costs and gradients, in the masses and in the ground costs; groups without mass included."""
    rng, n, states = np.random.default_rng(groups), 5, 12
    with jax.enable_x64(True):
        old, new = rng.dirichlet(np.ones(groups), (2, states))
        old[0], new[0] = np.eye(groups)[:2]
        new[1] = old[1]
        ground = tuple(rng.random((2, states, groups * n, groups * n)))
        member = np.repeat(np.eye(groups), n, axis=0)

        def general(old: Any, new: Any, c1: Any, c2: Any) -> tuple[Any, Any]:
            one, other = (jnp.repeat(mass / n, n, axis=-1) for mass in (old, new))
            return optimal_plan_cost(one, other, member, member, c1, c2)

        expected = general(old, new, *ground)
        found = matched_plan_cost(old, new, *ground)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-12)
        slopes = [
            jax.grad(lambda *args, cost=cost: sum(part.sum() for part in cost(*args)), (1, 2, 3))(
                old[2:], new[2:], *(part[2:] for part in ground)
            )
            for cost in (matched_plan_cost, general)
        ]
        mass, other_mass = (np.asarray(slope[0]) for slope in slopes)
        # Masses have a total: only differences between groups mean anything.
        np.testing.assert_allclose(np.diff(mass), np.diff(other_mass), rtol=0, atol=1e-9)
        for mine, other in zip(slopes[0][1:], slopes[1][1:], strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_costs_that_are_not_finite_count_as_zero(odd: float) -> None:
    ground = np.array([[odd, 0.5], [0.5, 0.8]])
    zero = np.where(np.isfinite(ground), ground, 0.0)
    np.testing.assert_array_equal(match_points(jnp.asarray(ground)), [0, 1])
    np.testing.assert_array_equal(match_points(jnp.asarray(zero)), [0, 1])
