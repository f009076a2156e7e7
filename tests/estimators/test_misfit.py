"""The error of a reward model is told from the noise of the rewards."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.estimators.misfit import bound_misfit
from nacre.logs import Log


def bound(rng: np.random.Generator, log: Log, residuals: np.ndarray) -> float:
    return bound_misfit(rng, log, rng.integers(2, size=len(log)), residuals)


def make_log(contexts: np.ndarray, actions: np.ndarray, n_actions: int = 0) -> Log:
    n = len(contexts)
    discrete = contexts.ndim == 1
    size = (contexts.shape[1],) if not discrete else ()
    return Log.from_arrays(
        contexts,
        actions,
        np.zeros(n),
        np.ones(n, bool),
        observation_space=Discrete(5) if discrete else Box(-np.inf, np.inf, size, np.float32),
        action_space=Discrete(n_actions) if n_actions else Box(-np.inf, np.inf, (1,), np.float32),
    )


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("wrong", [0.0, 0.3, 1.0])
def test_it_bounds_the_error_and_not_the_noise(size: int, wrong: float) -> None:
    """Twenty logs: above the true error nearly always, and far below the noise of 2."""
    bounds = []
    for seed in range(100, 120):
        rng = np.random.default_rng(seed)
        contexts = rng.normal(size=(2000, size)).astype(np.float32)
        actions = rng.integers(4, size=2000)
        slopes = rng.normal(size=(size, 4)) / np.sqrt(size)
        error = wrong * (contexts @ slopes)[np.arange(2000), actions]
        residuals = error + 2.0 * rng.normal(size=2000)
        found = bound(rng, make_log(contexts, actions, 4), residuals)
        bounds.append(found - np.sqrt(np.mean(error**2)))
    assert np.mean(np.asarray(bounds) >= 0.0) >= 0.8
    assert np.median(bounds) < (1.2 if size == 20 else 0.7)


def test_cells_of_a_table() -> None:
    rng = np.random.default_rng(100)
    states, actions = rng.integers(5, size=9000), rng.integers(2, size=9000)
    error = rng.normal(size=(5, 2))[states, actions]
    found = bound(rng, make_log(states, actions, 2), error + rng.normal(size=9000))
    true = np.sqrt(np.mean(error**2))
    assert true <= found <= 1.1 * true


def test_action_vectors() -> None:
    rng = np.random.default_rng(100)
    contexts, actions = rng.normal(size=(2, 30_000, 1)).astype(np.float32)
    error = np.sin(2.0 * actions[:, 0]) * contexts[:, 0]
    found = bound(rng, make_log(contexts, actions), error + rng.normal(size=30_000))
    true = np.sqrt(np.mean(error**2))
    assert true <= found <= 1.2 * true


def test_without_neighbours_it_is_the_residuals_size() -> None:
    rng = np.random.default_rng(100)
    residuals = rng.normal(size=3)
    contexts = rng.normal(size=(3, 1)).astype(np.float32)
    log = make_log(contexts, np.arange(3), 3)
    assert bound(rng, log, residuals) == pytest.approx(np.sqrt(np.mean(residuals**2)))
    # Many rows at one place: none is its own neighbour.
    same = make_log(np.zeros((500, 2), np.float32), np.zeros(500, int), 1)
    assert bound(rng, same, rng.normal(size=500)) < 0.5
