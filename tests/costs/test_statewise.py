"""Statewise costs against optimal transport by POT, against definitions and against samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import Difference, GeneralTransport, Transport, groups
from nacre.costs.grounds import Ground, l2, one, squared_l2
from nacre.costs.plans import independent_plans, optimal_plans
from nacre.costs.statewise import Comparison, compare_masses
from nacre.errors import InputError
from nacre.policies import (
    ActionDistribution,
    Categorical,
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
)

KEY = jax.random.key(0)

# Twenty groups of thirty actions. A case with L groups lives on L of them.
SIZES = (4, 3, 3, 2, 2, 2, *(1,) * 14)
GROUP_OF = np.repeat(np.arange(20), SIZES)
MEMBERSHIP = np.eye(20)[GROUP_OF]
ALL_GROUPS = groups.indices([np.flatnonzero(group == GROUP_OF).tolist() for group in range(20)])
CASES_EACH = 530


@pytest.fixture
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


class Cases(NamedTuple):
    """Policies (cases, 30) that use the actions of `chosen` groups only."""

    chosen: np.ndarray
    actions: np.ndarray
    old: np.ndarray
    new: np.ndarray
    learning_weight: np.ndarray
    transaction_weight: np.ndarray


def make_cases(n_groups: int) -> Cases:
    rng = np.random.default_rng(n_groups)
    chosen = np.sort(rng.choice(20, n_groups, replace=False))
    actions = np.flatnonzero(np.isin(GROUP_OF, chosen))
    policies = np.zeros((2, CASES_EACH, 30))
    for policy in policies.reshape(-1, 30):
        size = rng.integers(1, len(actions) + 1)
        support = rng.choice(actions, size, replace=False)
        policy[support] = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])))
    policies[1, :10] = policies[0, :10]
    transaction_weight = rng.uniform(0.0, 1.0, CASES_EACH)
    extra = rng.uniform(0.0, 1.0, CASES_EACH) * (rng.random(CASES_EACH) > 0.05)
    old, new = policies
    return Cases(chosen, actions, old, new, transaction_weight + extra, transaction_weight)


@pytest.fixture(scope="module")
def cases() -> list[Cases]:
    return [make_cases(n_groups) for n_groups in range(2, 21)]


def compare_categorical(
    cost: Transport | GeneralTransport | Difference, old: np.ndarray, new: np.ndarray
) -> Comparison:
    old_policy, new_policy = (Categorical.from_probabilities(table) for table in (old, new))
    return cost.compare(old_policy, new_policy, KEY)


def split_masses(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ρ, η and τ of equation "surplusmass", as the paper writes them, for one state."""
    a, b = old @ MEMBERSHIP, new @ MEMBERSHIP
    with np.errstate(invalid="ignore"):
        old_given = np.nan_to_num(old / (MEMBERSHIP @ a))
        new_given = np.nan_to_num(new / (MEMBERSHIP @ b))
    rho = MEMBERSHIP @ np.maximum(a - b, 0) * old_given
    eta = MEMBERSHIP @ np.maximum(b - a, 0) * new_given
    return rho, eta, np.minimum(a, b)


def transport_by_pot(source: np.ndarray, target: np.ndarray, ground: np.ndarray) -> float:
    """The least cost between masses of the same total."""
    total = source.sum()
    if total < 1e-12 or target.sum() < 1e-12:
        return 0.0
    rows, columns = source > 0, target > 0
    parts = source[rows] / total, target[columns] / target.sum()
    return float(total * ot.emd2(*parts, np.ascontiguousarray(ground[np.ix_(rows, columns)])))


def terms_by_pot(
    old: np.ndarray, new: np.ndarray, c1: np.ndarray, c2: np.ndarray
) -> tuple[float, float]:
    """min ∫ c_1 dγ and Σ τ_ℓ min ∫ c_2 dλ_ℓ for one state."""
    rho, eta, tau = split_masses(old, new)
    transaction = 0.0
    for group in np.flatnonzero(tau):
        inside = group == GROUP_OF
        mine, other = np.where(inside, old, 0.0), np.where(inside, new, 0.0)
        transaction += tau[group] * transport_by_pot(mine / mine.sum(), other / other.sum(), c2)
    return transport_by_pot(rho, eta, c1), transaction


