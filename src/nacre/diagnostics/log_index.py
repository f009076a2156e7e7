"""An index of a log: how far a state with an action lies from what the log holds.

Two halves by episode, each a sample of rows. Vectors are looked up by distance among the rows that
share the discrete part (the action, the state, or nothing); where state and action are both
discrete, a pair is there or it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from nacre.logs import Log

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NEIGHBOURS = 5
"""Rows around a query whose steps are averaged, and whose distance is the local scale."""
QUANTILE = 0.99
"""Share of one half's rows that count as inside of the other half."""
THINNED = 16.0
"""How many times thinner than at the log's edge rows have to be for all of it to be outside."""
MOST_DIMENSIONS = 4
"""Coordinates that count for that: in more of them distances hardly differ any more."""
SMALLEST_DISTANCE = 0.1
"""In local scales: rows closer than that weigh the same."""
SMALLEST_SAMPLE, LARGEST_SAMPLE, COORDINATES = 3_000, 12_000, 60_000
"""Rows of a half: as many as make up that many coordinates, within these bounds."""


@dataclass(frozen=True)
class Half:
    """Rows of some episodes and how to find them.

    Args:
        rows: (n,) numbers of the rows in the log.
        groups: (n,) which discrete state and action each row has; all zero if there is none.
        members: Rows of each group, as places in `rows`.
        trees: The rows of each group by their vectors; empty if there is no vector.
        radii: (n,) distance to the fifth neighbour, at least the median: the local scale.
    """

    rows: Rows
    groups: Rows
    members: dict[int, Rows]
    trees: dict[int, Any]
    radii: Floats

    @classmethod
    def build(cls, rows: Rows, groups: Rows, vectors: Floats) -> Half:
        """Index rows by group and vector (n, d); d may be zero."""
        order = np.argsort(groups, kind="stable")
        names, first = np.unique(groups[order], return_index=True)
        members = dict(zip(names.tolist(), np.split(order, first[1:]), strict=True))
        radii, trees = np.zeros(len(rows)), {}
        if vectors.shape[1]:
            trees = {group: cKDTree(vectors[places]) for group, places in members.items()}
            for group, tree in trees.items():
                near, _ = tree.query(tree.data, k=[min(NEIGHBOURS + 1, tree.n)])
                radii[members[group]] = near[:, -1]
        # Repeated states have no distance: a scale of zero would make everything else infinite.
        radii = np.maximum(radii, max(float(np.median(radii)), 1e-6))
        return cls(rows, groups, members, trees, radii)

    def find(self, groups: Rows, vectors: Floats, uniforms: Floats) -> tuple[Floats, Rows, Floats]:
        """Distance (n,) in local scales to the nearest row, the nearest rows and weights (n, k).

        Weights fall with the squared distance and add up to one: close rows decide where there are
        any, and all of them alike where none is close. Without vectors one row of the group is
        drawn by `uniforms` (n,). A group that the half does not hold is infinitely far.
        """
        k = NEIGHBOURS if self.trees else 1
        distances = np.full(len(groups), np.inf)
        found = np.zeros((len(groups), k), np.int64)
        weights = np.full((len(groups), k), 1.0 / k)
        for group in np.unique(groups).tolist():
            places = self.members.get(group)
            if places is None:
                continue
            asked = np.flatnonzero(groups == group)
            if self.trees:
                # With fewer rows than neighbours the last ones are repeated.
                ranks = np.minimum(np.arange(1, k + 1), len(places)).tolist()
                far, near = self.trees[group].query(vectors[asked], k=ranks)
                found[asked] = places[near]
                scales = self.radii[places[near[:, 0]]]
                distances[asked] = far[:, 0] / scales
                closeness = 1.0 / ((far / scales[:, None]) ** 2 + SMALLEST_DISTANCE**2)
                weights[asked] = closeness / closeness.sum(axis=1, keepdims=True)
            else:
                drawn = (uniforms[asked] * len(places)).astype(np.int64)
                found[asked, 0] = places[np.minimum(drawn, len(places) - 1)]
                distances[asked] = 0.0
        return distances, self.rows[found], weights


