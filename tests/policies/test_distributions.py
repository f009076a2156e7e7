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
from scipy.stats import qmc

from nacre.costs import groups
from nacre.errors import InputError
from nacre.policies.distributions import (
    Categorical,
    Deterministic,
    Gaussian,
    Mixture,
    SquashedGaussian,
    Uniform,
    deterministic_choice,
)

N_SAMPLES = 1_000_000


def gaussian():
    return Gaussian(jnp.array([0.3, -0.2, 0.05]), jnp.array([-0.5, 0.2, -1.5]))


def squashed():
    return SquashedGaussian(
        jnp.array([0.3, -0.7, 0.1]), jnp.array([-0.5, 0.4, -1.0]), (-1.0,) * 3, (1.0,) * 3
    )


def squashed_asymmetric():
    return SquashedGaussian(
        jnp.array([0.3, -0.7, 0.4]), jnp.array([-0.5, 0.4, -1.0]), (-2.0, -1.0, -0.5), (0.5, 3, 0.1)
    )


def uniform():
    return Uniform(jnp.array([-1.0, -0.3, -2.0]), jnp.array([0.7, 0.9, 0.5]))


def deterministic():
    return Deterministic(jnp.array([-0.01, 0.5, -0.1]))


def gaussian_and_uniform():
    return Mixture(jnp.array([0.7, 0.3]), (gaussian(), uniform()))


def deterministic_and_uniform():
    return Mixture(jnp.array([0.25, 0.75]), (deterministic(), uniform()))


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
def count(distribution, key):
    """How many of a million samples fall into each box of each partition."""
    samples = distribution.sample(key, (N_SAMPLES,))
    counts = {}
    for name, boxes in PARTITIONS.items():
        chosen = samples[:, None, np.array(boxes.coordinates)]
        above, below = chosen > np.array(boxes.lower), chosen <= np.array(boxes.upper)
        counts[name] = jnp.sum(jnp.all(above & below, axis=-1), axis=0)
    return counts


def assert_within_five_standard_errors(frequency, mass):
    error = np.sqrt(mass * (1 - mass) / N_SAMPLES)
    # 1e-6 allows for the rounding of float32 where the standard error vanishes.
    np.testing.assert_array_less(np.abs(frequency - mass), 5 * error + 1e-6)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_box_masses_agree_with_a_million_samples(name):
    distribution = CONTINUOUS[name]()
    for partition, counted in count(distribution, jax.random.key(11)).items():
        mass = np.asarray(distribution.mass(PARTITIONS[partition]), float)
        assert_within_five_standard_errors(np.asarray(counted) / N_SAMPLES, mass)
        assert np.all(mass >= 0)
        assert mass.sum() == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_set_masses_agree_with_a_million_samples(name):
    distribution = DISCRETE[name]()
    samples = np.asarray(distribution.sample(jax.random.key(12), (N_SAMPLES,)))
    frequency = np.bincount(samples, minlength=5) / N_SAMPLES
    for sets in INDEX_PARTITIONS.values():
        mass = np.asarray(distribution.mass(sets), float)
        assert_within_five_standard_errors(frequency @ sets.membership(5), mass)
        assert mass.sum() == pytest.approx(1.0, abs=1e-6)


def assert_gradient_agrees(function, distribution):
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
def test_gradients_of_box_masses_agree_with_finite_differences(name):
    partitions = [PARTITIONS[key] for key in ("sign", "thresholds on three coordinates", "boxes")]
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=len(boxes.lower)) for boxes in partitions]

    def weigh(distribution):
        masses = [distribution.mass(boxes) for boxes in partitions]
        return sum(jnp.sum(w * mass) for w, mass in zip(weights, masses, strict=True))

    with jax.enable_x64(True):
        assert_gradient_agrees(weigh, CONTINUOUS[name]())


@pytest.mark.parametrize("partition", INDEX_PARTITIONS)
def test_gradients_of_set_masses_agree_with_finite_differences(partition):
    sets = INDEX_PARTITIONS[partition]
    weights = np.random.default_rng(5).normal(size=sets.membership(5).shape[1])
    with jax.enable_x64(True):
        assert_gradient_agrees(lambda d: jnp.sum(weights * d.mass(sets)), DISCRETE["categorical"]())


@pytest.mark.parametrize(
    "name", ["gaussian", "squashed", "squashed_asymmetric", "gaussian_and_uniform"]
)
def test_gradients_of_log_prob_agree_with_finite_differences(name):
    with jax.enable_x64(True):
        actions = jnp.array([[0.1, 0.2, 0.05], [-0.4, -0.1, -0.3]])
        assert_gradient_agrees(lambda d: jnp.sum(d.log_prob(actions)), CONTINUOUS[name]())


