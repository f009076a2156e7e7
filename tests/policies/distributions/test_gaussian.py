"""Gaussians and squashed Gaussians: against SciPy, samples and hand-worked values."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from scipy.stats import qmc

from nacre.costs import groups
from nacre.errors import InputError
from nacre.policies.distributions import (
    Gaussian,
    SquashedGaussian,
)
from tests.support.distributions import gaussian, squashed, squashed_asymmetric


def test_sign_is_the_sign_before_the_squashing_when_limits_are_symmetric() -> None:
    latent = Gaussian(jnp.linspace(-3, 3, 13)[:, None], jnp.linspace(-2, 1, 13)[:, None])
    for limit in (1.0, 0.4):
        pressed = SquashedGaussian(latent.location, latent.log_std, (-limit,), (limit,))
        np.testing.assert_allclose(
            pressed.mass(groups.sign(0)), latent.mass(groups.sign(0)), rtol=1e-6, atol=1e-7
        )


def test_tail_masses_keep_their_digits() -> None:
    normal = Gaussian(jnp.array([0.0]), jnp.array([0.0]))
    mass = normal.mass(groups.thresholds({0: [-9.0, -8.0, 8.0, 9.0]}))
    exact = np.array([scipy.stats.norm.cdf(-9), scipy.stats.norm.cdf(-8)])
    expected = [exact[0], exact[1] - exact[0], 1.0, exact[1] - exact[0], exact[0]]
    np.testing.assert_allclose(mass, expected, rtol=1e-4)


def test_normal_noise_is_the_inverse_cumulative_distribution() -> None:
    uniforms = np.array([[1e-3, 0.01, 0.2], [0.5, 0.9, 0.9995]], np.float32)
    mean, std = np.array([0.3, -0.2, 0.05]), np.exp([-0.5, 0.2, -1.5])
    expected = mean + std * scipy.stats.norm.ppf(uniforms.astype(float))
    np.testing.assert_allclose(gaussian().transform(jnp.asarray(uniforms)), expected, rtol=2e-5)


def test_quasi_random_means_beat_the_usual_error() -> None:
    noise = qmc.Sobol(3, seed=0).random(4096)
    mean = np.asarray(gaussian().transform(noise)).mean(axis=0)
    # 4096 independent draws would have standard errors of 0.0095, 0.019 and 0.0035.
    np.testing.assert_allclose(mean, [0.3, -0.2, 0.05], atol=1e-3)


def test_samples_and_modes_of_squashed_gaussians_lie_in_their_box() -> None:
    low, high = (-2.0, 0.1, 1000.0), (0.5, 0.3, 1000.1)
    location = jnp.array(list(itertools.product([-50.0, 0.0, 50.0], repeat=3)))
    distribution = SquashedGaussian(location, jnp.full_like(location, 2.0), low, high)
    compute = eqx.filter_jit(lambda d: (d.sample(jax.random.key(0), (50,)), d.mode()))
    for actions in compute(distribution):
        assert np.all(np.asarray(actions) >= np.asarray(low, np.float32))
        assert np.all(np.asarray(actions) <= np.asarray(high, np.float32))


def test_actions_on_the_boundary_of_the_box_have_finite_log_prob() -> None:
    distribution = squashed_asymmetric()
    edges = jnp.array([distribution.low, distribution.high])
    values, gradient = jax.value_and_grad(lambda d: jnp.sum(d.log_prob(edges)))(distribution)
    assert np.isfinite(values)
    assert np.all(np.isfinite(ravel_pytree(gradient)[0]))


EXTREMES = list(itertools.product([-50.0, -1e-3, 0.0, 50.0], [-20.0, 0.0, 2.0]))


@pytest.mark.parametrize("pressed", [False, True], ids=["gaussian", "squashed"])
def test_extreme_parameters_stay_finite(pressed: bool) -> None:
    location, log_std = (jnp.array(column)[:, None] for column in zip(*EXTREMES, strict=True))

    def build(location: Array, log_std: Array) -> Gaussian:
        if pressed:
            return SquashedGaussian(location, log_std, (-1.0,), (2.0,))
        return Gaussian(location, log_std)

    partition = groups.thresholds({0: [-0.5, 0.0, 1e-4, 0.7]})
    key = jax.random.key(0)
    samples = build(location, log_std).sample(key, (100,))

    def quantities(location: Array, log_std: Array) -> dict[str, Array]:
        distribution = build(location, log_std)
        values = {
            "log_prob": distribution.log_prob(samples),
            "masses": distribution.mass(partition),
        }
        if pressed:  # the way to the points is the same up to the squashing
            atoms = partition.atoms(distribution, key, 20)
            values["points"] = atoms.points
            values["weighted"] = atoms.points[..., 0] * atoms.weights
        return values

    def total(location: Array, log_std: Array) -> tuple[Array, dict[str, Array]]:
        values = quantities(location, log_std)
        weights = jnp.arange(1.0, 6.0)  # the masses themselves add up to a constant
        parts = values | {"masses": weights * values["masses"]}
        return jnp.sum(jnp.stack([jnp.sum(part) for part in parts.values()])), values

    assert np.all(np.isfinite(samples))
    evaluate = jax.jit(jax.value_and_grad(total, argnums=(0, 1), has_aux=True))
    (_, values), gradients = evaluate(location, log_std)
    for name, value in values.items():
        assert np.all(np.isfinite(value)), name
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(np.sum(values["masses"], axis=-1), 1.0, rtol=2e-6)


def test_points_within_far_tails_follow_the_tail() -> None:
    normal = Gaussian(jnp.array([0.0]), jnp.array([0.0]))
    noise = jnp.asarray(((np.arange(2000) + 0.5) / 2000)[None, :, None])
    for low, high in ((5.0, np.inf), (8.0, 8.5), (10.0, np.inf)):
        lower, upper = np.array([[low]]), np.array([[high]])
        points = np.asarray(normal.transform_within((0,), lower, upper, noise))[0, :, 0]
        mirrored = np.asarray(normal.transform_within((0,), -upper, -lower, noise))[0, :, 0]
        expected = scipy.stats.truncnorm(low, high)
        assert points.mean() == pytest.approx(expected.mean(), rel=1e-3)
        assert points.std() == pytest.approx(expected.std(), rel=0.02)
        assert mirrored.mean() == pytest.approx(-expected.mean(), rel=1e-3)


def test_a_box_beyond_all_mass_gets_the_point_next_to_the_mean() -> None:
    normal = Gaussian(jnp.array([0.0]), jnp.array([-20.0]))
    noise = jnp.asarray(np.linspace(0, 1, 5)[None, :, None])
    points = normal.transform_within((0,), np.array([[0.5]]), np.array([[0.9]]), noise)
    np.testing.assert_array_equal(points, np.full((1, 5, 1), 0.5, np.float32))


def test_divergence_of_gaussians_by_hand_and_by_samples() -> None:
    first = Gaussian(jnp.array([0.0]), jnp.array([0.0]))
    second = Gaussian(jnp.array([1.0]), jnp.array([math.log(2.0)]))
    assert float(first.kl(second)) == pytest.approx(math.log(2) + 2 / 8 - 0.5, rel=1e-6)
    old, new = squashed(), eqx.tree_at(lambda d: d.location, squashed(), jnp.array([0.0, 0.1, 0.2]))
    samples = old.sample(jax.random.key(0), (200_000,))
    ratios = np.asarray(old.log_prob(samples) - new.log_prob(samples))
    error = ratios.std() / math.sqrt(len(ratios))
    assert float(old.kl(new)) == pytest.approx(ratios.mean(), abs=5 * float(error))
    assert float(old.kl(old)) == 0.0
    nearby = eqx.tree_at(lambda d: d.log_std, old, old.log_std + 1e-3)
    assert float(nearby.kl(old)) == pytest.approx(3e-6, rel=0.05)


def test_divergence_between_different_squashings_is_refused() -> None:
    narrow = SquashedGaussian(squashed().location, squashed().log_std, (-0.5,) * 3, (0.5,) * 3)
    for other in (narrow, gaussian()):
        with pytest.raises(InputError, match="same kind and the same action bounds"):
            squashed().kl(other)
    with pytest.raises(InputError, match="a Gaussian and a Gaussian squashed to"):
        gaussian().kl(squashed())