def test_transport_by_hand() -> None:
    comparison = compare_categorical(
        Transport(groups.indices([[0], [1, 2]])),
        np.array([[0.5, 0.3, 0.2]]),
        np.array([[0.2, 0.4, 0.4]]),
    )
    np.testing.assert_allclose(comparison.learning, [0.3], atol=1e-6)
    np.testing.assert_allclose(comparison.transaction, [0.7], atol=1e-6)
    np.testing.assert_allclose(comparison.flows, [[[0.2, 0.3], [0.0, 0.5]]], atol=1e-6)
    np.testing.assert_allclose(comparison.learning_mass, [0.3], atol=1e-6)
    np.testing.assert_allclose(comparison.transaction_mass, [0.7], atol=1e-6)


def test_transport_is_the_optimal_transport_cost(double: None, cases: list[Cases]) -> None:
    """Proposition "Optimality of the proposed cost" on 10,070 cases with 2 to 20 groups."""
    n_cases = 0
    for chosen, actions, old, new, c_l, c_t in cases:
        sets = [np.flatnonzero(GROUP_OF[actions] == group).tolist() for group in chosen]
        transport = Transport(groups.indices(sets))
        comparison = jax.jit(lambda o, n, cost=transport: compare_categorical(cost, o, n))(
            old[:, actions], new[:, actions]
        )
        learning, transaction = np.asarray(comparison.learning), np.asarray(comparison.transaction)
        prices = c_l * learning + c_t * transaction
        np.testing.assert_allclose(learning + transaction, 1.0, rtol=0, atol=1e-12)
        # The first ten do not change their policy and still pay c_t.
        np.testing.assert_allclose(prices[:10], c_t[:10], rtol=0, atol=1e-12)
        apart = GROUP_OF[:, None] != GROUP_OF
        optima = [
            transport_by_pot(old[i], new[i], np.where(apart, c_l[i], c_t[i]))
            for i in range(len(old))
        ]
        np.testing.assert_allclose(prices, optima, rtol=0, atol=1e-9)
        flows = np.asarray(comparison.flows)
        masses = old @ MEMBERSHIP[:, chosen], new @ MEMBERSHIP[:, chosen]
        np.testing.assert_allclose(flows.sum(axis=2), masses[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(flows.sum(axis=1), masses[1], rtol=0, atol=1e-12)
        assert flows.min() >= 0
        n_cases += len(old)
    assert n_cases >= 10_000


class TestPlans:
    """γ and λ on all cases, their costs on those with two groups and some of the others."""

    @pytest.fixture
    def policies(self, double: None, cases: list[Cases]) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([c.old for c in cases]), np.concatenate([c.new for c in cases])

    @pytest.fixture
    def some(self, policies: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        old, new = policies
        others = np.random.default_rng(4).choice(len(old) - CASES_EACH, 1000, replace=False)
        rows = np.concatenate([np.arange(CASES_EACH), CASES_EACH + others])
        return old[rows], new[rows]

    def test_marginals(self, policies: tuple[np.ndarray, np.ndarray]) -> None:
        """Proposition "Feasibility of the proposed transport plan", both couplings."""
        old, new = policies
        ground = np.random.default_rng(0).random((30, 30))
        both = MEMBERSHIP, MEMBERSHIP
        independent = jax.jit(lambda o, n: independent_plans(o, n, *both))(old, new)
        for plans in (independent, optimal_plans(old, new, *both, ground, ground)):
            learning, transaction = (np.asarray(plan) for plan in plans)
            whole = learning + transaction
            assert min(learning.min(), transaction.min()) >= 0
            np.testing.assert_allclose(whole.sum(axis=2), old, rtol=0, atol=1e-12)
            np.testing.assert_allclose(whole.sum(axis=1), new, rtol=0, atol=1e-12)
            # λ never leaves a group.
            assert transaction[:, GROUP_OF[:, None] != GROUP_OF].max() == 0.0

    def test_respective_optimality(
        self, some: tuple[np.ndarray, np.ndarray], cases: list[Cases]
    ) -> None:
        """Proposition "Recovery": for c_1 = c_2 = 1 the optima are the terms of the main text."""
        general = compare_categorical(GeneralTransport(ALL_GROUPS, "one", "one", "optimal"), *some)
        plain = compare_masses(*(jnp.asarray(policy @ MEMBERSHIP) for policy in some))
        np.testing.assert_allclose(general.learning, plain.learning, rtol=0, atol=1e-9)
        np.testing.assert_allclose(general.transaction, plain.transaction, rtol=0, atol=1e-9)
        two_groups = cases[0]
        ones = np.ones((30, 30))
        optima = [
            terms_by_pot(two_groups.old[i], two_groups.new[i], ones, ones)
            for i in range(CASES_EACH)
        ]
        first = slice(0, CASES_EACH)
        np.testing.assert_allclose(plain.learning[first], [x for x, _ in optima], atol=1e-9)
        np.testing.assert_allclose(plain.transaction[first], [x for _, x in optima], atol=1e-9)

    @pytest.mark.parametrize(
        "ground",
        [
            "l2",
            "squared_l2",
            tuple(map(tuple, np.random.default_rng(1).random((30, 30)).tolist())),
            lambda x, y: jnp.abs(x[..., :, None, 0] - y[..., None, :, 0]) ** 3,
        ],
        ids=["l2", "squared_l2", "matrix", "function"],
    )
    def test_discrete_actions_are_exact(
        self, some: tuple[np.ndarray, np.ndarray], ground: Ground
    ) -> None:
        numbers = np.arange(30.0)
        distance = np.abs(numbers[:, None] - numbers)
        if isinstance(ground, str):
            c1 = distance if ground == "l2" else distance**2
        else:
            c1 = distance**3 if callable(ground) else np.array(ground)
        old, new = some
        optimal = compare_categorical(GeneralTransport(ALL_GROUPS, ground, "l2", "optimal"), *some)
        rows = np.random.default_rng(2).choice(len(old), 60, replace=False)
        expected = np.array([terms_by_pot(old[i], new[i], c1, distance) for i in rows])
        np.testing.assert_allclose(optimal.learning[rows], expected[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(optimal.transaction[rows], expected[:, 1], rtol=1e-9, atol=1e-9)
        independent = compare_categorical(GeneralTransport(ALL_GROUPS, ground, "l2"), *some)
        assert np.all(independent.learning >= optimal.learning - 1e-9)
        assert np.all(independent.transaction >= optimal.transaction - 1e-9)
        for row in rows:
            rho, eta, tau = split_masses(old[row], new[row])
            moved = rho @ c1 @ eta / rho.sum() if rho.sum() > 1e-12 else 0.0
            kept = sum(
                tau[g]
                * (old[row] * (g == GROUP_OF))
                @ distance
                @ (new[row] * (g == GROUP_OF))
                / ((old[row] @ MEMBERSHIP)[g] * (new[row] @ MEMBERSHIP)[g])
                for g in np.flatnonzero(tau)
            )
            np.testing.assert_allclose(independent.learning[row], moved, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(independent.transaction[row], kept, rtol=1e-9, atol=1e-9)


def repeat_states(distribution: ActionDistribution, n: int) -> ActionDistribution:
    """The same state n times over: as many independent estimates."""
    repeated: ActionDistribution = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (n, *x.shape)), distribution
    )
    return repeated


def compare(cost: GeneralTransport, old: ActionDistribution, new: ActionDistribution) -> Comparison:
    return cost.compare(old, new, KEY)


def assert_estimates(estimates: jax.Array, truth: float, truth_error: float = 0.0) -> None:
    """Within five standard errors: a chance of less than one in a million."""
    values = np.asarray(estimates, np.float64)
    error = np.hypot(values.std(ddof=1) / np.sqrt(len(values)), truth_error)
    assert error > 0
    assert abs(values.mean() - truth) < 5 * error


LOW, HIGH = (-1.0, -1.0), (2.0, 1.0)
OLD = SquashedGaussian(jnp.array([-0.3, 0.2]), jnp.array([-0.5, -1.0]), LOW, HIGH)
NEW = SquashedGaussian(jnp.array([0.4, -0.1]), jnp.array([-0.8, -0.2]), LOW, HIGH)
CUTS = groups.thresholds({0: [0.0, 1.0]})


def reference_by_samples(
    ground: Callable[[np.ndarray, np.ndarray], np.ndarray], n: int = 200_000
) -> tuple[list[float], list[float]]:
    """Terms of the independent plans between OLD and NEW from n pairs, with standard errors."""
    keys = jax.random.split(jax.random.key(7), 2)
    x, y = np.asarray(OLD.sample(keys[0], (n,))), np.asarray(NEW.sample(keys[1], (n,)))
    group_x, group_y = (np.digitize(points[:, 0], [0.0, 1.0], right=True) for points in (x, y))
    a, b = (np.bincount(group, minlength=3) / n for group in (group_x, group_y))
    flow = np.maximum(a - b, 0)[:, None] * np.maximum(b - a, 0) / np.maximum(a - b, 0).sum()
    price, error = np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            count = min((group_x == i).sum(), (group_y == j).sum())
            pairs = ground(x[group_x == i][:count], y[group_y == j][:count])
            price[i, j], error[i, j] = pairs.mean(), pairs.std() / np.sqrt(count)
    terms, errors = [], []
    for plan in (flow, np.diag(np.minimum(a, b))):
        terms.append(float((plan * price).sum()))
        # The groups' masses are estimated too: their errors are at most 1/√n each.
        errors.append(float(np.sqrt(((plan * error) ** 2).sum()) + 3 * price.max() / np.sqrt(n)))
    return terms, errors


@pytest.mark.parametrize("name", ["l2", "squared_l2", "function"])
def test_action_vectors_by_samples(name: str) -> None:
    power = {"l2": 1.0, "squared_l2": 2.0, "function": 3.0}[name]
    (learning, transaction), errors = reference_by_samples(
        lambda x, y: np.linalg.norm(x - y, axis=-1) ** power
    )
    ground = name if name != "function" else lambda x, y: l2(x, y) ** 3
    cost = GeneralTransport(CUTS, ground, ground, n_samples=8)
    assert cost.samples_actions(OLD, NEW)
    estimates = compare(cost, repeat_states(OLD, 2000), repeat_states(NEW, 2000))
    assert_estimates(estimates.learning, learning, errors[0])
    assert_estimates(estimates.transaction, transaction, errors[1])


def test_independent_coupling_of_equal_policies_is_not_biased() -> None:
    """Two independent draws in a box [0, 1] are a third apart, with a square of a sixth."""
    flat = repeat_states(Uniform(jnp.zeros(2), jnp.array([1.0, 1e-9])), 2000)
    for ground, expected in (("l2", 1 / 3), ("squared_l2", 1 / 6)):
        cost = GeneralTransport(CUTS, ground, ground, n_samples=8)
        comparison = compare(cost, flat, flat)
        assert_estimates(comparison.transaction, expected)
        np.testing.assert_array_equal(comparison.learning, 0.0)


def test_gaussian_closed_form_agrees_with_samples() -> None:
    old = Gaussian(jnp.array([-0.3, 0.5]), jnp.array([0.2, -0.7]))
    new = Gaussian(jnp.array([0.6, -0.2]), jnp.array([-0.4, 0.1]))
    closed = GeneralTransport(CUTS, "squared_l2", "squared_l2")
    sampled = GeneralTransport(CUTS, squared_l2, squared_l2, n_samples=8)
    assert not closed.samples_actions(old, new)
    assert sampled.samples_actions(old, new)
    exact = compare(closed, old, new)
    estimates = compare(sampled, repeat_states(old, 2000), repeat_states(new, 2000))
    assert_estimates(estimates.learning, float(exact.learning))
    assert_estimates(estimates.transaction, float(exact.transaction))
    np.testing.assert_allclose(exact.flows, estimates.flows[0], atol=1e-6)


def test_optimal_coupling_of_action_vectors() -> None:
    """On the line the monotone coupling is optimal; equal policies cost nothing."""
    old = repeat_states(Gaussian(jnp.array([-0.3]), jnp.array([0.2])), 64)
    new = repeat_states(Gaussian(jnp.array([0.6]), jnp.array([-0.4])), 64)
    cost = GeneralTransport(groups.sign(0), "l2", "l2", "optimal", n_samples=16)
    comparison = compare(cost, old, new)
    keys = jax.random.split(jax.random.key(3), 2)
    n = 400_000
    x, y = (
        np.asarray(policy.sample(key, (n // 64,))).ravel()
        for policy, key in zip((old, new), keys, strict=True)
    )
    a, b = np.mean(x <= 0), np.mean(y <= 0)
    assert a > b
    # Everything that leaves is below 0, everything that arrives above: every plan costs the same.
    learning = (a - b) * (y[y > 0].mean() - x[x <= 0].mean())
    grid = (np.arange(10_000) + 0.5) / 10_000
    transaction = sum(
        min(mine, other)
        * np.abs(np.quantile(x[inside_x], grid) - np.quantile(y[inside_y], grid)).mean()
        for mine, other, inside_x, inside_y in (
            (a, b, x <= 0, y <= 0),
            (1 - a, 1 - b, x > 0, y > 0),
        )
    )
    assert_estimates(comparison.learning, learning, 3 / np.sqrt(n))
    assert_estimates(comparison.transaction, transaction, 3 / np.sqrt(n))
    same = compare(cost, old, old)
    np.testing.assert_array_equal(same.learning, 0.0)
    np.testing.assert_allclose(same.transaction, 0.0, atol=1e-6)


def test_distances() -> None:
    x, y = jnp.array([[0.0, 0.0], [3.0, 4.0]]), jnp.array([[0.0, 0.0]])
    np.testing.assert_allclose(l2(x, y), [[0.0], [5.0]], rtol=1e-6)
    np.testing.assert_allclose(squared_l2(x, y), [[0.0], [25.0]], rtol=1e-6)
    np.testing.assert_array_equal(one(x, y), [[1.0], [1.0]])
    gradient = jax.grad(lambda points: l2(points, y).sum())(x)
    np.testing.assert_allclose(gradient, [[0.0, 0.0], [0.6, 0.8]], rtol=1e-6)


def test_difference_of_discrete_policies() -> None:
    old = np.array([[0.5, 0.5], [1.0, 0.0], [0.3, 0.7]])
    new = np.array([[0.5, 0.5], [0.0, 1.0], [0.3 + 1e-4, 0.7 - 1e-4]])
    comparison = compare_categorical(Difference(), old, new)
    np.testing.assert_array_equal(comparison.learning, [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(comparison.transaction, 0.0)
    np.testing.assert_array_equal(comparison.flows[1], [[0.0, 1.0], [0.0, 0.0]])
    tolerant = compare_categorical(Difference(1e-3), old, new)
    np.testing.assert_array_equal(tolerant.learning, [0.0, 1.0, 0.0])
    assert Difference().group_names(Discrete(2)) == ("unchanged", "changed")
    assert not Difference().samples_actions(OLD, NEW)


def test_difference_of_action_vectors() -> None:
    def learning(old: ActionDistribution, new: ActionDistribution) -> float:
        return float(Difference().compare(old, new, KEY).learning)

    wider = SquashedGaussian(OLD.location, OLD.log_std, LOW, (2.0, 2.0))
    # A standard deviation of zero has an infinite logarithm.
    point = Gaussian(jnp.zeros(1), jnp.array([-jnp.inf]))
    mixed = Mixture(jnp.array([0.5, 0.5]), (OLD, NEW))
    assert [learning(OLD, OLD), learning(point, point), learning(mixed, mixed)] == [0.0, 0.0, 0.0]
    assert [learning(OLD, NEW), learning(OLD, wider)] == [1.0, 1.0]
    for other in (Gaussian(OLD.location, OLD.log_std), mixed, Categorical(jnp.zeros(2))):
        with pytest.raises(InputError, match="cannot tell whether a"):
            Difference().compare(OLD, other, KEY)
        with pytest.raises(InputError, match="in the same form"):
            Difference().compare(other, OLD, KEY)


POINT, NOWHERE = Deterministic(jnp.ones(1)), Deterministic(jnp.full(1, jnp.nan))


@pytest.mark.parametrize(
    ("cost", "sound", "broken"),
    [
        (Transport(groups.sign(0)), POINT, NOWHERE),
        (Transport(groups.sign(0)), OLD, jax.tree.map(lambda x: x * jnp.nan, OLD)),
        (Transport(groups.halves()), Categorical(jnp.zeros(2)), Categorical(jnp.full(2, jnp.nan))),
        (Difference(), POINT, NOWHERE),
        (GeneralTransport(groups.sign(0), "one", "one"), POINT, NOWHERE),
    ],
)
def test_nan_stays_nan(
    cost: Transport | Difference, sound: ActionDistribution, broken: ActionDistribution
) -> None:
    assert np.isfinite(cost.compare(sound, sound, KEY).learning)
    for pair in ((sound, broken), (broken, sound), (broken, broken)):
        comparison = cost.compare(*pair, KEY)
        assert np.isnan(comparison.learning)
        assert np.isnan(comparison.flows).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"learning_ground": "l3"},
            "learning_ground = 'l3' is unknown; known: l2, squared_l2, one",
        ),
        ({"transaction_ground": 3}, "transaction_ground: 3 is no ground cost"),
        ({"learning_ground": [["a"]]}, "is no ground cost; give a name, a matrix or a function"),
        (
            {"learning_ground": [[0.0, 1.0], [1.0]]},
            "learning_ground: the ground cost matrix is not",
        ),
        ({"learning_ground": []}, "is not square"),
        ({"transaction_ground": [[-1.0]]}, "transaction_ground: ground costs must be finite"),
        ({"transaction_ground": [[np.nan]]}, "must be finite and not negative"),
        ({"plan": "best"}, "plan = 'best' is unknown; known: independent, optimal"),
        ({"n_samples": 0}, "n_samples = 0; give a whole number"),
        ({"n_samples": 2.5}, "n_samples = 2.5; give a whole number"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        GeneralTransport(groups.halves(), **options)


@pytest.mark.parametrize("tolerance", [-1.0, np.nan, np.inf])
def test_wrong_tolerances_are_refused(tolerance: float) -> None:
    with pytest.raises(InputError, match="tolerance ="):
        Difference(tolerance)


def test_matrices_must_fit_the_actions() -> None:
    matrices: tuple[Any, Any] = [[0.0, 1.0], [1.0, 0.0]], np.eye(2)
    cost = GeneralTransport(groups.halves(), *matrices)
    assert cost == GeneralTransport(groups.halves(), ((0, 1), (1, 0)), ((1, 0), (0, 1)))
    assert hash(cost) == hash(GeneralTransport(groups.halves(), ((0, 1), (1, 0)), ((1, 0), (0, 1))))
    assert cost.group_names(Discrete(2)) == ("action 0", "action 1")
    with pytest.raises(InputError, match="matrix of 2 rows was given for 3 actions"):
        cost.group_names(Discrete(3))
    with pytest.raises(InputError, match="these actions are vectors: name a distance"):
        cost.group_names(Box(-1.0, 1.0, (2,)))
    three = Categorical(jnp.zeros(3))
    with pytest.raises(InputError, match="given for 3 old and 3 new actions"):
        cost.compare(three, three, KEY)
    flat = GeneralTransport(groups.halves(), lambda x, y: x[..., 0])
    with pytest.raises(InputError, match="they need a row for each old and a column for each new"):
        flat.compare(three, three, KEY)


def test_size_of_a_comparison() -> None:
    assert Transport(CUTS).count_cells(Box(-1.0, 2.0, (2,))) == 9
    assert GeneralTransport(CUTS, n_samples=5).count_cells(Box(-1.0, 2.0, (2,))) == 15**2
    assert GeneralTransport(groups.halves()).count_cells(Discrete(7)) == 49
    assert Transport(CUTS).group_names(Box(-1.0, 2.0, (2,)))[1] == "0 < action[0] ≤ 1"
