"""Gaussians cut off at bounds: against counting, SciPy and hand-worked values."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy import integrate, stats

from nacre.costs import groups
from nacre.errors import InputError
from nacre.policies import ClippedGaussian, Gaussian

INF = float("inf")


def clipped(
    location: tuple[float, ...] = (0.5, -2.0),
    std: tuple[float, ...] = (1.0, 0.5),
    low: tuple[float, ...] = (-1.0, -2.0),
    high: tuple[float, ...] = (1.0, 2.0),
) -> ClippedGaussian:
    return ClippedGaussian(jnp.array(location), jnp.log(jnp.array(std)), low, high)


def test_draws_stay_within_and_pile_up_on_the_bounds() -> None:
    drawn = np.asarray(clipped().sample(jax.random.key(0), (100_000,)))
    assert drawn.min(axis=0).tolist() == [-1.0, -2.0]
    assert drawn.max(axis=0)[0] == 1.0
    # Half of the second coordinate lies below its bound; standard error 0.0016.
    assert np.mean(drawn[:, 1] == -2.0) == pytest.approx(0.5, abs=0.007)
    assert np.mean(drawn[:, 0] == 1.0) == pytest.approx(stats.norm.sf(0.5), abs=0.007)


def test_mass_agrees_with_counting_also_at_the_bounds() -> None:
    partition = groups.boxes(
        [{0: (-INF, -1.0)}, {0: (-1.0, 0.2)}, {0: (0.2, 0.9999)}, {0: (0.9999, INF)}]
    )
    drawn = np.asarray(clipped().sample(jax.random.key(1), (200_000,)))[:, 0]
    edges = [-INF, -1.0, 0.2, 0.9999, INF]
    counted = [np.mean((drawn > a) & (drawn <= b)) for a, b in itertools.pairwise(edges)]
    mass = clipped().mass(partition)
    np.testing.assert_allclose(mass, counted, atol=0.005)
    assert float(mass.sum()) == pytest.approx(1.0, abs=1e-6)
    # The first group is the atom alone, which an unclipped Gaussian spreads below the bound.
    assert float(mass[0]) == pytest.approx(stats.norm.cdf(-1.5), abs=1e-6)


def test_log_prob_by_hand() -> None:
    one = clipped(location=(0.5,), std=(2.0,), low=(-1.0,), high=(INF,))
    actions = jnp.array([[-1.0], [0.0], [7.0], [-1.5]])
    expected = [
        stats.norm.logcdf(-0.75),
        stats.norm.logpdf(0.0, 0.5, 2.0),
        stats.norm.logpdf(7.0, 0.5, 2.0),
        -np.inf,
    ]
    np.testing.assert_allclose(one.log_prob(actions), expected, rtol=1e-5)


def test_total_probability_is_one() -> None:
    one = clipped(location=(0.3,), std=(0.8,), low=(-1.0,), high=(1.0,))

    def density(x: float) -> float:
        return float(jnp.exp(one.log_prob(jnp.array([x]))))

    middle, _ = integrate.quad(density, -1.0 + 1e-9, 1.0 - 1e-9)
    assert density(-1.0) + middle + density(1.0) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("bounds", [((-1.0,), (1.0,)), ((-INF,), (0.5,)), ((-INF,), (INF,))])
def test_kl_agrees_with_quadrature(bounds: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    one = clipped((0.3,), (0.8,), *bounds)
    other = clipped((-0.4,), (1.3,), *bounds)

    def term(x: float) -> float:
        mine = float(one.log_prob(jnp.array([x])))
        return math.exp(mine) * (mine - float(other.log_prob(jnp.array([x]))))

    low, high = (np.clip(bound[0], -8.0, 8.0) for bound in bounds)
    expected, _ = integrate.quad(term, low + 1e-6, high - 1e-6, limit=100, epsabs=1e-6)
    expected += sum(term(bound[0]) for bound in bounds if np.isfinite(bound[0]))
    assert float(one.kl(other)) == pytest.approx(expected, abs=2e-5)
    assert float(one.kl(one)) == pytest.approx(0.0, abs=1e-6)


def test_kl_is_at_most_that_of_the_unclipped() -> None:
    key = jax.random.key(3)
    location, log_std = jax.random.normal(key, (2, 2, 50, 2))
    mine, others = (
        ClippedGaussian(location[i], log_std[i], (-1.0, -1.0), (1.0, 1.0)) for i in range(2)
    )
    free, others_free = (Gaussian(location[i], log_std[i]) for i in range(2))
    assert np.all(np.asarray(mine.kl(others)) <= np.asarray(free.kl(others_free)) + 1e-4)


def test_kl_needs_the_same_bounds() -> None:
    with pytest.raises(InputError, match="clipped to"):
        clipped().kl(clipped(high=(1.0, 3.0)))
    with pytest.raises(InputError, match="no closed form"):
        clipped().kl(Gaussian(jnp.zeros(2), jnp.zeros(2)))


def test_gradients_are_finite_with_and_without_bounds() -> None:
    for low, high in (((-1.0,), (1.0,)), ((-INF,), (1.0,)), ((-INF,), (INF,))):

        def loss(
            location: Array, low: tuple[float, ...] = low, high: tuple[float, ...] = high
        ) -> Array:
            one = ClippedGaussian(location, jnp.zeros(1), low, high)
            other = ClippedGaussian(jnp.ones(1), jnp.zeros(1), low, high)
            return one.kl(other) + one.log_prob(jnp.array([1.0])) + one.mass(groups.sign(0))[0]

        assert np.all(np.isfinite(jax.grad(loss)(jnp.array([0.2]))))


def test_draws_within_groups_lie_there() -> None:
    partition = groups.sign(0)
    uniforms = jax.random.uniform(jax.random.key(5), (2, 1000, 2))
    within = clipped().transform_within(
        partition.coordinates, np.array(partition.lower), np.array(partition.upper), uniforms
    )
    assert np.all(within[0, :, 0] <= 0)
    assert np.all(within[1, :, 0] > 0)
    assert np.mean(within[1, :, 0] == 1.0) == pytest.approx(
        stats.norm.sf(0.5) / stats.norm.sf(-0.5), abs=0.05
    )
