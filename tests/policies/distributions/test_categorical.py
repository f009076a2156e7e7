"""Categorical distributions: against SciPy and hand-worked values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from nacre.policies.distributions import (
    Categorical,
    deterministic_choice,
)

DISCRETE = {
    "categorical": lambda: Categorical(jnp.array([0.3, -1.0, 2.0, 0.0, 0.7])),
    "with actions never taken": lambda: Categorical.from_probabilities(
        jnp.array([0.0, 0.5, 0.0, 0.4, 0.1])
    ),
    "deterministic choice": lambda: deterministic_choice(jnp.array(2), 5),
}


def test_categorical_noise_is_the_inverse_cumulative_distribution() -> None:
    uniforms = np.linspace(0, 1, 1001)[:, None]
    drawn = Categorical.from_probabilities(jnp.array([0.25, 0.0, 0.5, 0.25])).transform(
        jnp.asarray(uniforms)
    )
    expected = np.select([uniforms < 0.25, uniforms < 0.75], [0, 2], 3)[:, 0]
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("n_actions", [1, 2, 3, 100])
def test_actions_of_probability_zero_are_never_drawn(n_actions: int) -> None:
    rng = np.random.default_rng(n_actions)
    probabilities = rng.random((200, n_actions)) * rng.integers(0, 2, (200, n_actions))
    probabilities[:, rng.integers(n_actions)] += 0.01
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    distribution = Categorical.from_probabilities(probabilities)
    noise = np.concatenate([[0.0, 1e-30, 1 - 2**-24, 1.0], rng.random(200)]).astype(np.float32)
    # Noise on the partial sums themselves is where rounding could pick a neighbour.
    edges = np.cumsum(probabilities.astype(np.float32), axis=1).T[:, :, None]
    noise = np.concatenate([np.broadcast_to(noise[:, None, None], (204, 200, 1)), edges])
    drawn = np.asarray(distribution.transform(jnp.asarray(noise)))
    assert drawn.min() >= 0
    assert drawn.max() < n_actions
    assert np.all(np.take_along_axis(probabilities[None], drawn[..., None], axis=2) > 0)


def test_probabilities_add_up_to_one_and_log_prob_of_absent_actions_is_minus_infinity() -> None:
    distribution = DISCRETE["with actions never taken"]()
    assert float(jnp.sum(jnp.exp(distribution.log_prob(jnp.arange(5))))) == pytest.approx(1.0)
    np.testing.assert_array_equal(distribution.log_prob(jnp.array([0, -1, 5])), [-np.inf] * 3)


def test_divergence_of_categoricals_agrees_with_scipy() -> None:
    first, second = np.array([0.2, 0.0, 0.8]), np.array([0.5, 0.25, 0.25])
    one, other = (Categorical.from_probabilities(p) for p in (first, second))
    assert float(one.kl(other)) == pytest.approx(scipy.stats.entropy(first, second), rel=1e-6)
    assert float(other.kl(one)) == np.inf
    gradient = jax.grad(lambda logits: Categorical(logits).kl(other))(one.logits)
    assert np.all(np.isfinite(gradient))
