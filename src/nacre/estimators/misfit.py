"""How wrong a model of rewards is, apart from their noise.

A residual is the model's error plus noise. Noise of two rows has nothing to do with one another,
the error of two rows that lie near each other with the same action is nearly the same: the mean
product of such residuals is the mean square of the error. Both rows are of one fold, so that the
fit which predicts them saw neither. In many dimensions even neighbours lie apart; their coordinates
then agree only by a share ρ, and so would an error that is linear in them: the mean product is
divided by it.
"""

from __future__ import annotations

import math

import gymnasium
import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial import cKDTree

from nacre.logs import Log

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_ROWS = 20_000
"""Among which neighbours are looked for."""
MOST_ASKED = 5_000
"""Whose neighbours are looked for."""
LEVEL = 0.95


def bound_misfit(rng: np.random.Generator, log: Log, folds: Integers, residuals: Floats) -> float:
    """Root mean square of E[r | x, a] - m(x, a) over the log, at most; at level 95 %.

    Never above that of the residuals themselves.

    Args:
        rng: Of the rows that are looked at, where there are many.
        log: Episodes of one step.
        folds: (n,) the fold of each row.
        residuals: (n,) r - m(x, a), by fits that did not see the row.
    """
    most = float(np.mean(residuals**2))
    rows = np.sort(rng.permutation(len(log))[:MOST_ROWS])
    places, labels = _place(log, rows)
    labels = labels * (int(folds.max()) + 1) + folds[rows]
    asked, nearest = _pair(rng, places, labels)
    if len(asked) < 2:
        return math.sqrt(most)
    e = residuals[rows]
    products = e[asked] * e[nearest]
    # Two rows may be each other's neighbours: there are at least half as many independent pairs.
    error = float(np.std(products)) * math.sqrt(2.0 / len(products))
    reached = float(np.mean(products)) + float(special.ndtri(LEVEL)) * error
    return math.sqrt(min(most, max(reached, 0.0) / _measure_likeness(places, asked, nearest)))


def _place(log: Log, rows: Integers) -> tuple[Floats, Integers]:
    """(n, d) standardised coordinates, and (n,) numbers that are equal where rows may be paired."""
    columns, labels = [], np.zeros(len(rows), np.int64)
    spaces = (log.observation_space, log.observations), (log.action_space, log.actions)
    for space, values in spaces:
        chosen = np.asarray(values[rows])
        if isinstance(space, gymnasium.spaces.Discrete):
            labels = labels * int(space.n) + chosen.astype(np.int64)
        else:
            columns.append(chosen.reshape(len(rows), -1).astype(np.float64))
    if not columns:
        return np.zeros((len(rows), 0)), labels
    places = np.concatenate(columns, axis=1)
    spread = places.std(axis=0)
    varying = spread > 1e-9
    return (places[:, varying] - places[:, varying].mean(axis=0)) / spread[varying], labels


def _pair(rng: np.random.Generator, places: Floats, labels: Integers) -> tuple[Integers, Integers]:
    """Rows and the nearest other row of each with the same label."""
    asked, nearest = [], []
    shuffled = rng.permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    share = MOST_ASKED / max(len(labels), MOST_ASKED)
    for group in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        if len(group) < 2:
            continue
        some = max(2, round(share * len(group)))
        if not places.shape[1]:
            own, other = group[:some], np.roll(group, 1)[:some]
        else:
            own = group[:some]
            _, found = cKDTree(places[group]).query(places[own], k=2)
            # Where several rows are at one place the first found need not be the row itself.
            other = group[np.where(found[:, 0] == np.arange(some), found[:, 1], found[:, 0])]
        asked.append(own)
        nearest.append(other)
    if not asked:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(asked), np.concatenate(nearest)


def _measure_likeness(places: Floats, asked: Integers, nearest: Integers) -> float:
    """ρ: how far the coordinates of neighbours agree, between a little above 0 and 1."""
    if not places.shape[1]:
        return 1.0
    agreed = np.mean(places[asked] * places[nearest]) / np.mean(places[asked] ** 2)
    return float(np.clip(agreed, 1e-3, 1.0))
