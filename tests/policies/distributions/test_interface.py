"""What every distribution does: masses, samples, densities and gradients agree."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PRNGKeyArray
from scipy.stats import qmc

from nacre.costs import groups
from nacre.policies.distributions import (
    Categorical,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
    deterministic_choice,
)
from nacre.policies.distributions.interface import ActionDistribution, ContinuousDistribution
from tests.support.distributions import (
    deterministic,
    deterministic_and_uniform,
    gaussian,
    gaussian_and_uniform,
    squashed,
    squashed_asymmetric,
    uniform,
)

Limits = tuple[float, ...]
Kind = TypeVar("Kind", bound=ActionDistribution)
N_SAMPLES = 1_000_000


CONTINUOUS = {
    make.__name__: make
    for make in (
        gaussian,
        squashed,
        squashed_asymmetric,
        uniform,
        deterministic,
        gaussian_and_uniform,
        deterministic_and_uniform,
    )
}


PARTITIONS = {
    "sign": groups.sign(0),
    "sign of the last coordinate": groups.sign(2),
    "thresholds": groups.thresholds({1: [-0.25, 0.0, 0.4]}),
    "thresholds on three coordinates": groups.thresholds({0: [-0.2, 0.3], 1: [0.1], 2: [-0.3]}),
    "boxes": groups.boxes(
        [
            {0: (-math.inf, 0.1)},
            {0: (0.1, math.inf), 1: (-math.inf, 0.2)},
            {0: (0.1, math.inf), 1: (0.2, math.inf)},
        ]
    ),
}


DISCRETE = {
    "categorical": lambda: Categorical(jnp.array([0.3, -1.0, 2.0, 0.0, 0.7])),
    "with actions never taken": lambda: Categorical.from_probabilities(
        jnp.array([0.0, 0.5, 0.0, 0.4, 0.1])
    ),
    "deterministic choice": lambda: deterministic_choice(jnp.array(2), 5),
}


INDEX_PARTITIONS = {
    "indices": groups.indices([[0, 3], [4], [1, 2]]),
    "halves": groups.halves(),
}


@eqx.filter_jit
def count(distribution: ContinuousDistribution, key: PRNGKeyArray) -> dict[str, Array]:
    """How many of a million samples fall into each box of each partition."""
    samples = distribution.sample(key, (N_SAMPLES,))
    counts = {}
    for name, boxes in PARTITIONS.items():
        chosen = samples[:, None, np.array(boxes.coordinates)]
        above, below = chosen > np.array(boxes.lower), chosen <= np.array(boxes.upper)
        counts[name] = jnp.sum(jnp.all(above & below, axis=-1), axis=0)
    return counts


def assert_within_five_standard_errors(frequency: np.ndarray, mass: np.ndarray) -> None:
    error = np.sqrt(mass * (1 - mass) / N_SAMPLES)
    # 1e-6 allows for the rounding of float32 where the standard error vanishes.
    np.testing.assert_array_less(np.abs(frequency - mass), 5 * error + 1e-6)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_box_masses_agree_with_a_million_samples(name: str) -> None:
    distribution = CONTINUOUS[name]()
    for partition, counted in count(distribution, jax.random.key(11)).items():
        mass = np.asarray(distribution.mass(PARTITIONS[partition]), float)
        assert_within_five_standard_errors(np.asarray(counted) / N_SAMPLES, mass)
        assert np.all(mass >= 0)
        assert mass.sum() == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_set_masses_agree_with_a_million_samples(name: str) -> None:
    distribution = DISCRETE[name]()
    samples = np.asarray(distribution.sample(jax.random.key(12), (N_SAMPLES,)))
    frequency = np.bincount(samples, minlength=5) / N_SAMPLES
    for sets in INDEX_PARTITIONS.values():
        mass = np.asarray(distribution.mass(sets), float)
        assert_within_five_standard_errors(frequency @ sets.membership(5), mass)
        assert mass.sum() == pytest.approx(1.0, abs=1e-6)


def assert_gradient_agrees(function: Callable[[Kind], Array], distribution: Kind) -> None:
    """Reverse mode against central differences in double precision, relative 1e-6."""
    vector, rebuild = ravel_pytree(distribution)
    assert vector.dtype == jnp.float64
    size = len(vector)
    steps = 1e-6 * np.concatenate([np.zeros((1, size)), np.eye(size), -np.eye(size)])
    evaluate = jax.jit(jax.vmap(jax.value_and_grad(lambda v: function(rebuild(v)))))
    values, gradients = evaluate(vector + steps)
    differences = (values[1 : 1 + size] - values[1 + size :]) / 2e-6
    np.testing.assert_allclose(gradients[0], differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_gradients_of_box_masses_agree_with_finite_differences(name: str) -> None:
    partitions = [PARTITIONS[key] for key in ("sign", "thresholds on three coordinates", "boxes")]
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=len(boxes.lower)) for boxes in partitions]

    def weigh(distribution: ContinuousDistribution) -> Array:
        masses = [distribution.mass(boxes) for boxes in partitions]
        return jnp.stack([jnp.sum(w * mass) for w, mass in zip(weights, masses, strict=True)]).sum()

    with jax.enable_x64(True):
        assert_gradient_agrees(weigh, CONTINUOUS[name]())


@pytest.mark.parametrize("partition", INDEX_PARTITIONS)
def test_gradients_of_set_masses_agree_with_finite_differences(partition: str) -> None:
    sets = INDEX_PARTITIONS[partition]
    weights = np.random.default_rng(5).normal(size=sets.membership(5).shape[1])
    with jax.enable_x64(True):
        assert_gradient_agrees(lambda d: jnp.sum(weights * d.mass(sets)), DISCRETE["categorical"]())


@pytest.mark.parametrize(
    "name", ["gaussian", "squashed", "squashed_asymmetric", "gaussian_and_uniform"]
)
def test_gradients_of_log_prob_agree_with_finite_differences(name: str) -> None:
    with jax.enable_x64(True):
        actions = jnp.array([[0.1, 0.2, 0.05], [-0.4, -0.1, -0.3]])
        assert_gradient_agrees(lambda d: jnp.sum(d.log_prob(actions)), CONTINUOUS[name]())


def test_sampling_transforms_uniform_noise() -> None:
    for make in CONTINUOUS.values():
        distribution, key = make(), jax.random.key(3)
        noise = jax.random.uniform(key, (7, distribution.noise_size))
        np.testing.assert_array_equal(distribution.sample(key, (7,)), distribution.transform(noise))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_quasi_random_noise_of_any_leading_shape_and_its_ends_are_taken(name: str) -> None:
    batched = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), CONTINUOUS[name]())
    noise = qmc.Sobol(4, seed=0).random(64)[:, None, : batched.noise_size]
    noise = np.broadcast_to(noise, (64, 4, batched.noise_size)).copy()
    noise[0], noise[1], noise[2] = 0.0, 1.0 - 2**-24, 1.0
    for form in (noise, noise.astype(np.float32)):
        actions = np.asarray(batched.transform(form))
        assert actions.shape == (64, 4, 3)
        assert np.all(np.isfinite(actions))
        np.testing.assert_array_equal(actions[:, 0], actions[:, 3])


def test_modes() -> None:
    np.testing.assert_allclose(squashed().mode(), np.tanh([0.3, -0.7, 0.1]), rtol=1e-6)
    np.testing.assert_allclose(uniform().mode(), [-0.15, 0.3, -0.75], rtol=1e-6)
    np.testing.assert_array_equal(gaussian_and_uniform().mode(), gaussian().mode())
    np.testing.assert_array_equal(deterministic_and_uniform().mode(), uniform().mode())
    np.testing.assert_array_equal(deterministic().mode(), deterministic().action)
    assert int(DISCRETE["categorical"]().mode()) == 2
    assert int(DISCRETE["deterministic choice"]().mode()) == 2


def test_log_densities_agree_with_scipy() -> None:
    actions = np.random.default_rng(0).uniform(-0.45, 0.05, (50, 3))
    normal = scipy.stats.norm([0.3, -0.2, 0.05], np.exp([-0.5, 0.2, -1.5]))
    np.testing.assert_allclose(
        gaussian().log_prob(jnp.asarray(actions)),
        normal.logpdf(actions).sum(axis=1),
        rtol=1e-5,
        atol=1e-5,
    )
    low, high = np.array([-2.0, -1.0, -0.5]), np.array([0.5, 3, 0.1])
    unit = (actions - (low + high) / 2) / ((high - low) / 2)
    normal = scipy.stats.norm([0.3, -0.7, 0.4], np.exp([-0.5, 0.4, -1.0]))
    change = np.log((high - low) / 2 * (1 - unit**2))
    np.testing.assert_allclose(
        squashed_asymmetric().log_prob(jnp.asarray(actions)),
        (normal.logpdf(np.arctanh(unit)) - change).sum(axis=1),
        rtol=1e-5,
        atol=1e-5,
    )
    box = scipy.stats.uniform([-1.0, -0.3, -2.0], [1.7, 1.2, 2.5])
    np.testing.assert_allclose(
        uniform().log_prob(jnp.asarray(actions)), box.logpdf(actions).sum(axis=1), rtol=1e-5
    )
    both = np.stack([make().log_prob(jnp.asarray(actions)) for make in (gaussian, uniform)])
    np.testing.assert_allclose(
        gaussian_and_uniform().log_prob(jnp.asarray(actions)),
        scipy.special.logsumexp(both, axis=0, b=np.array([[0.7], [0.3]])),
        rtol=1e-5,
        atol=1e-5,
    )
    logits = np.array([0.3, -1.0, 2.0, 0.0, 0.7])
    np.testing.assert_allclose(
        DISCRETE["categorical"]().log_prob(jnp.arange(5)),
        scipy.special.log_softmax(logits),
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda m, s, low, high: Gaussian(m, s),
        lambda m, s, low, high: SquashedGaussian(m, s, low, high),
        lambda m, s, low, high: Uniform(jnp.array(low), jnp.array(high)),
        lambda m, s, low, high: Mixture(
            jnp.array([0.4, 0.6]),
            (Gaussian(m, s), Uniform(jnp.array(low), jnp.array(high))),
        ),
    ],
    ids=["gaussian", "squashed", "uniform", "mixture"],
)
@pytest.mark.parametrize("size", [1, 2])
def test_densities_integrate_to_one(
    make: Callable[[Array, Array, Limits, Limits], ContinuousDistribution], size: int
) -> None:
    with jax.enable_x64(True):
        low, high = (-1.0, -2.0)[:size], (1.5, 0.5)[:size]
        distribution = make(jnp.array([0.2, -0.4])[:size], jnp.log(jnp.full(size, 0.3)), low, high)
        # Midpoints of cells of 0.005 that end at the bounds, where the squashed density vanishes.
        axes = [np.linspace(a - 0.5, b + 0.5, 701) for a, b in zip(low, high, strict=True)]
        middles = [(axis[1:] + axis[:-1]) / 2 for axis in axes]
        grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1)
        density = np.exp(np.asarray(distribution.log_prob(jnp.asarray(grid))))
        if isinstance(distribution, SquashedGaussian):
            density *= np.all((grid > low) & (grid < high), axis=-1)
        assert density.sum() * 0.005**size == pytest.approx(1.0, abs=1e-4)


def test_log_prob_broadcasts_one_action_over_a_batch_and_many_over_one() -> None:
    table = Categorical(jnp.log(jnp.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])))
    np.testing.assert_allclose(np.exp(table.log_prob(jnp.array(0))), [0.2, 0.5, 1.0], rtol=1e-6)
    many = jnp.array([[0, 1, 0], [1, 1, 0]])
    np.testing.assert_allclose(
        np.exp(table.log_prob(many)), [[0.2, 0.5, 1.0], [0.8, 0.5, 1.0]], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        *((name, "thresholds on three coordinates") for name in CONTINUOUS),
        ("gaussian_and_uniform", "boxes"),
    ],
)
def test_transforms_within_boxes_lie_there_and_mix_to_the_whole(name: str, partition: str) -> None:
    distribution, boxes = CONTINUOUS[name](), PARTITIONS[partition]
    lower, upper = np.array(boxes.lower), np.array(boxes.upper)
    noise = qmc.Sobol(4, seed=1).random(4096)[:, : distribution.noise_size]
    shared = jnp.broadcast_to(jnp.asarray(noise), (len(lower), *noise.shape))

    @eqx.filter_jit
    def compute(distribution: ContinuousDistribution) -> Any:
        within = distribution.transform_within(boxes.coordinates, lower, upper, shared)
        return within, distribution.mass(boxes), distribution.transform(shared[0])

    within, mass, whole = (np.asarray(part) for part in compute(distribution))
    chosen = within[..., boxes.coordinates]
    inside = np.all((chosen >= lower[:, None]) & (chosen <= upper[:, None]), axis=-1)
    assert np.all(inside[mass > 0])
    for power in (1, 2):
        mixed = np.einsum("b,bnk->k", mass, within**power) / 4096
        # Both are quasi-random means of 4096 points; the largest standard deviation is 1.2.
        np.testing.assert_allclose(mixed, (whole**power).mean(axis=0), atol=8e-3)


def test_gradients_within_boxes_agree_with_finite_differences() -> None:
    with jax.enable_x64(True):
        boxes = PARTITIONS["thresholds on three coordinates"]
        noise = jnp.asarray(np.random.default_rng(0).random((len(boxes.lower), 3, 3)))
        for make in (squashed_asymmetric, uniform):
            assert_gradient_agrees(
                lambda d: jnp.sum(
                    d.transform_within(
                        boxes.coordinates, np.array(boxes.lower), np.array(boxes.upper), noise
                    )
                    ** 2
                ),
                make(),
            )


@pytest.mark.parametrize(
    "name", ["squashed_asymmetric", "gaussian_and_uniform", "deterministic", "categorical"]
)
def test_compiled_equals_eager_and_batch_equals_loop(name: str) -> None:
    single = {**CONTINUOUS, **DISCRETE}[name]()
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, 0.5 * leaf, leaf]), single)
    if isinstance(single, Categorical):
        batch = Categorical(jnp.stack([single.logits, 2.0 * single.logits, single.logits]))
    partition = groups.halves() if isinstance(batch, Categorical) else PARTITIONS["boxes"]
    noise = jax.random.uniform(jax.random.key(0), (3, batch.noise_size))

    def everything(distribution: ActionDistribution, noise: Array) -> Any:
        return distribution.transform(noise), distribution.mode(), distribution.mass(partition)

    eager = everything(batch, noise)
    compiled = eqx.filter_jit(everything)(batch, noise)
    row = eqx.filter_jit(everything)
    rows = [row(jax.tree.map(lambda leaf, i=i: leaf[i], batch), noise[i]) for i in range(3)]
    looped = jax.tree.map(lambda *parts: jnp.stack(parts), *rows)
    assert batch.batch_shape == (3,)
    for other in (compiled, looped):
        for mine, theirs in zip(eager, other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)
