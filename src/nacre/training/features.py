"""Features of states for linear fits: quick, and the same to the bit for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from nacre.logs import Log

Floats = NDArray[np.float64]
Observations = NDArray[np.float32] | NDArray[np.int32]
Matrix = Any
"""A NumPy array, or a sparse one: the same operators work on both."""

N_RANDOM_FEATURES = 64


class Features:
    """φ(s): one-hot for discrete observations, sparse.

    For vectors it is a constant, the scaled coordinates, their squares and random ReLU features.
    """

    def __init__(self, log: Log, rng: np.random.Generator) -> None:
        self.discrete = isinstance(log.observation_space, gymnasium.spaces.Discrete)
        if self.discrete:
            self.size = int(log.observation_space.n)  # type: ignore[attr-defined]
            return
        self._shift = log.observations.mean(axis=0, dtype=np.float64)
        spread = log.observations.std(axis=0, dtype=np.float64)
        varies = spread > 1e-6 * np.abs(self._shift) + 1e-12
        self._spread = np.where(varies, spread, 1.0)
        inputs = len(spread)
        self._directions = rng.normal(size=(inputs, N_RANDOM_FEATURES)) / np.sqrt(inputs)
        self._offsets = rng.normal(size=N_RANDOM_FEATURES)
        self.size = 1 + 2 * inputs + N_RANDOM_FEATURES

    def __call__(self, observations: Observations) -> Matrix:
        """φ of rows of observations (rows, size)."""
        if self.discrete:
            rows = np.arange(len(observations))
            return scipy.sparse.csr_array(
                (np.ones(len(rows)), (rows, observations)), shape=(len(rows), self.size)
            )
        x = np.clip((observations.astype(np.float64) - self._shift) / self._spread, -10.0, 10.0)
        bent = np.maximum(x @ self._directions + self._offsets, 0.0)
        return np.concatenate([np.ones((len(x), 1)), x, x**2, bent], axis=1)


def factorise(system: Matrix) -> Callable[[Floats], Floats]:
    """A function that solves a symmetric, positive definite system for a right-hand side.

    Where rounding left it not quite definite, what cannot be told apart stays zero.
    """
    if scipy.sparse.issparse(system):
        solve: Callable[[Floats], Floats] = scipy.sparse.linalg.factorized(system.tocsc())
        return solve
    try:
        factor = scipy.linalg.cho_factor(system)
    except scipy.linalg.LinAlgError:
        inverse = scipy.linalg.pinvh(system)
        return lambda right: inverse @ right
    return lambda right: scipy.linalg.cho_solve(factor, right)
