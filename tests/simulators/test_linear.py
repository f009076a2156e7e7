"""Linear worlds: closed forms against simulation, and what they refuse."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.simulators import LinearPolicy, LinearWorld, QuadraticValue, double_integrator


def wide_world() -> LinearWorld:
    """Three states, two actions, correlated weights, an offset."""
    return LinearWorld(
        dynamics=np.array([[0.9, 0.2, 0.0], [-0.1, 1.0, 0.1], [0.0, 0.3, 0.7]]),
        control=np.array([[0.5, 0.0], [0.1, 0.4], [0.0, 0.6]]),
        noise_std=np.array([0.1, 0.2, 0.3]),
        state_weight=np.array([[1.0, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.3]]),
        action_weight=np.array([[0.4, 0.1], [0.1, 0.3]]),
        discount=0.9,
        start_mean=np.array([1.0, -1.0, 0.5]),
        start_std=np.array([0.5, 0.1, 0.2]),
        offset=2.0,
    )


def sampled_returns(
    world: LinearWorld, policy: LinearPolicy, n_episodes: int, horizon: int, seed: int
) -> NDArray[np.float64]:
    log = world.sample_log(policy, n_episodes * horizon, seed=seed, horizon=horizon)
    rewards = np.asarray(log.rewards, dtype=np.float64).reshape(n_episodes, horizon)
    return np.asarray(rewards @ world.discount ** np.arange(horizon))


@pytest.mark.parametrize(
    ("world", "horizon"), [(wide_world(), 150), (double_integrator(0.95), 300)], ids=["3x2", "2x1"]
)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_value_agrees_with_simulation(world: LinearWorld, horizon: int, scale: float) -> None:
    """Within 5 standard errors; at these horizons less than 1e-6 of a return is left."""
    gain = scale * world.optimal_policy().gain
    policy = LinearPolicy(gain, np.full(len(gain), 0.3))
    returns = sampled_returns(world, policy, 1_000, horizon, seed=3)
    error = returns.std(ddof=1) / np.sqrt(len(returns))
    assert abs(returns.mean() - world.start_value(policy)) < 5 * error
    assert error < 0.05 * abs(world.start_value(policy))


def test_value_of_a_scalar_world_by_the_geometric_series() -> None:
    """V(x) = c - p x² with p = q / (1 - γ a²) for x' = a x + w, u = 0, and w costing γ p Var(w)."""
    world = LinearWorld(
        dynamics=np.array([[0.5]]),
        control=np.array([[1.0]]),
        noise_std=np.array([0.2]),
        state_weight=np.array([[3.0]]),
        action_weight=np.array([[2.0]]),
        discount=0.8,
        start_mean=np.array([1.0]),
        start_std=np.array([0.5]),
        offset=1.0,
    )
    still = world.value(LinearPolicy(np.zeros((1, 1)), np.zeros(1)))
    matrix = 3.0 / (1 - 0.8 * 0.25)
    constant = (1.0 - 0.8 * 0.04 * matrix) / 0.2
    np.testing.assert_allclose(still.matrix, [[matrix]], rtol=1e-12)
    np.testing.assert_allclose(still.constant, constant, rtol=1e-12)
    np.testing.assert_allclose(still.at([[2.0], [0.0]]), [constant - 4 * matrix, constant])
    expected = constant - matrix * (1.0 + 0.25)
    np.testing.assert_allclose(
        world.start_value(LinearPolicy(np.zeros((1, 1)), np.zeros(1))), expected
    )


@pytest.mark.parametrize("world", [wide_world(), double_integrator()], ids=["3x2", "2x1"])
def test_optimal_gain_beats_perturbed_ones(world: LinearWorld) -> None:
    """From every state: V is quadratic, so its matrix and constant are compared."""
    optimal = world.optimal_policy()
    best = world.value(optimal)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(10):
            change = size * rng.standard_normal(optimal.gain.shape)
            other = world.value(LinearPolicy(optimal.gain + change, optimal.std))
            assert np.linalg.eigvalsh(other.matrix - best.matrix).min() > -1e-10
            assert world.start_value(optimal) > world.start_value(
                LinearPolicy(optimal.gain + change, optimal.std)
            )
    noisy = LinearPolicy(optimal.gain, optimal.std + 0.1)
    assert world.start_value(noisy) < world.start_value(optimal)


