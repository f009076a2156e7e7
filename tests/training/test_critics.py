"""Critics: an ensemble is its members one by one; expectations are what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from jaxtyping import Array

from nacre.policies.distributions import Categorical, Deterministic, Gaussian
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Scaling
from nacre.policies.policy import Signature
from nacre.training.critics import LAYER_NORM_EPSILON, Combine, Critics, combine_members

ROWS, ACTIONS = 7, 3
Tree = TypeVar("Tree")


def box(size: int, low: float = -np.inf, high: float = np.inf) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(low, high, (size,), np.float32)


SIGNATURES = {
    "vectors": Signature(box(4), box(ACTIONS, -1, 1)),
    "discrete actions": Signature(box(4), gymnasium.spaces.Discrete(ACTIONS)),
    "discrete": Signature(gymnasium.spaces.Discrete(5), gymnasium.spaces.Discrete(ACTIONS)),
    "discrete states": Signature(gymnasium.spaces.Discrete(5), box(ACTIONS)),
}


def sample_rows(signature: Signature, seed: int = 0, rows: int = ROWS) -> tuple[Array, Array]:
    """Observations and actions that fit the spaces."""
    rng = np.random.default_rng(seed)
    if signature.observation_space.shape:
        observations = as_single(3 + 2 * rng.standard_normal((rows, 4)))
    else:
        observations = jnp.asarray(rng.integers(0, 5, rows, np.int32))
    if signature.discrete_actions:
        return observations, jnp.asarray(rng.integers(0, ACTIONS, rows, np.int32))
    return observations, as_single(rng.uniform(-1, 1, (rows, ACTIONS)))


def make_critics(
    signature: Signature,
    hidden: tuple[int, ...] = (8,),
    *,
    layer_norm: bool = False,
    scaled: bool = False,
) -> Critics:
    """Three members whose every array is random, normalisations included."""
    critics = fill(Critics.init, signature, n_critics=3, hidden=hidden, layer_norm=layer_norm)
    scaling = None
    if scaled and signature.observation_space.shape:
        scaling = Scaling(as_single([1, 2, 3, 4]), as_single([0.5, 1, 2, 4]))
    constants = (scaling, as_single(-5.0 if scaled else 0.0), as_single(3.0 if scaled else 1.0))
    changed: Critics = eqx.tree_at(
        lambda c: (c.scaling, c.shift, c.spread), critics, constants, is_leaf=lambda x: x is None
    )
    return changed


def fill(init: Callable[..., Tree], signature: Signature, **options: object) -> Tree:
    """What `init` would make, with normal numbers everywhere: nothing has to be compiled."""
    rng = np.random.default_rng(1)
    shapes = eqx.filter_eval_shape(init, jax.random.key(0), signature, **options)
    filled: Tree = jax.tree.map(lambda leaf: as_single(rng.normal(0, 0.5, leaf.shape)), shapes)
    return filled


def as_single(values: npt.ArrayLike) -> Array:
    return jnp.asarray(np.asarray(values, np.float32))


def sample_uniforms(*shape: int) -> Array:
    return as_single(np.random.default_rng(3).uniform(size=shape))


def run_member(
    critics: Critics, member: int, observations: npt.ArrayLike, actions: npt.ArrayLike
) -> np.ndarray:
    """Outputs (rows, outputs) of one member in NumPy, float64."""
    if critics.signature.observation_space.shape:
        x = np.asarray(observations, np.float64)
        if critics.scaling is not None:
            x = (x - np.asarray(critics.scaling.shift)) / np.asarray(critics.scaling.scale)
    else:
        x = np.eye(5)[np.asarray(observations)]
    if not critics.signature.discrete_actions:
        x = np.concatenate([x, np.asarray(actions)], axis=1)
    for i, (weight, bias) in enumerate(zip(critics.weights, critics.biases, strict=True)):
        x = x @ np.asarray(weight[member], np.float64) + np.asarray(bias[member])
        if i == len(critics.weights) - 1:
            break
        if critics.norms:
            scale, offset = (np.asarray(part[member]) for part in critics.norms[i])
            centred = x - x.mean(axis=1, keepdims=True)
            x = centred / np.sqrt(x.var(axis=1, keepdims=True) + LAYER_NORM_EPSILON)
            x = x * scale + offset
        x = np.maximum(x, 0)
    return float(critics.shift) + float(critics.spread) * x


@pytest.mark.parametrize(
    ("hidden", "layer_norm", "scaled"),
    [
        ((), False, True),
        ((8,), True, False),
        ((16, 16), False, False),
        ((16, 16), True, True),
    ],
)
@pytest.mark.parametrize("kind", SIGNATURES)
def test_an_ensemble_is_its_members_one_by_one(
    kind: str, hidden: tuple[int, ...], layer_norm: bool, scaled: bool
) -> None:
    """Batched float32 against a loop in NumPy, to 1e-5 of the largest output."""
    signature = SIGNATURES[kind]
    critics = make_critics(signature, hidden, layer_norm=layer_norm, scaled=scaled)
    observations, actions = sample_rows(signature)
    members = np.stack([run_member(critics, i, observations, actions) for i in range(3)])
    tolerance = 1e-5 * np.abs(members).max()
    discrete = signature.discrete_actions
    outputs, values = eqx.filter_jit(
        lambda c, s, a: (c(s, None if discrete else a), c.values_at(s, a))
    )(critics, observations, actions)
    assert outputs.shape == (3, ROWS, ACTIONS if discrete else 1)
    np.testing.assert_allclose(outputs, members, atol=tolerance)
    index = np.asarray(actions) if discrete else np.zeros(ROWS, int)
    expected = members[:, np.arange(ROWS), index]
    np.testing.assert_allclose(values, expected, atol=tolerance)
    assert critics.n_critics == 3
    assert members.std(axis=0).min() > 0


def test_fresh_members_are_uniform_within_the_inputs_root() -> None:
    """Weights and biases fill ±1/√inputs; normalisations start as the identity."""
    critics = Critics.init(
        jax.random.key(0), SIGNATURES["vectors"], n_critics=20, hidden=(32,), layer_norm=True
    )
    for weight, bias, inputs in zip(critics.weights, critics.biases, (7, 32), strict=True):
        for part in (np.asarray(weight), np.asarray(bias)):
            assert np.abs(part).max() <= inputs**-0.5
            np.testing.assert_allclose(part.mean(), 0, atol=0.3 * inputs**-0.5)
        np.testing.assert_allclose(np.std(weight), (3 * inputs) ** -0.5, rtol=0.1)
    np.testing.assert_array_equal(critics.norms[0][0], np.ones((20, 1, 32)))
    np.testing.assert_array_equal(critics.norms[0][1], np.zeros((20, 1, 32)))
    assert len(critics.norms) == 1
    assert (float(critics.shift), float(critics.spread)) == (0.0, 1.0)


@pytest.mark.parametrize("combine", [None, "min", "mean", 0.25])
def test_expectation_over_discrete_actions_is_a_sum(combine: Combine | None) -> None:
    """Σ_a π(a|s) combined Q(s, a) by enumeration, to 1e-5; the noise does not matter."""
    critics = make_critics(SIGNATURES["discrete"], scaled=True)
    states = jnp.arange(5)
    logits = np.random.default_rng(0).normal(size=(5, ACTIONS))
    logits[0, 1] = -np.inf
    distribution = Categorical(as_single(logits))
    expect = eqx.filter_jit(Critics.expectation)
    found = expect(critics, states, distribution, jnp.full((1, 5, 1), 0.5), combine)
    outputs = np.asarray(critics(states), np.float64)
    combined = {
        None: outputs,
        "min": outputs.min(axis=0),
        "mean": outputs.mean(axis=0),
        0.25: np.quantile(outputs, 0.25, axis=0),
    }[combine]
    probabilities = np.asarray(distribution.probabilities)
    expected = sum(probabilities[:, a] * combined[..., a] for a in range(ACTIONS))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    other = expect(critics, states, distribution, jnp.full((1, 5, 1), 0.1), combine)
    np.testing.assert_array_equal(found, other)


@pytest.mark.parametrize("combine", [None, "min", "mean", 0.25])
@pytest.mark.parametrize("kind", ["vectors", "discrete states"])
def test_expectation_over_vectors_is_the_mean_over_the_same_actions(
    kind: str, combine: Combine | None
) -> None:
    """Against a loop over actions and states, to 1e-5."""
    critics = make_critics(SIGNATURES[kind], scaled=True)
    observations, location = sample_rows(SIGNATURES[kind], rows=4)
    distribution = Gaussian(location, jnp.full((4, ACTIONS), -1.0))
    uniforms = sample_uniforms(6, 4, ACTIONS)
    found = eqx.filter_jit(critics.expectation)(observations, distribution, uniforms, combine)
    actions = np.asarray(distribution.transform(uniforms))
    members = np.stack(
        [[run_member(critics, i, observations, a)[:, 0] for a in actions] for i in range(3)]
    )
    combined = {
        None: members,
        "min": members.min(axis=0),
        "mean": members.mean(axis=0),
        0.25: np.quantile(members, 0.25, axis=0),
    }[combine]
    np.testing.assert_allclose(found, combined.mean(axis=-2), rtol=1e-5)
    assert found.shape == ((3, 4) if combine is None else (4,))


def test_minimum_of_members_is_taken_action_by_action() -> None:
    """E min Q ≤ min E Q, strictly where the members' order depends on the action."""
    critics = make_critics(SIGNATURES["discrete"])
    states = jnp.arange(5)
    even = Categorical(jnp.zeros((5, ACTIONS)))
    noise = jnp.zeros((1, 5, 1))
    expect = eqx.filter_jit(critics.expectation)
    inside = np.asarray(expect(states, even, noise, "min"))
    outside = np.asarray(expect(states, even, noise, None)).min(axis=0)
    assert np.all(inside <= outside)
    assert np.any(inside < outside - 1e-3)


