"""What the policy that made a log is worth, from the log's own returns."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.log import Log

Floats = NDArray[np.float64]

N_RANDOM_FEATURES = 64
LARGEST_FIT = 200_000


@dataclass(frozen=True)
class ReturnsEstimate:
    """Mean discounted return with a bootstrap interval over episodes.

    `tail` is the mean part of `mean` that was not seen but predicted behind truncated episodes.
    """

    mean: float
    low: float
    high: float
    standard_error: float
    tail: float
    n_episodes: int
    episode_values: Floats


def value_from_returns(
    log: Log,
    discount: float,
    *,
    confidence: float = 0.95,
    n_bootstrap: int = 2000,
    seed: int = 0,
) -> ReturnsEstimate:
    """V(π_o) at the log's own starts: mean of the episodes' discounted returns.

    A truncated episode stops being watched, it does not end: what would have followed its last
    step, γ^H V(s_H), is predicted by `fit_values` and added.
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence = {confidence}: must lie between 0 and 1")
    tails = truncated_tails(log, discount, seed=seed)
    lengths = np.diff(log.offsets)
    added = discount**lengths * tails
    values = log.returns(discount) + added
    rng = np.random.default_rng(seed)
    n = len(values)
    means = np.array([values[rng.integers(0, n, n)].mean() for _ in range(n_bootstrap)])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    if n == 1:
        low, high = -np.inf, np.inf
    return ReturnsEstimate(
        float(values.mean()), float(low), float(high), error, float(added.mean()), n, values
    )


def bootstrapped_returns_to_go(log: Log, discount: float, *, seed: int = 0) -> Floats:
    """Discounted sum of what followed each row, with the predicted tail of truncated episodes."""
    tails = truncated_tails(log, discount, seed=seed)
    lengths = np.diff(log.offsets)
    remaining = np.repeat(log.offsets[1:], lengths) - np.arange(len(log))
    to_go: Floats = log.returns_to_go(discount) + discount**remaining * np.repeat(tails, lengths)
    return to_go


def truncated_tails(log: Log, discount: float, *, seed: int = 0) -> Floats:
    """Predicted value after the last row of each episode (E,): zero where it terminated."""
    last = log.offsets[1:] - 1
    truncated = ~log.terminated[last]
    lengths = np.diff(log.offsets)
    tails = np.zeros(log.n_episodes)
    # A tail that is discounted to less than a millionth is not worth a fit.
    if not np.any(discount ** lengths[truncated] > 1e-6):
        return tails
    predict = fit_values(log, discount, seed=seed)
    tails[truncated] = predict(log.next_observations[last[truncated]])
    return tails


class LinearValues:
    """V(s) = features(s)·w, fitted to a log by least-squares temporal differences."""

    def __init__(self, log: Log, discount: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._discrete = isinstance(log.observation_space, gymnasium.spaces.Discrete)
        if self._discrete:
            self._n = int(log.observation_space.n)  # type: ignore[attr-defined]
        else:
            self._shift = log.observations.mean(axis=0, dtype=np.float64)
            spread = log.observations.std(axis=0, dtype=np.float64)
            self._spread = np.where(spread > 1e-6, spread, 1.0)
            size = log.observations.shape[1]
            self._directions = rng.normal(size=(size, N_RANDOM_FEATURES)) / np.sqrt(size)
            self._offsets = rng.normal(size=N_RANDOM_FEATURES)
        rows = np.arange(len(log))
        if len(log) > LARGEST_FIT:
            rows = np.sort(rng.choice(len(log), LARGEST_FIT, replace=False))
        here = self.features(log.observations[rows])
        there = self.features(log.next_observations[rows])
        there = discount * there * (1.0 - log.terminated[rows, None])
        # A ridge of one millionth of a row keeps unvisited states at zero.
        system = here.T @ (here - there) / len(rows) + 1e-6 * np.eye(here.shape[1])
        right = here.T @ log.rewards[rows].astype(np.float64) / len(rows)
        self.weights = np.linalg.solve(system, right)
        bound = float(np.abs(log.rewards).max()) / (1.0 - discount)
        self._bounds = (-bound, bound)

    def features(self, observations: NDArray[np.float32] | NDArray[np.int32]) -> Floats:
        """One-hot states, or constant, linear, square and random ReLU features of vectors."""
        if self._discrete:
            return np.eye(self._n)[observations]
        x = np.clip((observations.astype(np.float64) - self._shift) / self._spread, -10.0, 10.0)
        bent = np.maximum(x @ self._directions + self._offsets, 0.0)
        return np.concatenate([np.ones((len(x), 1)), x, x**2, bent], axis=1)

    def __call__(self, observations: NDArray[np.float32] | NDArray[np.int32]) -> Floats:
        """Predicted values, kept within what the log's rewards allow."""
        values: Floats = np.clip(self.features(observations) @ self.weights, *self._bounds)
        return values


def fit_values(log: Log, discount: float, *, seed: int = 0) -> LinearValues:
    """A quick value function of the policy that made the log."""
    return LinearValues(log, discount, seed)
