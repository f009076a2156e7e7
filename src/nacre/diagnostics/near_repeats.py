"""Episodes with equal actions and rewards whose observations differ by rounding only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nacre.logs import Log

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Share of a coordinate's range up to which two observations are the same."""
NEIGHBOURS = 3
"""Of episodes sorted by one number of theirs, so many next ones are compared."""
MOST_ROWS = 4096
"""Rows of an episode that are compared; copies agree in all, others in the first few not."""


def merge_near_repeats(
    log: Log,
    identity: Integers,
    alike: NDArray[np.uint64],
    comparable: NDArray[np.bool_],
) -> Integers:
    """Give near repeats the identity of the episode that they repeat.

    Args:
        log: The log.
        identity: (E,) equal for episodes that are already known to be the same.
        alike: (E,) equal for episodes of equal actions, rewards and ends.
        comparable: (E,) whether an episode may be merged with another.

    Returns:
        (E,) the new identities.
    """
    if log.observations.ndim == 1:
        return identity
    _, leaders = np.unique(identity, return_index=True)
    leaders = leaders[comparable[leaders]]
    _, group, sizes = np.unique(alike[leaders], return_inverse=True, return_counts=True)
    shared = sizes[group] > 1
    leaders, group = leaders[shared], group[shared]
    if not len(leaders):
        return identity
    starts = np.asarray(log.observations[log.offsets[leaders]], np.float64)
    reach = np.ptp(np.asarray(log.starts, np.float64), axis=0)
    moving = reach > 0
    n_moving = int(moving.sum())
    scale = np.where(moving, reach, np.maximum(np.abs(starts).max(axis=0), 1.0))
    # Among very many starts of few coordinates some are neighbours by chance.
    if n_moving and sizes.max() ** 2 * (2.0 * TOLERANCE) ** n_moving > 0.01:
        return identity
    weights = np.random.default_rng(0).uniform(0.5, 1.0, len(scale))
    order = np.lexsort(((starts / scale) @ weights, group))
    pairs = [
        (first, second)
        for step in range(1, NEIGHBOURS + 1)
        for first, second in _find_close(starts, scale, group, order, step)
        if _agree(log, int(leaders[first]), int(leaders[second]))
    ]
    if not pairs:
        return identity
    first, second = np.asarray(pairs).T
    graph = coo_array((np.ones(len(pairs)), (first, second)), shape=(len(leaders), len(leaders)))
    _, label = connected_components(graph, directed=False)
    # Each takes the identity of the first episode that it is connected with.
    _, head = np.unique(label, return_index=True)
    renamed = np.arange(int(identity.max()) + 1)
    renamed[identity[leaders]] = identity[leaders[head[label]]]
    return np.asarray(renamed[identity])


def _find_close(
    starts: Floats, scale: Floats, group: Integers, order: Integers, step: int
) -> Iterator[tuple[int, int]]:
    """Pairs of places of one group, `step` apart in the order, with equal starts."""
    left, right = order[:-step], order[step:]
    near = (np.abs(starts[left] - starts[right]) <= TOLERANCE * scale).all(axis=1)
    close = near & (group[left] == group[right])
    return zip(left[close].tolist(), right[close].tolist(), strict=True)


def _agree(log: Log, first: int, second: int) -> bool:
    """Whether the observations of two episodes of one length are equal to float noise."""
    length = int(min(log.episode_lengths[first], MOST_ROWS))
    one, other = (
        np.asarray(log.observations[log.offsets[e] : log.offsets[e] + length], np.float64)
        for e in (first, second)
    )
    scale = np.maximum(np.ptp(one, axis=0), np.abs(one).max(axis=0)) + 1e-12
    # Rounding grows along a trajectory.
    return bool(np.all(np.abs(one - other) <= 10.0 * TOLERANCE * scale))