def test_sign_is_the_sign_before_the_squashing_when_limits_are_symmetric():
    latent = Gaussian(jnp.linspace(-3, 3, 13)[:, None], jnp.linspace(-2, 1, 13)[:, None])
    for limit in (1.0, 0.4):
        pressed = SquashedGaussian(latent.location, latent.log_std, (-limit,), (limit,))
        np.testing.assert_allclose(
            pressed.mass(groups.sign(0)), latent.mass(groups.sign(0)), rtol=1e-6, atol=1e-7
        )


def test_box_mass_by_hand():
    normal = Gaussian(jnp.array([1.0]), jnp.array([math.log(2.0)]))
    below = 0.3085375387259869  # Φ(-1/2)
    np.testing.assert_allclose(normal.mass(groups.sign(0)), [below, 1 - below], rtol=1e-6)
    flat = Uniform(jnp.array([-1.0, 0.0]), jnp.array([3.0, 1.0]))
    np.testing.assert_allclose(
        flat.mass(groups.thresholds({0: [0.0], 1: [0.5]})), [0.125, 0.125, 0.375, 0.375]
    )


def test_an_atom_on_a_threshold_belongs_to_the_group_below():
    atoms = Deterministic(jnp.array([[-0.5], [0.0], [0.5]]))
    np.testing.assert_array_equal(atoms.mass(groups.sign(0)), [[1, 0], [1, 0], [0, 1]])


def test_tail_masses_keep_their_digits():
    normal = Gaussian(jnp.array([0.0]), jnp.array([0.0]))
    mass = normal.mass(groups.thresholds({0: [-9.0, -8.0, 8.0, 9.0]}))
    exact = np.array([scipy.stats.norm.cdf(-9), scipy.stats.norm.cdf(-8)])
    expected = [exact[0], exact[1] - exact[0], 1.0, exact[1] - exact[0], exact[0]]
    np.testing.assert_allclose(mass, expected, rtol=1e-4)


# ---- sampling


def test_sampling_transforms_uniform_noise():
    for make in CONTINUOUS.values():
        distribution, key = make(), jax.random.key(3)
        noise = jax.random.uniform(key, (7, distribution.noise_size))
        np.testing.assert_array_equal(distribution.sample(key, (7,)), distribution.transform(noise))


def test_normal_noise_is_the_inverse_cumulative_distribution():
    uniforms = np.array([[1e-3, 0.01, 0.2], [0.5, 0.9, 0.9995]], np.float32)
    mean, std = np.array([0.3, -0.2, 0.05]), np.exp([-0.5, 0.2, -1.5])
    expected = mean + std * scipy.stats.norm.ppf(uniforms.astype(float))
    np.testing.assert_allclose(gaussian().transform(jnp.asarray(uniforms)), expected, rtol=2e-5)


def test_categorical_noise_is_the_inverse_cumulative_distribution():
    uniforms = np.linspace(0, 1, 1001)[:, None]
    drawn = Categorical.from_probabilities([0.25, 0.0, 0.5, 0.25]).transform(uniforms)
    expected = np.select([uniforms < 0.25, uniforms < 0.75], [0, 2], 3)[:, 0]
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("n_actions", [1, 2, 3, 100])
def test_actions_of_probability_zero_are_never_drawn(n_actions):
    rng = np.random.default_rng(n_actions)
    probabilities = rng.random((200, n_actions)) * rng.integers(0, 2, (200, n_actions))
    probabilities[:, rng.integers(n_actions)] += 0.01
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    distribution = Categorical.from_probabilities(probabilities)
    noise = np.concatenate([[0.0, 1e-30, 1 - 2**-24, 1.0], rng.random(200)]).astype(np.float32)
    # Noise on the partial sums themselves is where rounding could pick a neighbour.
    edges = np.cumsum(probabilities.astype(np.float32), axis=1).T[:, :, None]
    noise = np.concatenate([np.broadcast_to(noise[:, None, None], (204, 200, 1)), edges])
    drawn = np.asarray(distribution.transform(noise))
    assert drawn.min() >= 0
    assert drawn.max() < n_actions
    assert np.all(np.take_along_axis(probabilities[None], drawn[..., None], axis=2) > 0)