def test_combining_by_hand() -> None:
    values = jnp.array([[1.0, 8.0], [2.0, 6.0], [6.0, 1.0]])
    np.testing.assert_array_equal(combine_members(values, None), values)
    np.testing.assert_array_equal(combine_members(values, "min"), [1, 1])
    np.testing.assert_allclose(combine_members(values, "mean"), [3, 5])
    np.testing.assert_allclose(combine_members(values, 0.5), [2, 6])
    np.testing.assert_allclose(combine_members(values, 0.25), [1.5, 3.5])
    np.testing.assert_array_equal(combine_members(values, 0.0), [1, 1])
    np.testing.assert_array_equal(combine_members(values, 1.0), [6, 8])
    told = jax.jit(combine_members)
    np.testing.assert_array_equal(told(values, jnp.asarray(True)), [[1, 1]] * 3)
    np.testing.assert_array_equal(told(values, jnp.asarray(False)), values)


def test_gradient_through_probabilities() -> None:
    """∂/∂logits of Σ π Q is π (Q - V), to 1e-5."""
    critics = make_critics(SIGNATURES["discrete"], scaled=True)
    states, logits = jnp.arange(5), as_single(np.random.default_rng(0).normal(size=(5, ACTIONS)))

    def value(logits: Array) -> Array:
        noise = jnp.zeros((1, 5, 1))
        return jnp.sum(critics.expectation(states, Categorical(logits), noise, "min"))

    q = np.asarray(jnp.min(critics(states), axis=0))
    probabilities = np.asarray(jax.nn.softmax(logits))
    advantage = q - (probabilities * q).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        jax.jit(jax.grad(value))(logits), probabilities * advantage, atol=1e-5
    )


