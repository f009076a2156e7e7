import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from nacre.costs import groups
from nacre.costs.groups import Boxes
from nacre.costs.moments import gaussian_costs, group_moments, truncated_moments
from nacre.errors import InputError
from nacre.policies.distributions import Gaussian, SquashedGaussian

INTERVALS = [
    (-math.inf, math.inf),
    (-math.inf, 0.0),
    (0.0, math.inf),
    (-1.0, 0.5),
    (0.2, 0.3),
    (1.5, 4.0),
    (-6.0, -5.0),
    (5.0, math.inf),
    (6.0, 6.5),
]


def standard(low: float, high: float, mean: float, std: float) -> Any:
    """SciPy's truncated normal distribution."""
    return scipy.stats.truncnorm((low - mean) / std, (high - mean) / std, mean, std)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 0.7), (-1.0, 2.0)])
def test_truncated_moments_agree_with_scipy(mean: float, std: float) -> None:
    lower, upper = (np.array(side) for side in zip(*INTERVALS, strict=True))
    expected = [standard(low, high, mean, std) for low, high in INTERVALS]
    means, variances = [e.mean() for e in expected], [e.var() for e in expected]
    with jax.enable_x64(True):
        computed = truncated_moments(jnp.full(9, mean), jnp.full(9, std), lower, upper)
        np.testing.assert_allclose(computed[0], means, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(computed[1], variances, rtol=2e-6)
    computed = truncated_moments(jnp.full(9, mean), jnp.full(9, std), lower, upper)
    np.testing.assert_allclose(computed[0], means, rtol=1e-4, atol=1e-5)
    # Differences of numbers near one: absolute accuracy is what single precision has.
    np.testing.assert_allclose(computed[1], variances, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("width", [1e-7, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("start", [-3.0, 0.0, 2.0])
def test_narrow_intervals_stay_within_their_ends(start: float, width: float) -> None:
    lower, upper = np.array([start]), np.array([start + width])
    mean, variance = truncated_moments(jnp.zeros(1), jnp.full(1, 7.0), lower, upper)
    assert np.float32(start) <= float(mean[0]) <= np.float32(start + width)
    assert 0 <= float(variance[0]) <= width**2 / 4 * (1 + 1e-6)


def test_intervals_without_mass_count_as_the_point_next_to_the_mean() -> None:
    lower, upper = np.array([12.0, -40.0, 0.5]), np.array([math.inf, -30.0, 0.7])
    std = jnp.array([1.0, 1.0, 1e-9])

    def both(mean: jax.Array, std: jax.Array) -> tuple[jax.Array, jax.Array]:
        return truncated_moments(mean, std, lower, upper)

    mean, variance = both(jnp.zeros(3), std)
    np.testing.assert_array_equal(mean, np.array([12.0, -30.0, 0.5], np.float32))
    np.testing.assert_array_equal(variance, [0.0, 0.0, 0.0])
    jacobian = jax.jit(jax.jacrev(both, argnums=(0, 1)))(jnp.zeros(3), std)
    assert all(np.all(np.isfinite(block)) for block in jax.tree.leaves(jacobian))


def test_gradients_stay_finite_down_to_the_smallest_mass() -> None:
    edges = np.linspace(0.0, 14.0, 57)
    upper = np.full(57, math.inf)

    def total(mean: jax.Array, std: jax.Array) -> jax.Array:
        first, second = truncated_moments(mean, std, edges, upper)
        return jnp.sum(first) + jnp.sum(second)

    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(jnp.zeros(57), jnp.ones(57)):
        assert np.all(np.isfinite(gradient))


OLD = Gaussian(jnp.array([[0.3, -0.2], [1.0, 0.0]]), jnp.array([[-0.5, 0.2], [0.1, -1.0]]))
NEW = Gaussian(jnp.array([[-0.4, 0.1], [0.5, 0.8]]), jnp.array([[0.0, -0.3], [0.1, -0.5]]))
PARTITIONS = [
    groups.sign(0),
    groups.thresholds({0: [-0.3, 0.4], 1: [0.0]}),
    groups.boxes(
        [
            {1: (-math.inf, 0.0)},
            {1: (0.0, math.inf), 0: (-math.inf, 0.2)},
            {1: (0.0, math.inf), 0: (0.2, math.inf)},
        ]
    ),
]


def test_group_moments_obey_the_laws_of_total_expectation_and_variance() -> None:
    for partition in PARTITIONS[1:]:
        mass, mean, variance = jax.jit(lambda old, p=partition: group_moments(old, p))(OLD)
        total = jnp.einsum("bl,blk->bk", mass, mean)
        second = jnp.einsum("bl,blk->bk", mass, mean**2 + variance)
        np.testing.assert_allclose(total, OLD.location, atol=1e-5)
        np.testing.assert_allclose(second - total**2, OLD.std**2, rtol=1e-4)


def sampled_costs(old: Gaussian, new: Gaussian, partition: Boxes, n: int) -> tuple[float, float]:
    """The independent plans by plain samples of both policies, sorted into groups."""
    rng = np.random.default_rng(0)
    draws = [
        np.asarray(d.location) + np.asarray(d.std) * rng.normal(size=(n, d.location.shape[-1]))
        for d in (old, new)
    ]
    lower, upper = np.array(partition.lower), np.array(partition.upper)
    inside = [
        np.all(
            (x[:, None, partition.coordinates] > lower)
            & (x[:, None, partition.coordinates] <= upper),
            axis=-1,
        )
        for x in draws
    ]
    shares = [where.mean(axis=0) for where in inside]
    means = [w.T @ x / w.sum(axis=0)[:, None] for x, w in zip(draws, inside, strict=True)]
    squares = [w.T @ (x**2).sum(axis=1) / w.sum(axis=0) for x, w in zip(draws, inside, strict=True)]
    distance = squares[0][:, None] + squares[1] - 2 * means[0] @ means[1].T
    surplus, deficit = (
        np.clip(shares[0] - shares[1], 0, None),
        np.clip(shares[1] - shares[0], 0, None),
    )
    flows = np.outer(surplus, deficit) / max(surplus.sum(), 1e-300)
    stays = np.minimum(shares[0], shares[1])
    return float((flows * distance).sum()), float((stays * np.diag(distance)).sum())


@pytest.mark.parametrize("partition", PARTITIONS)
def test_closed_form_agrees_with_monte_carlo(partition: Boxes) -> None:
    learning, transaction = gaussian_costs(OLD, NEW, partition)
    for row in range(2):
        old, new = (Gaussian(policy.location[row], policy.log_std[row]) for policy in (OLD, NEW))
        expected = sampled_costs(old, new, partition, 400_000)
        # Squared distances spread by about 3: five standard errors of 400,000 pairs are 0.024.
        assert float(learning[row]) == pytest.approx(expected[0], abs=0.024)
        assert float(transaction[row]) == pytest.approx(expected[1], abs=0.024)


def test_a_switch_worked_by_hand() -> None:
    # All mass of both lies in one group each: 𝓛 = |3 - (-1)|² + 0.01 + 0.04 with mass one, 𝓣 = 0.
    old = Gaussian(jnp.array([-1.0]), jnp.log(jnp.array([0.1])))
    new = Gaussian(jnp.array([3.0]), jnp.log(jnp.array([0.2])))
    learning, transaction = gaussian_costs(old, new, groups.sign(0))
    assert float(learning) == pytest.approx(16.05, rel=1e-5)
    assert float(transaction) == pytest.approx(0.0, abs=1e-6)
    # An unchanged policy moves nothing and rearranges within: twice the variance.
    learning, transaction = gaussian_costs(old, old, groups.sign(0))
    assert float(learning) == 0.0
    assert float(transaction) == pytest.approx(0.02, rel=1e-4)


def test_large_locations_do_not_cancel() -> None:
    old = Gaussian(jnp.array([50.0]), jnp.log(jnp.array([1e-2])))
    new = Gaussian(jnp.array([50.02]), jnp.log(jnp.array([1e-2])))
    _, transaction = gaussian_costs(old, new, groups.sign(0))
    # 0.02² + 2·0.01², where 50.02 is known to 4e-6; the squares of 50 have digits of 2e-4 only.
    assert float(transaction) == pytest.approx(6e-4, rel=2e-3)


def test_gradients_agree_with_finite_differences() -> None:
    with jax.enable_x64(True):
        weights = jnp.array([1.0, 0.3])

        def total(vector: jax.Array) -> jax.Array:
            location, log_std = vector.reshape(2, 2, 2)
            learning, transaction = gaussian_costs(
                Gaussian(
                    jnp.asarray(np.asarray(OLD.location)), jnp.asarray(np.asarray(OLD.log_std))
                ),
                Gaussian(location, log_std),
                PARTITIONS[1],
            )
            return jnp.sum(weights * learning + transaction)

        vector = jnp.asarray(np.stack([NEW.location, NEW.log_std]).ravel(), float)
        steps = 1e-6 * np.concatenate([np.zeros((1, 8)), np.eye(8), -np.eye(8)])
        values, gradients = jax.jit(jax.vmap(jax.value_and_grad(total)))(vector + steps)
        differences = (values[1:9] - values[9:]) / 2e-6
        np.testing.assert_allclose(gradients[0], differences, rtol=1e-6, atol=1e-8)


def test_gradients_are_finite_where_hardly_any_mass_moves() -> None:
    # Masses of 1e-25 and 1e-30 in the far group: what moves is too small to divide by.
    old = Gaussian(jnp.array([-10.4]), jnp.array([0.0]))

    def total(location: jax.Array) -> jax.Array:
        new = Gaussian(location, jnp.array([0.0]))
        learning, transaction = gaussian_costs(old, new, groups.sign(0))
        return learning + transaction

    locations = jnp.array([[-11.5], [-10.4], [-9.0], [-50.0], [50.0]])
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(total)))(locations)
    assert np.all(np.isfinite(values))
    assert np.all(np.isfinite(gradients))


def test_other_groups_and_policies_are_refused() -> None:
    with pytest.raises(InputError, match="need groups of action vectors"):
        gaussian_costs(OLD, NEW, groups.halves())
    pressed = SquashedGaussian(NEW.location, NEW.log_std, (-1.0, -1.0), (1.0, 1.0))
    for old, new in ((OLD, pressed), (pressed, NEW)):
        with pytest.raises(InputError, match="this one is a SquashedGaussian"):
            gaussian_costs(old, new, groups.sign(0))
