"""Regions that are found in a log: named columns, clusters of states, and the states it knows."""

from __future__ import annotations

import re
import warnings

import gymnasium
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from nacre.errors import InputError
from nacre.logs import Log, observation_names
from nacre.policies.region import Cells, Region, parse_region

KNOWN = "the log knows the state"
LEAST_VISITS = 10
"""Rows of a numbered state that the log knows."""
MOST_CELLS = 32
ROWS_PER_CELL = 50
MOST_ROWS = 20_000
MEMBERS = 0.99
"""Of a cell's states in the log, those within its reach."""
FAR = 1e30
_CLUSTER = re.compile(r"\s*cluster\s+(?P<number>\d+)\s+of\s+(?P<count>\d+)\s*")


def find_region(text: str, log: Log, seed: int = 0) -> Region:
    """The region that is written so, as `parse_region` says, or `known`, or `cluster 2 of 5`.

    Args:
        text: What was written.
        log: The learning part: names of its columns, and its states.
        seed: Of the clusters.

    Raises:
        InputError: With the form that was expected.
    """
    if text.strip() == "known":
        return find_known(log, seed)
    match = _CLUSTER.fullmatch(text)
    if match is None:
        return parse_region(text, observation_names(log))
    number, count = int(match["number"]), int(match["count"])
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        raise InputError(f"region {text!r:.60}: clusters are of vectors; give states 0,3,4")
    if not (2 <= count <= MOST_CELLS and 1 <= number <= count):
        raise InputError(f"region {text!r:.60}: give cluster 1 of 2 to cluster 32 of 32")
    cells, _ = find_cells(log, count, seed)
    if number > len(cells.centres):
        raise InputError(f"region {text!r:.60}: the log has {len(cells.centres)} different states")
    return choose_cells(text.strip(), cells, [number - 1])


def find_known(log: Log, seed: int = 0) -> Region:
    """The states that the log knows: numbered ones with enough rows, or those near to others."""
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        counts = np.bincount(np.asarray(log.observations), minlength=int(log.observation_space.n))
        known = np.flatnonzero(counts >= LEAST_VISITS)
        return Region(KNOWN, states=tuple(int(state) for state in known))
    count = int(np.clip(len(log) // ROWS_PER_CELL, 2, MOST_CELLS))
    cells, (states, members) = find_cells(log, count, seed)
    scale, centres = np.asarray(cells.scale), np.asarray(cells.centres)
    squares = (((states - centres[members]) / scale) ** 2).sum(axis=1)
    reach = [
        float(np.quantile(squares[members == cell], MEMBERS)) if np.any(members == cell) else -1.0
        for cell in range(len(cells.centres))
    ]
    return Region(KNOWN, cells=Cells(cells.centres, tuple(reach), cells.scale))


def find_cells(
    log: Log, count: int, seed: int
) -> tuple[Cells, tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Clusters of the log's states by k-means, all of them within reach; and rows with theirs.

    Where there are no more different states than clusters, each is one.
    """
    rows = np.linspace(0, len(log) - 1, min(len(log), MOST_ROWS)).astype(np.int64)
    states = np.asarray(log.observations[rows], np.float64)
    scale = np.maximum(states.std(axis=0), 1e-6)
    centres, members = np.unique(states, axis=0, return_inverse=True)
    if len(centres) > count:
        with warnings.catch_warnings():
            # An empty cluster stays where it was: nobody is nearest to it.
            warnings.simplefilter("ignore", UserWarning)
            centres, members = kmeans2(states / scale, count, minit="++", seed=seed)
        centres = centres * scale
    placed = tuple(tuple(float(part) for part in centre) for centre in centres)
    every = Cells(placed, (FAR,) * len(placed), tuple(float(part) for part in scale))
    return every, (states, np.asarray(members, np.int64).ravel())


def choose_cells(name: str, cells: Cells, chosen: list[int]) -> Region:
    """The region of some of the clusters."""
    reach = tuple(one if i in chosen else -1.0 for i, one in enumerate(cells.reach))
    return Region(name, cells=Cells(cells.centres, reach, cells.scale))