def test_gradient_through_actions() -> None:
    """Linear critics: ∂/∂location of the mean is spread times the weights of the actions."""
    critics = make_critics(SIGNATURES["vectors"], (), scaled=True)
    observations, location = sample_rows(SIGNATURES["vectors"])
    uniforms = sample_uniforms(5, ROWS, ACTIONS)

    def value(location: Array, log_std: Array) -> Array:
        distribution = Gaussian(location, log_std)
        return jnp.sum(critics.expectation(observations, distribution, uniforms, "mean"))

    by_location, by_log_std = jax.jit(jax.grad(value, argnums=(0, 1)))(
        location, jnp.zeros((ROWS, ACTIONS))
    )
    slope = 3.0 * np.asarray(critics.weights[0])[:, 4:, 0].mean(axis=0)
    np.testing.assert_allclose(by_location, np.tile(slope, (ROWS, 1)), rtol=1e-4)
    noise = np.asarray(Gaussian(jnp.zeros(ACTIONS), jnp.zeros(ACTIONS)).transform(uniforms))
    np.testing.assert_allclose(by_log_std, slope * noise.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("kind", ["vectors", "discrete actions"])
def test_gradient_reaches_every_layer_of_the_policy(kind: str) -> None:
    signature = SIGNATURES[kind]
    critics = make_critics(signature, scaled=True)
    policy = fill(MLPPolicy.init, signature, hidden=(8,))
    observations, _ = sample_rows(signature)

    def value(policy: MLPPolicy) -> Array:
        distribution = policy(observations)
        uniforms = sample_uniforms(2, ROWS, distribution.noise_size)
        return jnp.mean(critics.expectation(observations, distribution, uniforms, "min"))

    gradient = eqx.filter_jit(eqx.filter_grad(value))(policy)
    for leaf in jax.tree.leaves(gradient):
        assert np.all(np.isfinite(leaf))
        assert np.abs(leaf).max() > 0


def test_no_gradient_into_scalings() -> None:
    """Shift, spread and the observations' scaling are constants; the networks are not."""
    critics = make_critics(SIGNATURES["vectors"], layer_norm=True, scaled=True)
    observations, actions = sample_rows(SIGNATURES["vectors"])

    def total(critics: Critics) -> Array:
        return jnp.sum(critics.values_at(observations, actions) ** 2)

    gradient = eqx.filter_jit(eqx.filter_grad(total))(critics)
    for constant in (gradient.shift, gradient.spread, *jax.tree.leaves(gradient.scaling)):
        np.testing.assert_array_equal(constant, np.zeros_like(constant))
    for learned in jax.tree.leaves((gradient.weights, gradient.biases, gradient.norms)):
        assert np.abs(learned).max() > 0


def test_a_policy_without_chance_needs_no_noise() -> None:
    critics = make_critics(SIGNATURES["vectors"])
    observations, actions = sample_rows(SIGNATURES["vectors"])
    distribution, noise = Deterministic(actions), jnp.zeros((1, ROWS, 0))
    found = eqx.filter_jit(critics.expectation)(observations, distribution, noise)
    np.testing.assert_allclose(
        found[1], run_member(critics, 1, observations, actions)[:, 0], rtol=1e-5
    )
