"""The contexts of a bandit log against those that the next episode starts from."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log

Floats = NDArray[np.float64]

LARGEST_SHIFT = 0.1
"""Standard deviations by which means of contexts may differ and still count as the same."""
CHANCE = 4.0
"""Standard errors that chance may add."""


@dataclass(frozen=True)
class StartWeights:
    """How much each episode of a log counts for the start.

    Args:
        weights: (n,) frequency of the context at the start over that in the log; mean at most one.
        unseen: Share of the start that lies on contexts which the log never had.
        problem: Why the log says nothing about such a start, or nothing.
    """

    weights: Floats
    unseen: float = 0.0
    problem: str = ""


def weigh_starts(log: Log, start: NDArray[np.generic]) -> StartWeights:
    """Compare a start with the log's own contexts.

    A start that holds all the log's contexts, each at least as often, is the log's own (the log is
    a part of it). Other discrete starts are reached by weights. Other vectors have to look like the
    log's, by means and standard deviations: single vectors do not.
    """
    contexts = np.asarray(log.starts)
    start = np.asarray(start)
    even = np.ones(len(contexts))
    if np.array_equal(start, contexts) or _holds(start, contexts):
        return StartWeights(even)
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        n = int(log.observation_space.n)
        there = np.bincount(start.astype(np.int64).ravel(), minlength=n) / len(start)
        here = np.bincount(contexts, minlength=n) / len(contexts)
        met = here > 0
        if not np.any(there[met] > 0):
            return StartWeights(even, 1.0, "no episode of the log begins where the next one starts")
        factors = np.divide(there, here, out=np.zeros(n), where=met)
        return StartWeights(factors[contexts], float(there[~met].sum()))
    spread = np.maximum(contexts.std(axis=0, dtype=np.float64), 1e-9)
    few = 1.0 / np.sqrt(len(start)) + 1.0 / np.sqrt(len(contexts))
    allowed = LARGEST_SHIFT + CHANCE * few
    shift = np.abs(start.mean(axis=0) - contexts.mean(axis=0)) / spread
    stretch = np.abs(start.std(axis=0, dtype=np.float64) / spread - 1.0)
    if len(start) < 2 or np.any(shift > allowed) or np.any(stretch > allowed):
        return StartWeights(even, 1.0, "the next episode starts elsewhere than those of the log")
    return StartWeights(even)


def _holds(start: NDArray[np.generic], contexts: NDArray[np.generic]) -> bool:
    """Whether every context is among the start's rows, each at least as often."""
    if len(start) < len(contexts) or start.shape[1:] != contexts.shape[1:]:
        return False
    rows = np.concatenate([start, contexts]).reshape(len(start) + len(contexts), -1)
    _, groups = np.unique(rows, axis=0, return_inverse=True)
    groups = groups.ravel()
    n = int(groups.max()) + 1
    there = np.bincount(groups[: len(start)], minlength=n)
    here = np.bincount(groups[len(start) :], minlength=n)
    return bool(np.all(there >= here))