class LogIndex:
    """Both halves of a log, in one scale, with the distance that still counts as inside.

    Attributes:
        halves: The two halves; the whole log twice where there are no vectors.
        limit: 99 % quantile of the distances (in local scales) of one half's rows to the other.
        reach: Limits away from which on all of it is outside.
    """

    def __init__(self, log: Log, rng: np.random.Generator) -> None:
        self._log = log
        self.discrete_states = isinstance(log.observation_space, Discrete)
        self.discrete_actions = isinstance(log.action_space, Discrete)
        self._n_actions = int(log.action_space.n) if self.discrete_actions else 1  # type: ignore[attr-defined]
        samples = self._sample(rng)
        together = np.unique(np.concatenate(samples))
        states, actions = log.observations[together], log.actions[together]
        self._state_scale = _scale(np.asarray(states), self.discrete_states)
        self._action_scale = _scale(np.asarray(actions), self.discrete_actions)
        self.halves = [
            Half.build(rows, *self.describe(log.observations[rows], log.actions[rows]))
            for rows in samples
        ]
        self.limit = self._find_limit()
        self.reach = THINNED ** (1.0 / min(max(self._width, 1), MOST_DIMENSIONS))

    @property
    def tabular(self) -> bool:
        """Whether states and actions are both discrete."""
        return self.discrete_states and self.discrete_actions

    @property
    def _width(self) -> int:
        """Coordinates of a state with its action; discrete ones have none."""
        columns = (self._log.observations, self._log.actions)
        return sum(values.shape[1] for values in columns if len(values.shape) > 1)

    def describe(self, states: NDArray[Any], actions: NDArray[Any]) -> tuple[Rows, Floats]:
        """Group (n,) and vector (n, d) of states with actions.

        Coordinates are in standard deviations, and the state as a whole counts as much as the
        action as a whole: ‖Δ‖² = mean_i (Δs_i/σ_i)² + mean_j (Δa_j/σ_j)².
        """
        groups = np.zeros(len(states), np.int64)
        vectors = []
        if self.discrete_states:
            groups = groups + self._n_actions * states.astype(np.int64)
        else:
            vectors.append(states.astype(np.float64) / self._state_scale)
        if self.discrete_actions:
            groups = groups + actions.astype(np.int64)
        else:
            vectors.append(actions.astype(np.float64) / self._action_scale)
        return groups, np.concatenate(vectors, axis=1) if vectors else np.zeros((len(states), 0))

    def look_up(
        self, half: int, states: NDArray[Any], actions: NDArray[Any], uniforms: Floats
    ) -> tuple[Floats, Rows, Floats]:
        """How far outside of one half (n,), 0 to 1, the nearest rows and their weights (n, k).

        0 up to the limit; from there it grows with the distance, up to 1 where rows are 16 times
        thinner than at the limit: at 16^(1/d) limits in d coordinates.
        """
        found = self.halves[half].find(*self.describe(states, actions), uniforms)
        outside = np.clip((found[0] / self.limit - 1.0) / (self.reach - 1.0), 0.0, 1.0)
        return outside, found[1], found[2]

    def _sample(self, rng: np.random.Generator) -> list[Rows]:
        log = self._log
        if self.tabular:
            return [np.arange(len(log))] * 2
        if log.n_episodes > 1:
            side = rng.permutation(log.n_episodes) % 2
            sides = np.repeat(side, log.episode_lengths)
        else:
            sides = (np.arange(len(log)) >= len(log) // 2).astype(np.int64)
        size = int(np.clip(COORDINATES // self._width, SMALLEST_SAMPLE, LARGEST_SAMPLE))
        parts = [np.flatnonzero(sides == number) for number in (0, 1)]
        return [np.sort(rng.choice(part, min(size, len(part)), replace=False)) for part in parts]

    def _find_limit(self) -> float:
        if self.tabular:
            return 1.0
        distances = []
        for here, there in (self.halves, self.halves[::-1]):
            states, actions = self._log.observations[here.rows], self._log.actions[here.rows]
            found, _, _ = there.find(*self.describe(states, actions), np.zeros(len(states)))
            distances.append(found[np.isfinite(found)])
        together = np.concatenate(distances)
        # Never less than the local scale itself: repeated rows have no distance at all.
        return max(float(np.quantile(together, QUANTILE)), 1.0) if len(together) else 1.0


def _scale(values: NDArray[Any], discrete: bool) -> Floats:
    """σ √d of each coordinate, or √d where it does not vary."""
    if discrete:
        return np.ones(1)
    spread = values.std(axis=0, dtype=np.float64)
    varies = spread > 1e-6 * np.abs(values.mean(axis=0, dtype=np.float64)) + 1e-12
    scale: Floats = np.where(varies, spread, 1.0) * np.sqrt(values.shape[1])
    return scale
