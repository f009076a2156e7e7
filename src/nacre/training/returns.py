"""What the policy that made a log is worth, from the log's own returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.training.features import Features, Floats, Matrix, Observations

Rows = NDArray[np.int64]

LARGEST_FIT = 200_000
CHUNK = 10_000
"""Rows whose features are held in memory at a time."""


@dataclass(frozen=True)
class ReturnsEstimate:
    """Mean discounted return with a bootstrap interval over episodes.

    `tail` is the mean part of `mean` that was not seen but predicted behind truncated episodes.
    `episode_values` (E,) are the episodes' returns with their predicted tails, `tails` (E,) what
    was predicted of each. Episodes also shape
    the prediction that the others' tails are taken from: `influences` (E,) has the same mean and
    counts that too. It is what the interval resamples.
    """

    mean: float
    low: float
    high: float
    standard_error: float
    tail: float
    n_episodes: int
    episode_values: Floats
    influences: Floats
    tails: Floats


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
    step, γ^H V(s_H), is predicted by `fit_values` and added. A single episode says nothing about
    its own spread: the interval is then infinite.
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence = {confidence}: must lie between 0 and 1")
    if n_bootstrap < 1:
        raise InputError(f"n_bootstrap = {n_bootstrap}: at least 1 is needed")
    added, shaped = _predict_tails(log, discount, seed)
    values = log.returns(discount) + added
    influences = values + shaped
    n = len(values)
    if n > 1:
        rng = np.random.default_rng(seed)
        means = np.array([influences[rng.integers(0, n, n)].mean() for _ in range(n_bootstrap)])
        low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
        error = influences.std(ddof=1) / np.sqrt(n)
    else:
        low, high, error = -np.inf, np.inf, np.inf
    return ReturnsEstimate(
        float(values.mean()),
        float(low),
        float(high),
        float(error),
        float(added.mean()),
        n,
        values,
        influences,
        added,
    )


def bootstrapped_returns_to_go(log: Log, discount: float, *, seed: int = 0) -> Floats:
    """Discounted sum of what followed each row (N,), with the predicted tail where truncated."""
    tails = truncated_tails(log, discount, seed=seed)
    lengths = log.episode_lengths
    remaining = np.repeat(log.offsets[1:], lengths) - np.arange(len(log))
    to_go: Floats = log.returns_to_go(discount) + discount**remaining * np.repeat(tails, lengths)
    return to_go


def truncated_tails(log: Log, discount: float, *, seed: int = 0) -> Floats:
    """Predicted value after the last row of each episode (E,): zero where it terminated."""
    last = log.offsets[1:] - 1
    truncated = ~log.terminated[last]
    tails = np.zeros(log.n_episodes)
    if np.any(truncated):
        predict = fit_values(log, discount, seed=seed)
        tails[truncated] = predict(log.next_observations[last[truncated]])
    return tails


class LinearValues:
    """V(s) = φ(s)·w, fitted to a log by least-squares temporal differences.

    A w = b with A = Σ φ(s) (φ(s) - γ (1 - terminated) φ(s'))ᵀ and b = Σ φ(s) r over the rows. For
    discrete observations w is the exact value in the finite world that the log's counts describe.
    """

    def __init__(self, log: Log, discount: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._log, self._discount = log, discount
        self.features = Features(log, rng)
        self._rows = np.arange(len(log))
        if not self.features.discrete and len(log) > LARGEST_FIT:
            self._rows = np.sort(rng.choice(len(log), LARGEST_FIT, replace=False))
        self._system, right = self._accumulate()
        self.weights = self._solve(self._system, right)
        bound = float(np.abs(log.rewards).max()) / (1.0 - discount)
        self._bounds = (-bound, bound)

    def __call__(self, observations: Observations) -> Floats:
        """Predicted values, kept within what the log's rewards allow."""
        values: Floats = np.clip(self.features(observations) @ self.weights, *self._bounds)
        return values

    def influences(self, observations: Observations, multipliers: Floats) -> Floats:
        """How each episode's rows shaped Σ_i multiplier_i V(s_i); (E,), adding up to about zero.

        To first order a row adds A⁻¹ φ(s) δ to w, with δ its temporal difference.
        """
        gradient = self.features(observations).T @ multipliers
        direction = self._solve(self._system.T, gradient)
        episodes, shaped = self._log.episode_ids, np.zeros(self._log.n_episodes)
        for rows, here, onward, rewards in self._chunks():
            differences = rewards - onward @ self.weights
            pulls = differences * (here @ direction)
            shaped += np.bincount(episodes[rows], pulls, minlength=len(shaped))
        return shaped

    def _accumulate(self) -> tuple[Matrix, Floats]:
        """A and b, with a ridge that keeps what was never seen at zero.

        It is a millionth of a row for states and, as features of vectors may say nearly the same,
        a millionth of all rows for those.
        """
        right = np.zeros(self.features.size)
        if self.features.discrete:
            system: Matrix = 1e-6 * scipy.sparse.eye_array(self.features.size)
        else:
            system = 1e-6 * len(self._rows) * np.eye(self.features.size)
        for _, here, onward, rewards in self._chunks():
            system = system + here.T @ onward
            right += here.T @ rewards
        return system, right

    def _solve(self, system: Matrix, right: Floats) -> Floats:
        if self.features.discrete:
            system, solver = system.tocsc(), scipy.sparse.linalg.spsolve
        else:
            solver = np.linalg.solve
        solved: Floats = solver(system, right)
        return solved

    def _chunks(self) -> Iterator[tuple[Rows, Matrix, Matrix, Floats]]:
        """Some rows at a time: their numbers, φ(s), φ(s) - γ (1 - terminated) φ(s'), rewards."""
        log = self._log
        for begin in range(0, len(self._rows), CHUNK):
            rows = self._rows[begin : begin + CHUNK]
            here = self.features(log.observations[rows])
            ahead = self._discount * (1.0 - log.terminated[rows, None])
            onward = here - self.features(log.next_observations[rows]) * ahead
            yield rows, here, onward, log.rewards[rows].astype(np.float64)


def fit_values(log: Log, discount: float, *, seed: int = 0) -> LinearValues:
    """A quick value function of the policy that made the log."""
    if not 0.0 <= discount < 1.0:
        raise InputError(
            f"discount = {discount}: what follows truncated episodes has a value only for a "
            "discount in [0, 1)"
        )
    return LinearValues(log, discount, seed)


def _predict_tails(log: Log, discount: float, seed: int) -> tuple[Floats, Floats]:
    """γ^H V(s_H) of each episode, zero where it terminated, and how each shaped V; (E,) both."""
    last = log.offsets[1:] - 1
    truncated = ~log.terminated[last]
    factors = np.power(np.float64(discount), log.episode_lengths[truncated])
    added, shaped = np.zeros(log.n_episodes), np.zeros(log.n_episodes)
    # A tail that is discounted to less than a millionth is not worth a fit.
    if np.any(factors > 1e-6):
        ends = log.next_observations[last[truncated]]
        predict = fit_values(log, discount, seed=seed)
        added[truncated] = factors * predict(ends)
        shaped = predict.influences(ends, factors)
    return added, shaped
