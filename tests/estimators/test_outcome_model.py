"""Models of the reward: found where there is one, cross-fitted, and within the log's rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from nacre.estimators.outcome_model import OutcomeModel, fit_outcomes
from nacre.logs import Log

N, FOLDS = 600, np.arange(600) % 3
PLANE = Box(-np.inf, np.inf, (2,))


def make_log(
    states: np.ndarray, actions: np.ndarray, rewards: np.ndarray, *spaces: Space[Any]
) -> Log:
    return Log.from_arrays(
        states,
        actions,
        rewards,
        np.ones(N, bool),
        next_observations=states,
        offsets=np.arange(N + 1),
        observation_space=spaces[0],
        action_space=spaces[1],
    )


def fit(log: Log, seed: int = 0) -> OutcomeModel:
    return fit_outcomes(np.random.default_rng(seed), log, FOLDS, 3)


def make_table(noise: float) -> tuple[Log, np.ndarray]:
    rng = np.random.default_rng(100)
    states, actions = rng.integers(0, 4, N), rng.integers(0, 3, N)
    means = rng.normal(size=(4, 3))
    rewards = means[states, actions] + noise * rng.normal(size=N)
    return make_log(states, actions, rewards, Discrete(4), Discrete(3)), means[states]


def make_choices() -> tuple[Log, np.ndarray]:
    """Vector states, two actions, rewards x₀ and x₁ · x₀."""
    rng = np.random.default_rng(101)
    states, actions = rng.normal(size=(N, 2)), rng.integers(0, 2, N)
    means = np.stack([states[:, 0], states[:, 0] * states[:, 1]], axis=1)
    rewards = means[np.arange(N), actions] + 0.1 * rng.normal(size=N)
    return make_log(states, actions, rewards, PLANE, Discrete(2)), means


def test_cells_without_noise_are_found() -> None:
    log, means = make_table(0.0)
    model = fit(log)
    # Cells of about 33 rows weigh 33 against at least 0.1 for the mean of their action.
    np.testing.assert_allclose(model.coefficients, means, atol=0.02)
    np.testing.assert_allclose(model.predict(log.actions), log.rewards, atol=0.02)


def test_noise_shrinks_cells_to_their_action() -> None:
    log, _ = make_table(100.0)
    model = fit(log)
    spread = model.coefficients.std(axis=0).max()
    plain = 100.0 / np.sqrt(N * 2 / 3 / 12)
    assert spread < 0.5 * plain


def test_vector_states_and_discrete_actions() -> None:
    log, means = make_choices()
    left = means - fit(log).coefficients
    assert np.mean(left**2) < 0.1 * np.mean(np.var(means, axis=0))


def test_action_vectors_are_predicted_one_by_one_or_many_at_once() -> None:
    """Rewards x₀ - a² + a: the fit holds at actions that were not taken too."""
    rng = np.random.default_rng(102)
    states, actions = rng.normal(size=(N, 2)), rng.normal(size=(N, 1))

    def mean(a: np.ndarray) -> np.ndarray:
        return np.asarray(states[:, 0] - a**2 + a)

    rewards = mean(actions[:, 0]) + 0.1 * rng.normal(size=N)
    log = make_log(states, actions, rewards, PLANE, Box(-np.inf, np.inf, (1,)))
    model = fit(log)
    others = rng.uniform(-1.0, 1.0, (5, N, 1))
    many = model.predict(others)
    assert many.shape == (5, N)
    np.testing.assert_allclose(many[3], model.predict(others[3]))
    assert np.mean((many - mean(others[..., 0])) ** 2) < 0.1 * rewards.var()
    # Far away from the log a square would leave the range of rewards.
    far = model.predict(np.full((N, 1), 50.0))
    assert far.min() >= rewards.min() - 1e-5
    assert far.max() <= rewards.max() + 1e-5


@pytest.mark.parametrize("kind", ["table", "choices"])
def test_no_row_is_predicted_by_its_own_reward(kind: str) -> None:
    """Other rewards in one fold change the predictions of the others only."""
    log = make_table(1.0)[0] if kind == "table" else make_choices()[0]
    rewards = np.array(log.rewards)
    mine = FOLDS == 1
    # The largest and the least stay, so that predictions are cut off at the same places.
    change = mine & (rewards < rewards.max()) & (rewards > rewards.min())
    changed = rewards.copy()
    changed[change] = np.random.default_rng(103).permutation(rewards[change])
    other = make_log(
        log.observations, log.actions, changed, log.observation_space, log.action_space
    )
    before, after = fit(log).coefficients, fit(other).coefficients
    np.testing.assert_allclose(after[mine], before[mine], atol=1e-9)
    assert not np.allclose(after[~mine], before[~mine], atol=1e-3)
