"""Noise for action samples: uniform one by one, even together."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jaxtyping import Array, PRNGKeyArray

from nacre.training.noise import Sampling, draw_uniforms, lattice_points

KINDS = ("ordinary", "quasi")


def draw_means(
    function: Callable[[Array], Array], n: int, size: int, sampling: Sampling, repeats: int = 500
) -> np.ndarray:
    """Means of a function over n points, for many keys; (repeats,)."""

    def mean(key: PRNGKeyArray) -> Array:
        return jnp.mean(function(draw_uniforms(key, n, 1, size, sampling)[:, 0]))

    return np.asarray(jax.jit(jax.vmap(mean))(jax.random.split(jax.random.key(0), repeats)))


@pytest.mark.parametrize("sampling", KINDS)
@pytest.mark.parametrize(("n", "rows", "size"), [(1, 3, 2), (5, 1, 1), (100, 2, 8)])
def test_shape_and_range(n: int, rows: int, size: int, sampling: Sampling) -> None:
    uniforms = draw_uniforms(jax.random.key(0), n, rows, size, sampling)
    assert uniforms.shape == (n, rows, size)
    assert uniforms.dtype == jnp.float32
    assert uniforms.min() > 0
    assert uniforms.max() < 1
    again = draw_uniforms(jax.random.key(0), n, rows, size, sampling)
    np.testing.assert_array_equal(uniforms, again)
    assert np.any(uniforms != draw_uniforms(jax.random.key(1), n, rows, size, sampling))


@pytest.mark.parametrize("sampling", KINDS)
def test_ends_are_left_out(sampling: Sampling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even when the generator gives the exact zero that it may."""
    monkeypatch.setattr(jax.random, "uniform", lambda key, shape: jnp.zeros(shape))
    uniforms = draw_uniforms(jax.random.key(0), 4, 1, 2, sampling)
    assert uniforms.min() == np.float32(2**-24)
    assert uniforms.max() < 1


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("sampling", KINDS)
def test_nothing_to_draw(n: int, sampling: Sampling) -> None:
    assert draw_uniforms(jax.random.key(0), n, 3, 0, sampling).shape == (n, 3, 0)


@pytest.mark.parametrize("sampling", KINDS)
def test_each_coordinate_is_uniform(sampling: Sampling) -> None:
    """Kolmogorov-Smirnov on one point of each of 2000 independent draws, p > 0.001."""
    uniforms = np.asarray(draw_uniforms(jax.random.key(5), 16, 2000, 3, sampling))
    for point in (0, 5, 15):
        for coordinate in range(3):
            test = scipy.stats.kstest(uniforms[point, :, coordinate], "uniform")
            assert test.pvalue > 1e-3


def test_states_get_independent_shifts() -> None:
    uniforms = np.asarray(draw_uniforms(jax.random.key(0), 8, 2000, 1, "quasi"))[0, :, 0]
    assert len(np.unique(uniforms)) > 1990
    assert abs(np.corrcoef(uniforms[:-1], uniforms[1:])[0, 1]) < 0.1


def smooth(u: Array) -> Array:
    """Integral (e - 1)^size over the cube."""
    return jnp.prod(jnp.exp(u), axis=-1)


@pytest.mark.parametrize(("n", "size"), [(16, 1), (128, 3)])
def test_quasi_random_means_vary_less(n: int, size: int) -> None:
    """At most half the standard deviation of ordinary ones, and unbiased: 4 standard errors."""
    exact = (np.e - 1) ** size
    ordinary = draw_means(smooth, n, size, "ordinary")
    quasi = draw_means(smooth, n, size, "quasi")
    assert quasi.std() < 0.5 * ordinary.std()
    for means in (ordinary, quasi):
        assert abs(means.mean() - exact) < 4 * means.std() / np.sqrt(len(means)) + 1e-6


def test_one_quasi_random_point_is_an_ordinary_one() -> None:
    key = jax.random.key(3)
    np.testing.assert_array_equal(
        draw_uniforms(key, 1, 4, 2, "quasi"), draw_uniforms(key, 1, 4, 2, "ordinary")
    )


@pytest.mark.parametrize("n", [2, 6, 100, 128, 2053])
def test_lattice_projects_to_the_even_grid(n: int) -> None:
    """Every coordinate of a lattice visits each multiple of 1/n once; points differ."""
    points = lattice_points(n, 3)
    for column in points.T:
        np.testing.assert_allclose(np.sort(column), np.arange(n) / n, atol=1e-12)
    assert len(np.unique(points, axis=0)) == n


def test_lattice_fills_the_square() -> None:
    """No empty box of the tenth of the side, as there are among 128 chance points."""
    boxes = np.unique(np.floor(lattice_points(128, 2) * 8), axis=0)
    assert len(boxes) == 64
