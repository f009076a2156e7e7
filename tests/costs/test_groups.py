import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from nacre.costs import groups
from nacre.costs.groups import ActionGroups, Boxes, IndexSets
from nacre.errors import InputError
from nacre.policies.distributions import (
    ActionDistribution,
    Categorical,
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
)

INF = math.inf


def anything(value: Any) -> Any:
    """A value of the wrong kind, past the type checker."""
    return value


def unit_box(size: int, limit: float = 1.0) -> Box:
    return Box(np.full(size, -limit, np.float32), np.full(size, limit, np.float32))


# ---- what is a partition


def test_sign_is_two_half_spaces() -> None:
    assert groups.sign(2) == Boxes((2,), ((-INF,), (0.0,)), ((0.0,), (INF,)))
    assert groups.sign() == groups.sign(0) == groups.thresholds({0: [0]})
    assert len({groups.sign(0), groups.sign(0), groups.sign(1)}) == 2


def test_thresholds_cut_every_combination() -> None:
    partition = groups.thresholds({1: [0.5], 0: [-1.0, 1.0]})
    assert partition.coordinates == (0, 1)
    assert len(partition.lower) == 6
    assert partition.lower[3] == (-1.0, 0.5)
    assert partition.upper[3] == (1.0, INF)


def test_the_largest_number_of_groups_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = {0: [0.0], 1: [0.0]}
    monkeypatch.setattr(groups, "LARGEST_NUMBER", 4)
    assert len(groups.thresholds(cuts).lower) == 4
    monkeypatch.setattr(groups, "LARGEST_NUMBER", 3)
    with pytest.raises(InputError, match="the thresholds make 4 groups; use fewer of them"):
        groups.thresholds(cuts)