def test_parts_of_weight_zero_are_never_drawn():
    parts = (Deterministic(jnp.array([1.0])), Deterministic(jnp.array([2.0])))
    noise = jnp.array([[0.0], [0.5], [1 - 2**-24], [1.0]])
    first = Mixture(jnp.array([1.0, 0.0]), parts).transform(noise)
    second = Mixture(jnp.array([0.0, 1.0]), parts).transform(noise)
    np.testing.assert_array_equal(first, np.full((4, 1), 1.0))
    np.testing.assert_array_equal(second, np.full((4, 1), 2.0))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_quasi_random_noise_of_any_leading_shape_and_its_ends_are_taken(name):
    batched = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), CONTINUOUS[name]())
    noise = qmc.Sobol(4, seed=0).random(64)[:, None, : batched.noise_size]
    noise = np.broadcast_to(noise, (64, 4, batched.noise_size)).copy()
    noise[0], noise[1], noise[2] = 0.0, 1.0 - 2**-24, 1.0
    for form in (noise, noise.astype(np.float32)):
        actions = np.asarray(batched.transform(form))
        assert actions.shape == (64, 4, 3)
        assert np.all(np.isfinite(actions))
        np.testing.assert_array_equal(actions[:, 0], actions[:, 3])


def test_quasi_random_means_beat_the_usual_error():
    noise = qmc.Sobol(3, seed=0).random(4096)
    mean = np.asarray(gaussian().transform(noise)).mean(axis=0)
    # 4096 independent draws would have standard errors of 0.0095, 0.019 and 0.0035.
    np.testing.assert_allclose(mean, [0.3, -0.2, 0.05], atol=1e-3)


def test_samples_and_modes_of_squashed_gaussians_lie_in_their_box():
    low, high = (-2.0, 0.1, 1000.0), (0.5, 0.3, 1000.1)
    location = jnp.array(list(itertools.product([-50.0, 0.0, 50.0], repeat=3)))
    distribution = SquashedGaussian(location, jnp.full_like(location, 2.0), low, high)
    compute = eqx.filter_jit(lambda d: (d.sample(jax.random.key(0), (50,)), d.mode()))
    for actions in compute(distribution):
        assert np.all(np.asarray(actions) >= np.float32(low))
        assert np.all(np.asarray(actions) <= np.float32(high))


def test_modes():
    np.testing.assert_allclose(squashed().mode(), np.tanh([0.3, -0.7, 0.1]), rtol=1e-6)
    np.testing.assert_allclose(uniform().mode(), [-0.15, 0.3, -0.75], rtol=1e-6)
    np.testing.assert_array_equal(gaussian_and_uniform().mode(), gaussian().mode())
    np.testing.assert_array_equal(deterministic_and_uniform().mode(), uniform().mode())
    np.testing.assert_array_equal(deterministic().mode(), deterministic().action)
    assert int(DISCRETE["categorical"]().mode()) == 2
    assert int(DISCRETE["deterministic choice"]().mode()) == 2


# ---- densities


def test_log_densities_agree_with_scipy():
    actions = np.random.default_rng(0).uniform(-0.45, 0.05, (50, 3))
    normal = scipy.stats.norm([0.3, -0.2, 0.05], np.exp([-0.5, 0.2, -1.5]))
    np.testing.assert_allclose(
        gaussian().log_prob(actions), normal.logpdf(actions).sum(axis=1), rtol=1e-5, atol=1e-5
    )
    low, high = np.array([-2.0, -1.0, -0.5]), np.array([0.5, 3, 0.1])
    unit = (actions - (low + high) / 2) / ((high - low) / 2)
    normal = scipy.stats.norm([0.3, -0.7, 0.4], np.exp([-0.5, 0.4, -1.0]))
    change = np.log((high - low) / 2 * (1 - unit**2))
    np.testing.assert_allclose(
        squashed_asymmetric().log_prob(actions),
        (normal.logpdf(np.arctanh(unit)) - change).sum(axis=1),
        rtol=1e-5,
        atol=1e-5,
    )
    box = scipy.stats.uniform([-1.0, -0.3, -2.0], [1.7, 1.2, 2.5])
    np.testing.assert_allclose(
        uniform().log_prob(actions), box.logpdf(actions).sum(axis=1), rtol=1e-5
    )
    both = np.stack([gaussian().log_prob(actions), uniform().log_prob(actions)])
    np.testing.assert_allclose(
        gaussian_and_uniform().log_prob(actions),
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
def test_densities_integrate_to_one(make, size):
    with jax.enable_x64(True):
        low, high = (-1.0, -2.0)[:size], (1.5, 0.5)[:size]
        distribution = make(jnp.array([0.2, -0.4])[:size], jnp.log(jnp.full(size, 0.3)), low, high)
        # Midpoints of cells of 0.005 that end at the bounds, where the squashed density vanishes.
        axes = [np.linspace(a - 0.5, b + 0.5, 701) for a, b in zip(low, high, strict=True)]
        middles = [(axis[1:] + axis[:-1]) / 2 for axis in axes]
        grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1)
        density = np.exp(np.asarray(distribution.log_prob(grid)))
        if isinstance(distribution, SquashedGaussian):
            density *= np.all((grid > low) & (grid < high), axis=-1)
        assert density.sum() * 0.005**size == pytest.approx(1.0, abs=1e-4)


