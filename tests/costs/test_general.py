"""The general transport cost: ground costs by state against POT, plans of one's own, refusals."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest
from gymnasium.spaces import Box, Discrete

import nacre
from nacre.costs import FiniteStates, GeneralTransport, StateGround, groups
from nacre.costs.feasibility import check_plans
from nacre.costs.general import Plan
from nacre.costs.groups import Atoms
from nacre.costs.plans import Plans, independent_plans, optimal_plans
from nacre.errors import InputError
from nacre.policies import TabularPolicy
from nacre.policies.distributions import Categorical, Gaussian

STATES, ACTIONS = 1000, 5
SETS = ((0, 3), (1,), (2, 4))
MEMBER = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]], float)


def transport(source: np.ndarray, target: np.ndarray, ground: np.ndarray) -> float:
    """POT's optimum between two measures of the same total."""
    total = float(source.sum())
    if total <= 1e-15:
        return 0.0
    i, j = np.flatnonzero(source), np.flatnonzero(target)
    scaled = source[i] / total, target[j] / target.sum()
    return total * float(ot.emd2(*scaled, np.ascontiguousarray(ground[np.ix_(i, j)])))


def expect(old: np.ndarray, new: np.ndarray, c1: np.ndarray, c2: np.ndarray) -> tuple[float, float]:
    """𝓛 and 𝓣 of one state by the paper's definitions, written out with NumPy and POT."""
    a, b = old @ MEMBER, new @ MEMBER
    rho = old * (np.maximum(a - b, 0) / np.where(a > 0, a, 1))[MEMBER.argmax(1)]
    eta = new * (np.maximum(b - a, 0) / np.where(b > 0, b, 1))[MEMBER.argmax(1)]
    transaction = 0.0
    for group in range(3):
        inside = MEMBER[:, group]
        if min(a[group], b[group]) > 0:
            given = old * inside / a[group], new * inside / b[group]
            transaction += min(a[group], b[group]) * transport(*given, c2)
    return transport(rho, eta, c1), transaction


def test_ground_costs_by_state_are_those_of_pot_on_a_thousand_states() -> None:
    rng = np.random.default_rng(0)
    old, new = rng.dirichlet(np.ones(ACTIONS), (2, STATES))
    c1, c2 = rng.random((2, STATES, ACTIONS, ACTIONS))
    with jax.enable_x64(True):
        before, after = (Categorical(jnp.log(table)) for table in (old, new))
        cost = GeneralTransport(groups.indices(SETS), c1, c2, plan="optimal")
        found = cost.compare(before, after, jax.random.key(0), jnp.arange(STATES))
    expected = np.array([expect(*case) for case in zip(old, new, c1, c2, strict=True)])
    np.testing.assert_allclose(found.learning, expected[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.transaction, expected[:, 1], rtol=0, atol=1e-9)


def test_a_function_of_the_state_and_a_matrix_for_each_state_are_the_same_cost() -> None:
    rng = np.random.default_rng(1)
    one, other = (TabularPolicy.from_probabilities(rng.dirichlet(np.ones(3), 4)) for _ in range(2))
    matrices = rng.random((4, 3, 3))

    def look_up(states: Any, x: Any, y: Any) -> Any:
        old, new = x[:, 0].astype(int), y[:, 0].astype(int)
        return jnp.asarray(matrices)[states[..., None, None], old[:, None], new]

    totals = []
    for ground in (matrices, StateGround(look_up)):
        cost = nacre.GeneralTransportCost(
            5.0,
            1.0,
            groups.indices([[0], [1, 2]]),
            learning_ground=ground,
            transaction_ground=ground,
            plan="optimal",
            state_measure=FiniteStates(),
        )
        totals.append(cost.evaluate(one, other).total)
        assert float(cost.at(one, other, jnp.arange(4), jax.random.key(0))) == pytest.approx(
            totals[0]
        )
    assert totals[0] == pytest.approx(totals[1], rel=1e-6)


def test_ground_costs_of_action_vectors_may_depend_on_the_state() -> None:
    """Twice the distance where the state's first coordinate is positive: twice the cost there."""
    location = jnp.array([[0.3, -0.2], [0.3, -0.2]])
    old, new = Gaussian(location, jnp.zeros((2, 2))), Gaussian(location + 0.5, jnp.zeros((2, 2)))
    states = jnp.array([[-1.0], [1.0]])

    def distance(states: Any, x: Any, y: Any) -> Any:
        apart = jnp.abs(x[..., :, None, :] - y[..., None, :, :]).sum(-1)
        return jnp.where(states[:, 0] > 0, 2.0, 1.0)[:, None, None] * apart

    ground = StateGround(distance)
    plans: tuple[Plan, ...] = ("independent", "optimal")
    for plan in plans:
        cost = GeneralTransport(groups.sign(0), ground, ground, plan)
        found = [
            cost.compare(one, other, jax.random.key(0), state[None])
            for one, other, state in zip(*(_rows(part) for part in (old, new)), states, strict=True)
        ]
        assert 2.0 * found[0].learning == pytest.approx(np.asarray(found[1].learning), rel=1e-5)
        assert 2.0 * found[0].transaction == pytest.approx(
            np.asarray(found[1].transaction), rel=1e-5
        )


def _rows(distribution: Gaussian) -> list[Gaussian]:
    return [jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], distribution) for i in range(2)]


