"""Critics that are linear in features of state and action: sums over a log, and their solution.

With features φ(s, a), and φ_π(s) their mean over the actions of π, the critic Q = w·φ of a policy
solves Σ φ(s, a) [φ(s, a) - γ (1 - terminated) φ_π(s')]·w + λ w = Σ φ(s, a) r: the fixed point of
fitted Q-evaluation with ridge regression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.state_action_features import StateActionFeatures, draw_actions

Numbers = NDArray[np.float64]
Groups = NDArray[np.int64]
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Sums:
    """What a log says in one set of features, by group of episodes.

    Args:
        features: The features φ, of which there are p.
        products: (groups, p, p) Σ φ φᵀ.
        rewards: (groups, p) Σ φ r.
        rows: (groups,) number of rows.
    """

    features: StateActionFeatures
    products: NDArray[np.float32]
    rewards: Numbers
    rows: Numbers


@dataclass(frozen=True, eq=False)
class LinearCritics:
    """Q(s, a) = w·φ(s, a), the mean of several sets of features."""

    features: tuple[StateActionFeatures, ...]
    weights: tuple[Numbers, ...]

    def read(
        self, states: NDArray[Any], actions: NDArray[Any], policy: Policy
    ) -> tuple[Numbers, Numbers]:
        """Q at the given actions, and V of the policy; each (n,)."""
        pairs = list(zip(self.features, self.weights, strict=True))
        q = [features.at(states, actions) @ weights for features, weights in pairs]
        drawn = draw_actions(policy, states)
        v = [features.expect(states, drawn) @ weights for features, weights in pairs]
        return np.mean(q, axis=0), np.mean(v, axis=0)


def fit_critics(
    sums: Sequence[Sums], log: Log, policy: Policy, discount: float, ridge: float
) -> LinearCritics:
    """The critics of a policy by all rows of a log, whose sums are given."""
    weights = []
    together = np.zeros(log.n_episodes, np.int64)
    each_ahead = add_up_ahead([one.features for one in sums], log, policy, together)
    for one, ahead in zip(sums, each_ahead, strict=True):
        matrix = one.products.sum(axis=0, dtype=np.float64) - discount * ahead[0].astype(np.float64)
        weights.append(solve(matrix, one.rewards.sum(axis=0), ridge * len(log)))
    return LinearCritics(tuple(one.features for one in sums), tuple(weights))


def solve(matrix: Numbers, rewards: Numbers, ridge: float) -> Numbers:
    """The weights w of (matrix + ridge) w = rewards."""
    return np.asarray(np.linalg.solve(matrix + ridge * np.eye(len(rewards)), rewards))


def list_blocks(log: Log, groups: Groups) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Rows of each group of episodes, a block at a time."""
    of_rows = np.repeat(groups, log.episode_lengths)
    for group in range(int(groups.max()) + 1):
        rows = np.flatnonzero(of_rows == group)
        for first in range(0, len(rows), BLOCK_ROWS):
            yield group, rows[first : first + BLOCK_ROWS]


def add_up(features: StateActionFeatures, log: Log, groups: Groups) -> Sums:
    """Σ φ φᵀ and Σ φ r of each group of episodes."""
    n, size = int(groups.max()) + 1, features.size
    products, rewards = np.zeros((n, size, size), np.float32), np.zeros((n, size))
    for group, rows in list_blocks(log, groups):
        states, actions = log.observations[rows], log.actions[rows]
        seen = features.at(states, actions)
        products[group] += seen.T @ seen
        rewards[group] += seen.T @ np.asarray(log.rewards[rows], np.float32)
    return Sums(
        features, products, rewards, np.bincount(groups, log.episode_lengths, n).astype(np.float64)
    )


def add_up_ahead(
    features: Sequence[StateActionFeatures], log: Log, policy: Policy, groups: Groups
) -> list[NDArray[np.float32]]:
    """Σ φ(s, a) (1 - terminated) φ_π(s')ᵀ of each group of episodes, in every set of features."""
    n = int(groups.max()) + 1
    ahead = [np.zeros((n, one.size, one.size), np.float32) for one in features]
    for group, rows in list_blocks(log, groups):
        states, actions = log.observations[rows], log.actions[rows]
        following = np.asarray(log.next_observations[rows])
        drawn = draw_actions(policy, following, int(rows[0]))
        going_on = ~np.asarray(log.terminated[rows])[:, None]
        for one, total in zip(features, ahead, strict=True):
            total[group] += one.at(states, actions).T @ (one.expect(following, drawn) * going_on)
    return ahead
