"""Cross-fitted models of the reward of one step: E[r | x, a], by ridge regression or cell means.

Every row is predicted by a fit to the folds that it is not in. Nothing an estimate claims rests on
the fit being right: a good one makes doubly robust scores smaller, a bad one larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log

Floats = NDArray[np.float64]

MOST_FEATURES = 120
"""Columns of a regression: cubes of it have to be cheap."""
ROWS_PER_FEATURE = 8
MOST_LINEAR = 40
"""Columns of the context that a regression has in any case."""
LOO_ROWS = 2000
"""Rows of which the leave-one-out error is taken."""
PENALTIES = 10.0 ** np.arange(-1.0, 6.0)
INTERCEPT = 10.0
"""The constant column: large, so that it is hardly penalised."""
FARTHEST = 4.0
"""Standard deviations beyond which an observation counts as this far away."""


@dataclass(frozen=True)
class OutcomeModel:
    """Predicted rewards m(x, a) at the log's contexts, each row by folds that it is not in.

    Predictions are kept within the range of the log's rewards.

    Args:
        coefficients: (n, A) the prediction for each discrete action, or (n, q) coefficients of the
            features of an action vector.
        low: Smallest reward of the log.
        high: Largest reward of the log.
        centre: (k,) mean of the log's action vectors; none for discrete actions.
        scale: (k,) their standard deviation.
    """

    coefficients: Floats
    low: float
    high: float
    centre: Floats | None = None
    scale: Floats | None = None

    def predict(self, actions: NDArray[np.generic]) -> Floats:
        """m(x, a) of actions (n,), (n, k) or (m, n, k): one, or m, at each context."""
        if self.centre is None or self.scale is None:
            chosen = np.take_along_axis(self.coefficients, np.asarray(actions)[:, None], axis=1)
            return np.asarray(chosen[:, 0])
        features = _action_features((np.asarray(actions, np.float64) - self.centre) / self.scale)
        values = np.einsum("...nq,nq->...n", features, self.coefficients)
        return np.asarray(np.clip(values, self.low, self.high))


def fit_outcomes(
    rng: np.random.Generator, log: Log, folds: NDArray[np.int64], n_folds: int
) -> OutcomeModel:
    """Fit rewards on all folds but one, for each fold.

    Tables get cell means shrunk to the mean of their action. Everything else gets ridge regression
    on features of the context (linear, products, random cosines): one for each discrete action, or
    one on the products with features of the action vector (linear, squares, products).

    Args:
        rng: Of the cosines and of the rows of leave-one-out.
        log: Episodes of one step.
        folds: (n,) the fold of each row.
        n_folds: How many folds there are.
    """
    rewards = np.asarray(log.rewards, np.float64)
    actions = np.asarray(log.actions)
    low, high = float(rewards.min()), float(rewards.max())
    if not isinstance(log.action_space, gymnasium.spaces.Discrete):
        vectors = actions.astype(np.float64)
        centre, scale = vectors.mean(axis=0), np.maximum(vectors.std(axis=0), 1e-9)
        of_actions = _action_features((vectors - centre) / scale)
        width = max(1, _affordable(len(rewards)) // of_actions.shape[1])
        contexts = _context_features(rng, log, width)
        design = (contexts[:, :, None] * of_actions[:, None, :]).reshape(len(rewards), -1)
        means = _fold_means(rewards, folds, n_folds)
        fits = _fit_ridge(rng, design, rewards, folds, means)
        shaped = fits.reshape(n_folds, contexts.shape[1], of_actions.shape[1])
        coefficients = np.empty((len(rewards), of_actions.shape[1]))
        for fold in range(n_folds):
            coefficients[folds == fold] = contexts[folds == fold] @ shaped[fold]
        # The first action feature is the constant one.
        coefficients[:, 0] += means[folds]
        return OutcomeModel(coefficients, low, high, centre, scale)
    n_actions = int(log.action_space.n)
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        shape = int(log.observation_space.n), n_actions
        table = _fit_cells(np.asarray(log.observations), actions, rewards, folds, n_folds, shape)
        return OutcomeModel(table, low, high)
    contexts = _context_features(rng, log, _affordable(len(rewards) // n_actions))
    means = _fold_means(rewards, folds, n_folds)
    by_action = [np.flatnonzero(actions == action) for action in range(n_actions)]
    fits = np.stack(
        [_fit_ridge(rng, contexts[rows], rewards[rows], folds[rows], means) for rows in by_action],
        axis=-1,
    )
    table = np.empty((len(rewards), n_actions))
    for fold in range(n_folds):
        table[folds == fold] = contexts[folds == fold] @ fits[fold]
    return OutcomeModel(np.clip(table + means[folds, None], low, high), low, high)


def _affordable(rows: int) -> int:
    return max(1, min(MOST_FEATURES, rows // ROWS_PER_FEATURE))


def _fold_means(rewards: Floats, folds: NDArray[np.int64], n_folds: int) -> Floats:
    """(K,) mean reward of all folds but one."""
    counts = np.bincount(folds, minlength=n_folds)
    sums = np.bincount(folds, rewards, n_folds)
    return np.asarray((sums.sum() - sums) / (counts.sum() - counts))


def _action_features(standard: Floats) -> Floats:
    """Constant, linear, squares and, for few coordinates, products: (..., k) to (..., q)."""
    k = standard.shape[-1]
    standard = np.clip(standard, -FARTHEST, FARTHEST)
    pairs = [(i, j) for i in range(k) for j in range(i, k) if i == j or k <= 4]
    columns = [np.ones(standard.shape[:-1]), *np.moveaxis(standard, -1, 0)]
    return np.stack([*columns, *(standard[..., i] * standard[..., j] for i, j in pairs)], axis=-1)


def _context_features(rng: np.random.Generator, log: Log, width: int) -> Floats:
    """(n, ≤ width) constant and linear, then as many of products and random cosines as fit in."""
    n = len(log)
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        states, counts = np.unique(log.observations, return_counts=True)
        common = states[np.argsort(-counts)][: width - 1]
        hot = (np.asarray(log.observations)[:, None] == common).astype(np.float64)
        return np.concatenate([np.full((n, 1), INTERCEPT), hot], axis=1)
    rows = np.asarray(log.observations, np.float64)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)
    rows = np.clip(rows[:, spread > 1e-9], -FARTHEST, FARTHEST)
    size = rows.shape[1]
    parts = [np.full((n, 1), INTERCEPT)]
    if size + 1 <= max(width, MOST_LINEAR):
        # Also where an action has few rows: leave-one-out decides how much of it is believed.
        parts.append(rows)
    if 1 + size + size * (size + 1) // 2 <= width:
        parts.append(np.stack([rows[:, i] * rows[:, j] for i, j in _pairs(size)], axis=1))
    left = width - sum(part.shape[1] for part in parts)
    if left > 0 and size:
        directions = rng.normal(size=(size, left)) / np.sqrt(size)
        # From smooth to wiggly: leave-one-out decides how much of it is believed.
        directions *= rng.uniform(0.5, 2.5, left)
        cosines = np.cos(rows @ directions + rng.uniform(0.0, 2.0 * np.pi, left))
        parts.append(np.sqrt(2.0) * cosines)
    return np.concatenate(parts, axis=1)


def _pairs(size: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(size) for j in range(i, size))


def _fit_ridge(
    rng: np.random.Generator,
    design: Floats,
    rewards: Floats,
    folds: NDArray[np.int64],
    means: Floats,
) -> Floats:
    """(K, p) ridge coefficients without each fold, of rewards less the mean (K,) of the others.

    The penalty has the least leave-one-out error, (r - prediction) / (1 - leverage), over a sample
    of rows. Where a fold leaves nothing to fit, the mean stands.
    """
    parts = [(design[folds == fold], rewards[folds == fold]) for fold in range(len(means))]
    grams = np.stack([rows.T @ rows for rows, _ in parts])
    sides = np.stack([rows.T @ outcomes for rows, outcomes in parts])
    sums = np.stack([rows.sum(axis=0) for rows, _ in parts])
    coefficients = np.zeros((len(means), design.shape[1]))
    for fold, mean in enumerate(means):
        rows = np.flatnonzero(folds != fold)
        if not len(rows):
            continue
        values, vectors = np.linalg.eigh(grams.sum(axis=0) - grams[fold])
        values = np.maximum(values, 0.0)
        side = sides.sum(axis=0) - sides[fold] - mean * (sums.sum(axis=0) - sums[fold])
        rotated = vectors.T @ side
        if len(rows) > LOO_ROWS:
            rows = rng.choice(rows, LOO_ROWS, replace=False)
        turned, errors = design[rows] @ vectors, []
        for penalty in PENALTIES:
            residual = rewards[rows] - mean - turned @ (rotated / (values + penalty))
            leverage = turned**2 @ (1.0 / (values + penalty))
            errors.append(np.mean((residual / np.maximum(1.0 - leverage, 1e-3)) ** 2))
        penalty = PENALTIES[int(np.argmin(errors))]
        coefficients[fold] = vectors @ (rotated / (values + penalty))
    return coefficients


def _fit_cells(
    states: NDArray[np.generic],
    actions: NDArray[np.generic],
    rewards: Floats,
    folds: NDArray[np.int64],
    n_folds: int,
    shape: tuple[int, int],
) -> Floats:
    """(n, A) means of the cells (x, a), shrunk to the mean of a, and that to the overall mean.

    A cell of N rows weighs N against λ for the mean of its action; λ has the least error when each
    row is left out of its own cell.
    """
    cells = np.ravel_multi_index((states.astype(np.int64), actions.astype(np.int64)), shape)
    result = np.empty((len(rewards), shape[1]))
    overall = _fold_means(rewards, folds, n_folds)
    for fold in range(n_folds):
        kept = folds != fold
        here, r = cells[kept], rewards[kept]
        counts = np.bincount(here, minlength=shape[0] * shape[1]).reshape(shape)
        sums = np.bincount(here, r, shape[0] * shape[1]).reshape(shape)
        means = (sums.sum(axis=0) + overall[fold]) / (counts.sum(axis=0) + 1.0)
        prior = np.broadcast_to(means, shape).ravel()[here]
        own_counts, own_sums = counts.ravel()[here], sums.ravel()[here]
        errors = [
            np.mean((r - (own_sums - r + λ * prior) / (own_counts - 1 + λ)) ** 2) for λ in PENALTIES
        ]
        λ = PENALTIES[int(np.argmin(errors))]
        table = (sums + λ * means) / (counts + λ)
        result[~kept] = table[states[~kept].astype(np.int64)]
    return result