# Plans of the user's own


def by_hand(old: Atoms, new: Atoms, states: Any) -> Plans:
    """γ and λ independent within every group, written anew."""
    plans: Plans = independent_plans(old.weights, new.weights, old.membership, new.membership)
    return plans


def swapped(old: Atoms, new: Atoms, states: Any) -> Plans:
    plans = by_hand(old, new, states)
    return Plans(plans.transaction, plans.learning)


def idle(old: Atoms, new: Atoms, states: Any) -> Plans:
    nothing = jnp.zeros((*old.weights.shape, new.weights.shape[-1]))
    return Plans(nothing, nothing)


OLD, NEW = (
    TabularPolicy.from_probabilities(np.random.default_rng(seed).dirichlet(np.ones(4), 3))
    for seed in (5, 6)
)


def make_cost(plan: Any, **options: Any) -> nacre.SwitchingCost:
    return nacre.GeneralTransportCost(
        5.0,
        1.0,
        groups.indices([[0, 1], [2, 3]]),
        plan=plan,
        state_measure=FiniteStates(),
        **options,
    )


def test_a_plan_of_ones_own_is_priced() -> None:
    assert make_cost(by_hand).evaluate(OLD, NEW).total == pytest.approx(
        make_cost("independent").evaluate(OLD, NEW).total, rel=1e-6
    )


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (swapped, r"plan: the learning plan misses the surplus .* its rows must add up to ρ"),
        (idle, r"plan: the learning plan misses .* \(at state 0\)"),
    ],
)
def test_plans_with_other_marginals_are_refused(plan: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        make_cost(plan).evaluate(OLD, NEW)
    states = jnp.arange(3)
    assert np.isnan(make_cost(plan).at(OLD, NEW, states, jax.random.key(0)))


def test_what_is_wrong_with_a_plan_is_named() -> None:
    old, new = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.1, 0.5])
    member = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], float)
    given = old, new, member, member
    ground = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    for plans in (independent_plans(*given), optimal_plans(*given, ground, ground)):
        check_plans(plans, *given)
    gamma, lam = independent_plans(*given)
    crossed = lam.at[0, 0].add(-0.01).at[0, 2].add(0.01)
    for plans, text in (
        (Plans(gamma, lam * 0.9), "transaction plan misses what stays of the old actions by up to"),
        (Plans(gamma.T, lam), "learning plan misses the surplus of the old actions"),
        (Plans(gamma, crossed), "or leaves their group, by up to 0.0"),
        (Plans(gamma - 0.1, lam), "learning plan has negative or missing masses, by up to 0.1"),
        (Plans(gamma * np.nan, lam), "learning plan has negative or missing masses"),
        (Plans(gamma[:2], lam), r"learning plan has shape \(2, 4\), expected \(4, 4\)"),
    ):
        with pytest.raises(InputError, match=text):
            check_plans(plans, *given)


def test_ground_costs_that_are_none_are_named() -> None:
    with pytest.raises(InputError, match=r"learning_ground: ground costs must be .* \(at state 0"):
        make_cost("independent", learning_ground=lambda x, y: x - y.T).evaluate(OLD, NEW)
    with pytest.raises(InputError, match="no states are given"):
        make_cost("optimal", learning_ground=np.ones((3, 4, 4))).statewise.compare(
            OLD(jnp.arange(3)), NEW(jnp.arange(3)), jax.random.key(0)
        )
    cost = make_cost("optimal", learning_ground=np.ones((3, 4, 4)))
    cost.check(Discrete(3), Discrete(4))
    with pytest.raises(InputError, match="matrices for 3 states were given, there are 5"):
        cost.check(Discrete(5), Discrete(4))
    with pytest.raises(InputError, match="matrices by state need discrete states"):
        cost.check(Box(-1.0, 1.0, (2,)), Discrete(4))
    with pytest.raises(InputError, match="matrix of 4 rows was given for 6 actions"):
        cost.check(Discrete(3), Discrete(6))