def test_probabilities_add_up_to_one_and_log_prob_of_absent_actions_is_minus_infinity():
    distribution = DISCRETE["with actions never taken"]()
    assert float(jnp.sum(jnp.exp(distribution.log_prob(jnp.arange(5))))) == pytest.approx(1.0)
    np.testing.assert_array_equal(distribution.log_prob(jnp.array([0, -1, 5])), [-np.inf] * 3)


def test_log_prob_broadcasts_one_action_over_a_batch_and_many_over_one():
    table = Categorical(jnp.log(jnp.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])))
    np.testing.assert_allclose(np.exp(table.log_prob(jnp.array(0))), [0.2, 0.5, 1.0], rtol=1e-6)
    many = jnp.array([[0, 1, 0], [1, 1, 0]])
    np.testing.assert_allclose(
        np.exp(table.log_prob(many)), [[0.2, 0.5, 1.0], [0.8, 0.5, 1.0]], rtol=1e-6
    )


def test_an_atom_has_a_probability_and_a_mixture_with_one_has_no_density():
    atom = deterministic()
    assert float(atom.log_prob(atom.action)) == 0.0
    assert float(atom.log_prob(atom.action + 1)) == -np.inf
    assert float(uniform().log_prob(jnp.array([5.0, 0.0, 0.0]))) == -np.inf
    with pytest.raises(TypeError, match="no density"):
        deterministic_and_uniform().log_prob(jnp.zeros(3))


def test_actions_on_the_boundary_of_the_box_have_finite_log_prob():
    distribution = squashed_asymmetric()
    edges = jnp.array([distribution.low, distribution.high])
    values, gradient = jax.value_and_grad(lambda d: jnp.sum(d.log_prob(edges)))(distribution)
    assert np.isfinite(values)
    assert np.all(np.isfinite(ravel_pytree(gradient)[0]))


# ---- extremes


EXTREMES = list(itertools.product([-50.0, -1e-3, 0.0, 50.0], [-20.0, 0.0, 2.0]))


@pytest.mark.parametrize("pressed", [False, True], ids=["gaussian", "squashed"])
def test_extreme_parameters_stay_finite(pressed):
    location, log_std = (jnp.array(column)[:, None] for column in zip(*EXTREMES, strict=True))

    def build(location, log_std):
        if pressed:
            return SquashedGaussian(location, log_std, (-1.0,), (2.0,))
        return Gaussian(location, log_std)

    partition = groups.thresholds({0: [-0.5, 0.0, 1e-4, 0.7]})
    key = jax.random.key(0)
    samples = build(location, log_std).sample(key, (100,))

    def quantities(location, log_std):
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

    def total(location, log_std):
        values = quantities(location, log_std)
        weights = jnp.arange(1.0, 6.0)  # the masses themselves add up to a constant
        parts = values | {"masses": weights * values["masses"]}
        return sum(jnp.sum(part) for part in parts.values()), values

    assert np.all(np.isfinite(samples))
    evaluate = jax.jit(jax.value_and_grad(total, argnums=(0, 1), has_aux=True))
    (_, values), gradients = evaluate(location, log_std)
    for name, value in values.items():
        assert np.all(np.isfinite(value)), name
    for gradient in gradients:
        assert np.all(np.isfinite(gradient))
    np.testing.assert_allclose(np.sum(values["masses"], axis=-1), 1.0, rtol=2e-6)


# ---- within boxes


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        *((name, "thresholds on three coordinates") for name in CONTINUOUS),
        ("gaussian_and_uniform", "boxes"),
    ],
)
def test_transforms_within_boxes_lie_there_and_mix_to_the_whole(name, partition):
    distribution, boxes = CONTINUOUS[name](), PARTITIONS[partition]
    lower, upper = np.array(boxes.lower), np.array(boxes.upper)
    noise = qmc.Sobol(4, seed=1).random(4096)[:, : distribution.noise_size]
    noise = np.broadcast_to(noise, (len(lower), *noise.shape))

    @eqx.filter_jit
    def compute(distribution):
        within = distribution.transform_within(boxes.coordinates, lower, upper, noise)
        return within, distribution.mass(boxes), distribution.transform(noise[0])

    within, mass, whole = (np.asarray(part) for part in compute(distribution))
    chosen = within[..., boxes.coordinates]
    inside = np.all((chosen >= lower[:, None]) & (chosen <= upper[:, None]), axis=-1)
    assert np.all(inside[mass > 0])
    for power in (1, 2):
        mixed = np.einsum("b,bnk->k", mass, within**power) / 4096
        # Both are quasi-random means of 4096 points; the largest standard deviation is 1.2.
        np.testing.assert_allclose(mixed, (whole**power).mean(axis=0), atol=8e-3)