def test_optimal_value_satisfies_the_bellman_equation() -> None:
    """V(x) = max_u r(x, u) + γ E V(x'), at the optimal action and not below it at others."""
    world = wide_world()
    optimal = world.optimal_policy()
    value = world.value(optimal)
    rng = np.random.default_rng(1)
    states = rng.standard_normal((20, 3))

    def look_ahead(actions: NDArray[np.float64]) -> NDArray[np.float64]:
        means = states @ world.dynamics.T + actions @ world.control.T
        ahead = [value.expect(mean, np.diag(world.noise_std**2)) for mean in means]
        return world.rewards(states, actions) + world.discount * np.array(ahead)

    best = states @ optimal.gain.T
    np.testing.assert_allclose(look_ahead(best), value.at(states), rtol=1e-10)
    assert np.all(look_ahead(best + 0.1 * rng.standard_normal((20, 2))) < value.at(states))


def test_expected_quadratic_value_adds_the_covariance() -> None:
    value = QuadraticValue(np.diag([1.0, 2.0]), 10.0)
    assert value.expect([1.0, 1.0], np.diag([0.5, 0.25])) == 10.0 - 3.0 - 0.5 - 0.5


def test_log_holds_what_happened() -> None:
    """Rewards and noiseless moves can be recomputed from the log, in float32."""
    world = dataclasses.replace(double_integrator(), noise_std=np.zeros(2))
    policy = LinearPolicy(world.optimal_policy().gain, np.array([0.2]))
    log = world.sample_log(policy, 250, seed=0, horizon=100)
    np.testing.assert_array_equal(np.diff(log.offsets), [100, 100, 50])
    np.testing.assert_array_equal(np.flatnonzero(log.truncated), [99, 199, 249])
    assert not log.terminated.any()
    np.testing.assert_allclose(
        log.rewards, world.rewards(log.observations, log.actions), rtol=1e-4, atol=1e-6
    )
    moved = log.observations @ world.dynamics.T + log.actions @ world.control.T
    np.testing.assert_allclose(log.next_observations, moved, atol=1e-5)
    assert log.action_space.contains(log.actions[0])


def test_the_same_seed_gives_the_same_log() -> None:
    world = double_integrator()
    policy = LinearPolicy(world.optimal_policy().gain, np.array([0.2]))
    first, again, other = (world.sample_log(policy, 90, seed=s, horizon=40) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.observations, again.observations)
    np.testing.assert_array_equal(first.actions, again.actions)
    assert not np.array_equal(first.actions, other.actions)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"control": np.zeros(2)}, r"control: shape \(2,\), expected \(n, m\)"),
        ({"dynamics": np.eye(3)}, r"dynamics: shape \(3, 3\), expected \(2, 2\)"),
        ({"start_mean": np.array([np.nan, 0.0])}, "start_mean: holds NaN"),
        ({"state_weight": np.diag([1.0, -1.0])}, "state_weight: .* positive semidefinite"),
        ({"state_weight": np.array([[1.0, 1.0], [0.0, 1.0]])}, "not symmetric"),
        ({"action_weight": np.zeros((1, 1))}, "action_weight: .* positive definite"),
        ({"noise_std": np.array([-1.0, 0.0])}, "noise_std: holds negative"),
        ({"discount": 1.0}, "discount: 1.0 is outside"),
        ({"action_limit": 0.0}, "action_limit: 0.0 is not above 0"),
    ],
)
def test_what_has_no_closed_form_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        dataclasses.replace(double_integrator(), **changes)


def test_wrong_policies_are_refused() -> None:
    world = double_integrator()
    with pytest.raises(InputError, match=r"gain \(2, 2\) and std \(1,\), expected \(1, 2\)"):
        world.value(LinearPolicy(np.zeros((2, 2)), np.zeros(1)))
    with pytest.raises(InputError, match=r"grow by .* a step"):
        world.value(LinearPolicy(np.array([[5.0, 0.0]]), np.zeros(1)))
    with pytest.raises(InputError, match=r"actions \(1, 2\), expected \(1, 1\)"):
        world.sample_log(lambda x, rng: x, 10, seed=0, horizon=10)
    with pytest.raises(InputError, match="at step 0 is beyond the limit 10"):
        world.sample_log(lambda x, rng: x[:, :1] + 100, 10, seed=0, horizon=10)
    with pytest.raises(InputError, match="horizon: 0 is below 1"):
        world.sample_log(lambda x, rng: x[:, :1], 10, seed=0, horizon=0)
