"""How much more often a candidate is at a state after t steps than the old policy.

An episode weighs Π_{u ≤ t} π(a_u|s_u) / π_o(a_u|s_u), a product that runs wild within few steps.
But where it has come by is all the same once it is there: what counts is the mean of the products
over all ways to the state, μ_t(s) = d_π,t(s) / d_π_o,t(s). Step by step

    μ_{t+1}(s') = E[μ_t(s) π(a|s) / π_o(a|s) | s'],    μ_0 = 1,

and a regression on features of state and time finds it. Two halves of the episodes are each other's
teachers, so that nobody's weight knows its own luck.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from nacre.estimators.unrolled import Unrolled
from nacre.logs import Log
from nacre.training.features import Features, Floats, Matrix, factorise

RIDGE = 1e-3
"""Of the rows: pulls the weights towards one."""
SETTLED = 1e-3
"""Mean change of a weight at which the iteration ends."""
LEAST_WEIGHT = 1e-3


def find_state_weights(
    log: Log, table: Unrolled, ratios: Floats, discount: float, seed: int
) -> Floats:
    """(E, T) logarithms of μ_t(s_t) π(a_t|s_t) / π_o(a_t|s_t); an episode that is over stays.

    Args:
        log: Episodes of the old policy.
        table: The same, side by side.
        ratios: (E, T) log π(a|s) - log π_o(a|s), zero where an episode is over.
        discount: γ: features change with γ^t, and with 1/t soon after the start.
        seed: Of the features and of the halves.
    """
    rng = np.random.default_rng(seed)
    features = Features(log, rng)
    n_episodes, n_steps = table.rows.shape
    first_half = rng.permutation(n_episodes) % 2 == 0
    steps = np.exp(ratios)
    weights = np.ones((n_episodes, n_steps))
    for half in (first_half, ~first_half):
        if half.all() or not half.any():
            continue
        predict = _learn(log, features, table, half, steps, discount)
        weights[~half] = predict(~half)
    return np.log(_stay(weights * steps, table.seen))


def _learn(
    log: Log,
    features: Features,
    table: Unrolled,
    half: NDArray[np.bool_],
    steps: Floats,
    discount: float,
) -> Callable[[NDArray[np.bool_]], Floats]:
    """μ by the episodes of one half, as a function of which episodes it is asked for."""

    def read(episodes: NDArray[np.bool_]) -> tuple[Matrix, NDArray[np.bool_]]:
        """Features of the rows behind the first, and where they belong."""
        later = table.seen[episodes].copy()
        later[:, 0] = False
        now = features(log.observations[table.rows[episodes][later]])
        times = np.nonzero(later)[1].astype(np.float64)
        clocks = discount**times, 1.0 / times
        if features.discrete:
            faded = [scipy.sparse.diags_array(clock) @ now for clock in clocks]
            return scipy.sparse.hstack([now, *faded], format="csr"), later
        faded = [now * clock[:, None] for clock in clocks]
        return np.concatenate([now, *faded], axis=1, dtype=np.float32), later

    def predict(inputs: Matrix, later: NDArray[np.bool_], theta: Floats) -> Floats:
        found = np.ones(later.shape)
        found[later] = np.maximum(1.0 + inputs @ theta.astype(inputs.dtype), LEAST_WEIGHT)
        return found

    inputs, later = read(half)
    n_rows, size = inputs.shape
    theta, own = np.zeros(size), np.ones(later.shape)
    if not n_rows:
        return lambda asked: predict(*read(asked), theta)
    ridge = RIDGE * n_rows * (scipy.sparse.eye_array(size) if features.discrete else np.eye(size))
    solve = factorise(inputs.T @ inputs + ridge)
    arrived = np.roll(later, -1, axis=1)
    for _ in range(table.rows.shape[1]):
        carried = _stay(own * steps[half], table.seen[half])
        carried /= carried.mean(axis=0)
        excess = (carried[arrived] - 1.0).astype(inputs.dtype)
        theta = solve(np.asarray(inputs.T @ excess, np.float64))
        before, own = own, predict(inputs, later, theta)
        if np.abs(own - before).mean() < SETTLED:
            break
    return lambda asked: predict(*read(asked), theta)


def _stay(weights: Floats, seen: NDArray[np.bool_]) -> Floats:
    """An episode that is over keeps the last weight it had."""
    last = np.maximum(seen.sum(axis=1), 1) - 1
    return np.where(seen, weights, weights[np.arange(len(weights)), last][:, None])