def test_points_within_far_tails_follow_the_tail():
    normal = Gaussian(jnp.array([0.0]), jnp.array([0.0]))
    noise = ((np.arange(2000) + 0.5) / 2000)[None, :, None]
    for low, high in ((5.0, np.inf), (8.0, 8.5), (10.0, np.inf)):
        edges = np.array([[low]]), np.array([[high]])
        points = np.asarray(normal.transform_within((0,), *edges, noise))[0, :, 0]
        mirrored = np.asarray(normal.transform_within((0,), -edges[1], -edges[0], noise))[0, :, 0]
        expected = scipy.stats.truncnorm(low, high)
        assert points.mean() == pytest.approx(expected.mean(), rel=1e-3)
        assert points.std() == pytest.approx(expected.std(), rel=0.02)
        assert mirrored.mean() == pytest.approx(-expected.mean(), rel=1e-3)


def test_a_box_beyond_all_mass_gets_the_point_next_to_the_mean():
    normal = Gaussian(jnp.array([0.0]), jnp.array([-20.0]))
    noise = np.linspace(0, 1, 5)[None, :, None]
    points = normal.transform_within((0,), np.array([[0.5]]), np.array([[0.9]]), noise)
    np.testing.assert_array_equal(points, np.full((1, 5, 1), 0.5, np.float32))


def test_gradients_within_boxes_agree_with_finite_differences():
    with jax.enable_x64(True):
        boxes = PARTITIONS["thresholds on three coordinates"]
        noise = np.random.default_rng(0).random((len(boxes.lower), 3, 3))
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


# ---- divergence


def test_divergence_of_gaussians_by_hand_and_by_samples():
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


def test_divergence_of_categoricals_agrees_with_scipy():
    first, second = np.array([0.2, 0.0, 0.8]), np.array([0.5, 0.25, 0.25])
    one, other = (Categorical.from_probabilities(p) for p in (first, second))
    assert float(one.kl(other)) == pytest.approx(scipy.stats.entropy(first, second), rel=1e-6)
    assert float(other.kl(one)) == np.inf
    gradient = jax.grad(lambda logits: Categorical(logits).kl(other))(one.logits)
    assert np.all(np.isfinite(gradient))


def test_divergence_between_different_squashings_is_refused():
    narrow = SquashedGaussian(squashed().location, squashed().log_std, (-0.5,) * 3, (0.5,) * 3)
    for other in (narrow, gaussian()):
        with pytest.raises(InputError, match="same kind and the same action bounds"):
            squashed().kl(other)
    with pytest.raises(InputError, match="a Gaussian and a Gaussian squashed to"):
        gaussian().kl(squashed())


# ---- compiled, batched


@pytest.mark.parametrize(
    "name", ["squashed_asymmetric", "gaussian_and_uniform", "deterministic", "categorical"]
)
def test_compiled_equals_eager_and_batch_equals_loop(name):
    single = {**CONTINUOUS, **DISCRETE}[name]()
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, 0.5 * leaf, leaf]), single)
    if isinstance(batch, Categorical):
        batch = Categorical(jnp.stack([single.logits, 2.0 * single.logits, single.logits]))
    partition = groups.halves() if isinstance(batch, Categorical) else PARTITIONS["boxes"]
    noise = jax.random.uniform(jax.random.key(0), (3, batch.noise_size))

    def everything(distribution, noise):
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


def test_a_mixture_broadcasts_shared_weights_and_parts():
    part = Gaussian(jnp.zeros((4, 3)), jnp.zeros((4, 3)))
    mixture = Mixture(jnp.array([0.5, 0.5]), (part, deterministic()))
    assert mixture.batch_shape == (4,)
    assert mixture.action_size == 3

    @eqx.filter_jit
    def compute(mixture):
        drawn = mixture.sample(jax.random.key(0), (2,))
        return drawn, mixture.mode(), mixture.mass(groups.sign(0))

    drawn, mode, mass = compute(mixture)
    assert drawn.shape == (2, 4, 3)
    assert mode.shape == (4, 3)
    np.testing.assert_allclose(mass, [[0.75, 0.25]] * 4, rtol=1e-6)