def test_boxes_of_any_shape_may_form_a_partition() -> None:
    partition = groups.boxes(
        [{0: (-INF, 0)}, {0: (0, INF), 3: (-INF, 1)}, {0: (0, INF), 3: (1, INF)}]
    )
    assert partition.coordinates == (0, 3)
    assert partition.lower == ((-INF, -INF), (0.0, -INF), (0.0, 1.0))
    same = groups.boxes([{0: (-INF, 0)}, {0: (0, INF)}])
    assert same == groups.sign(0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: groups.thresholds({}), "no thresholds given"),
        (lambda: groups.thresholds({0: []}), "no thresholds given"),
        (lambda: groups.thresholds({0: [1.0, 0.0]}), "[1.0, 0.0] of coordinate 0 do not increase"),
        (lambda: groups.thresholds({0: [1.0, 1.0]}), "sort them and drop repeats"),
        (lambda: groups.thresholds({0: [math.nan]}), "[nan] of coordinate 0 are not all finite"),
        (lambda: groups.thresholds({0: [0.0, INF]}), "reach to infinity by themselves"),
        (lambda: groups.thresholds({0: [10**400]}), "give a list of numbers"),
        (lambda: groups.thresholds({-1: [0.0]}), "coordinates [-1]; name each once, from 0"),
        (lambda: groups.thresholds({anything(0.5): [0.0]}), "give whole numbers, counted from 0"),
        (
            lambda: groups.thresholds({i: np.linspace(0, 1, 99).tolist() for i in range(8)}),
            "make 10000000000000000 groups",
        ),
        (lambda: groups.boxes([]), "0 given on 0 coordinates"),
        (lambda: groups.boxes([{}, {}]), "2 given on 0 coordinates; at least two groups on one"),
        (lambda: groups.boxes([{0: (-INF, INF)}]), "1 given on 1 coordinates"),
        (lambda: groups.boxes([{0: (-INF, 0)}, {0: (0, INF), -2: (0, 1)}]), "[-2, 0]; name each"),
        (lambda: groups.boxes([{0: (0, -INF)}, {0: (0, INF)}]), "group 0 reaches from [0.0] to"),
        (lambda: groups.boxes([{0: (-INF, 0)}, {0: (0, 0)}]), "group 1 reaches from [0.0] to [0.0"),
        (lambda: groups.boxes([{0: (-INF, 0)}, {0: (math.nan, INF)}]), "must be below its upper"),
        (
            lambda: groups.boxes([{0: (-INF, 0)}, {0: anything((0, 1, 2))}]),
            "give a lower and an upper one",
        ),
        (
            lambda: groups.boxes([{0: (-1, 0)}, {0: (0, 1)}]),
            "covered from -1.0 to 1.0 only; let the outer groups go to -inf and inf",
        ),
        (
            lambda: groups.boxes([{0: (-INF, 1)}, {0: (0, INF)}]),
            "not a partition: the cell action[0] up to 1 lies in 2 boxes",
        ),
        (
            lambda: groups.boxes([{0: (-INF, 0)}, {0: (1, INF)}]),
            "the cell action[0] up to 1 lies in 0 boxes",
        ),
        (
            lambda: groups.boxes([{0: (-INF, 0)}, {0: (0, INF), 1: (-INF, 2)}, {1: (2, INF)}]),
            "the cell action[0] up to 0, action[1] up to inf lies in 2 boxes",
        ),
        (
            lambda: groups.boxes([{0: (i, i + 1)} for i in range(5000)]),
            "5000 given; use at most 4096",
        ),
        (
            lambda: groups.boxes(
                [dict.fromkeys(range(9), (i, i + 1)) for i in range(20)]
                + [dict.fromkeys(range(9), (-INF, INF))]
            ),
            "cells; use fewer boxes",
        ),
        (lambda: Boxes((0, 0), ((-INF, 0),) * 2, ((0, INF),) * 2), "coordinates [0, 0]"),
        (lambda: Boxes((0,), ((-INF,), (0.0,)), ((0.0,),)), "needs a lower and an upper bound"),
        (lambda: Boxes((0,), ((-INF,), (0.0, 1.0)), ((0.0,), (INF,))), "on 1 coordinates"),
    ],
)
def test_boxes_that_are_no_partition_are_refused(build: Callable[[], Boxes], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert message in str(caught.value)
    assert str(caught.value).startswith("groups: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: groups.thresholds({0: anything(["left"])}), "cuts[0][0] = 'left': give a number"),
        (lambda: groups.thresholds({0: anything(1.0)}), "cuts[0] = 1.0: give a list"),
        (
            lambda: groups.boxes([{0: (0, 1)}, {0: anything("a")}]),
            "groups[1][0] = 'a': give a list",
        ),
        (lambda: groups.indices([[anything(0.5)], [1]]), "sets[0][0] = 0.5: give a whole number"),
        (lambda: groups.indices([anything("ab"), [1]]), "sets[0] = 'ab': give a list"),
        (lambda: groups.indices([anything(0), [1]]), "sets[0] = 0: give a list"),
        (lambda: groups.sign(anything("x")), "coordinate = 'x': give a whole number"),
    ],
)
def test_what_is_no_number_or_list_is_told(build: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.problems == (message,)


@pytest.mark.parametrize(
    ("sets", "messages"),
    [
        ([[0, 1]], ["1 given; at least two are needed"]),
        ([], ["0 given; at least two are needed"]),
        ([[0], [], [1]], ["group 1 is empty; drop it or give it actions"]),
        ([[0, 1], [1, 2]], ["action 1 is in group 0 and in group 1; keep it in one"]),
        ([[0, 0], [1]], ["action 0 is in group 0 and in group 0"]),
        ([[0], [2]], ["action 1 in no group; add to one of them"]),
        ([[-1], [0]], ["action -1 in group 0 does not exist; actions are 0 to 0"]),
        ([[0], [10**12]], ["actions 1-10 and others in no group"]),
        ([[0, 1], [1], []], ["action 1 is in group 0 and in group 1", "group 2 is empty"]),
    ],
)
def test_sets_that_are_no_partition_are_refused(sets: Any, messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        groups.indices(sets)
    for problem in caught.value.problems:
        assert problem.startswith("groups: ")
        assert "\n" not in problem
    for message in messages:
        assert message in str(caught.value)


def test_membership_of_sets_and_halves() -> None:
    np.testing.assert_array_equal(
        groups.indices([[2, 0], [1]]).membership(3), [[1, 0], [0, 1], [1, 0]]
    )
    np.testing.assert_array_equal(groups.halves().membership(3), [[1, 0], [0, 1], [0, 1]])
    np.testing.assert_array_equal(groups.halves().membership(4).sum(axis=0), [2, 2])
    assert groups.halves() == IndexSets(None)
    assert groups.indices(anything(np.array([[0], [1]]))) == groups.indices([[0], [1]])


def test_sets_are_checked_against_the_number_of_actions() -> None:
    with pytest.raises(InputError, match="actions 2-3 in no group"):
        groups.indices([[0], [1]]).membership(4)
    with pytest.raises(InputError, match="action 2 in group 1 does not exist; actions are 0 to 1"):
        groups.indices([[0, 1], [2]]).membership(2)
    with pytest.raises(InputError, match="1 action cannot be halved"):
        groups.halves().membership(1)


# ---- names and spaces


def test_names_say_what_is_in_a_group() -> None:
    space = unit_box(2)
    assert groups.sign(0).names(space) == ("action[0] ≤ 0", "action[0] > 0")
    assert groups.thresholds({1: [-0.5, 0.25]}).names(space) == (
        "action[1] ≤ -0.5",
        "-0.5 < action[1] ≤ 0.25",
        "action[1] > 0.25",
    )
    corners = groups.boxes(
        [{0: (-INF, 0)}, {0: (0, INF), 1: (-INF, 0)}, {0: (0, INF), 1: (0, INF)}]
    )
    assert corners.names(space) == (
        "action[0] ≤ 0",
        "action[0] > 0 and action[1] ≤ 0",
        "action[0] > 0 and action[1] > 0",
    )
    sets = groups.indices([[0, 1, 2, 5], [3], [7, 4, 6]])
    assert sets.names(Discrete(8)) == ("actions 0-2, 5", "action 3", "actions 4, 6-7")
    assert groups.halves().names(Discrete(2)) == ("action 0", "action 1")


@pytest.mark.parametrize(
    ("partition", "space", "message"),
    [
        (groups.sign(2), unit_box(2), "coordinate 2, an action has 2: use coordinates 0 to 1"),
        (groups.sign(0), Discrete(3), "need action vectors, the actions are Discrete(3)"),
        (groups.halves(), unit_box(1), "need discrete actions, the actions are Box(-1.0, 1.0"),
        (groups.halves(), Discrete(1), "cannot be halved"),
        (groups.thresholds({0: [-2.0, 0.0]}), unit_box(1), "group action[0] ≤ -2 lies outside"),
        (groups.thresholds({0: [0.0, 1.0]}), unit_box(1), "group action[0] > 1 lies outside"),
        (groups.indices([[0], [1]]), Discrete(3), "action 2 in no group"),
    ],
)
def test_groups_that_do_not_fit_the_actions_are_refused(
    partition: ActionGroups, space: Space[Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        partition.check(space)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_groups_that_fit_pass() -> None:
    groups.sign(0).check(Box(-INF, INF, (1,)))
    groups.thresholds({0: [-1.0, 0.0]}).check(unit_box(1))
    groups.halves().check(Discrete(2))


def test_masses_need_the_right_kind_of_distribution() -> None:
    normal = Gaussian(jnp.zeros(2), jnp.zeros(2))
    with pytest.raises(InputError, match="for discrete actions use index sets"):
        Categorical(jnp.zeros(2)).mass(groups.sign(0))
    with pytest.raises(InputError, match="for action vectors use thresholds"):
        normal.mass(groups.halves())
    with pytest.raises(InputError, match="coordinate 2, an action has 2"):
        normal.mass(groups.sign(2))


# ---- atoms


def test_atoms_of_discrete_actions_are_the_actions() -> None:
    distribution = Categorical.from_probabilities(np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]))
    atoms = groups.indices([[0, 2], [1]]).atoms(distribution, jax.random.key(0), 7)
    np.testing.assert_array_equal(atoms.points, [[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(atoms.weights, [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(atoms.membership, [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    "distribution",
    [
        Gaussian(jnp.array([[0.1, -0.4], [2.0, 0.0]]), jnp.array([[0.0, -1.0], [-0.5, 0.3]])),
        SquashedGaussian(
            jnp.array([[0.1, -0.4], [2.0, 0.0]]), jnp.zeros((2, 2)), (-1.0, -2.0), (2.0, 1.0)
        ),
        Mixture(
            jnp.array([0.4, 0.6]),
            (
                Deterministic(jnp.array([[0.5, 0.5], [-0.5, 0.1]])),
                Uniform(-jnp.ones((2, 2)), jnp.ones((2, 2))),
            ),
        ),
    ],
    ids=["gaussian", "squashed", "mixture"],
)
def test_atoms_of_action_vectors_stand_for_the_distribution(
    distribution: ActionDistribution,
) -> None:
    partition = groups.thresholds({0: [0.0, 0.3], 1: [0.2]})
    n = 2000

    @eqx.filter_jit
    def compute(distribution: ActionDistribution) -> tuple[jax.Array, ...]:
        atoms = partition.atoms(distribution, jax.random.key(0), n)
        samples = distribution.sample(jax.random.key(1), (20_000,))
        return atoms.points, atoms.weights, distribution.mass(partition), samples

    points, weights, masses, samples = (np.asarray(part) for part in compute(distribution))
    assert points.shape == (2, 6 * n, 2)
    np.testing.assert_allclose(weights.reshape(2, 6, n).sum(axis=2), masses, rtol=1e-4, atol=1e-6)
    mean = np.einsum("bmk,bm->bk", points, weights)
    # Standard deviations are at most 1.5: 5 standard errors of the samples and of the strata.
    np.testing.assert_allclose(mean, samples.mean(axis=0), atol=5 * 1.5 * (2e4**-0.5 + n**-0.5 / 3))


def test_atoms_are_listed_group_by_group() -> None:
    atom = Deterministic(jnp.array([0.5]))
    atoms = groups.thresholds({0: [0.0, 1.0]}).atoms(atom, jax.random.key(0), 2)
    np.testing.assert_array_equal(atoms.membership, np.repeat(np.eye(3), 2, axis=0))
    np.testing.assert_array_equal(atoms.weights, [0, 0, 0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(atoms.points, np.full((6, 1), 0.5))


def test_atoms_have_gradients_in_the_distribution() -> None:
    partition = groups.sign(0)

    def first_mean(location: jax.Array) -> jax.Array:
        atoms = partition.atoms(Gaussian(location, jnp.zeros(2)), jax.random.key(0), 500)
        return jnp.sum(atoms.weights * atoms.points[:, 0])

    with jax.enable_x64(True):
        locations = jnp.array([[0.3, 0.0], [0.3 + 1e-6, 0.0], [0.3 - 1e-6, 0.0]])
        values, gradients = jax.jit(jax.vmap(jax.value_and_grad(first_mean)))(locations)
        difference = float(values[1] - values[2]) / 2e-6
        assert float(gradients[0, 0]) == pytest.approx(difference, rel=1e-6)
        assert difference == pytest.approx(1.0, abs=0.1)  # the mean moves with the location
