"""Groups of actions: the partition A₁, …, A_L that tells learning from rearranging.

Continuous actions are grouped by boxes, discrete ones by index sets. Intervals are half-open,
(lower, upper], so the published "first coordinate ≤ 0" is the first group of `sign(0)`.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.costs.partitions import (
    LARGEST_NUMBER,
    check_boxes,
    check_sets,
    name_box,
    name_set,
    numbers,
    whole_numbers,
)
from nacre.errors import InputError, check_arguments
from nacre.policies.distributions import (
    ActionDistribution,
    ContinuousDistribution,
    DiscreteDistribution,
)
from nacre.policies.policy import describe_space

Box = Mapping[int, tuple[float, float]]


@dataclass(frozen=True)
class Atoms:
    """A distribution as weighted points, group by group: what transport plans move.

    Shapes: points (..., m, k), weights (..., m), membership (m, groups). `per_group` is how many
    points each group has, one group after the other and all of one group with the same weight;
    nothing where that is not so.
    """

    points: Array
    weights: Array
    membership: np.ndarray
    per_group: int | None = None


class ActionGroups(abc.ABC):
    """A partition of the action space into L ≥ 2 groups."""

    @abc.abstractmethod
    def mass_of(self, distribution: ActionDistribution) -> Float[Array, "... groups"]:
        """Probability of each group, in closed form."""

    @abc.abstractmethod
    def names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """What to call each group; raises `InputError` if the groups do not fit the space."""

    @abc.abstractmethod
    def atoms(self, distribution: ActionDistribution, key: PRNGKeyArray, n: int) -> Atoms:
        """The distribution as weighted points: exact if discrete, n samples a group if not."""

    @check_arguments
    def check(self, action_space: gymnasium.Space[Any]) -> None:
        """Raise `InputError` unless the groups partition this action space."""
        self.names(action_space)


@check_arguments
@dataclass(frozen=True)
class Boxes(ActionGroups):
    """Boxes (lower, upper] on some coordinates; the other coordinates are free."""

    coordinates: tuple[int, ...]
    lower: tuple[tuple[float, ...], ...]
    upper: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_boxes(self.coordinates, self.lower, self.upper)

    def mass_of(self, distribution: ActionDistribution) -> Float[Array, "... groups"]:
        """Probability of each box."""
        if not isinstance(distribution, ContinuousDistribution):
            raise InputError(
                f"groups by thresholds on coordinates {list(self.coordinates)} need action vectors;"
                " for discrete actions use index sets, e.g. groups.halves()"
            )
        self._check_size(distribution.action_size)
        return distribution.box_mass(self.coordinates, np.array(self.lower), np.array(self.upper))

    def names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Such as "0 < action[1] ≤ 0.5"."""
        if not isinstance(action_space, gymnasium.spaces.Box):
            raise InputError(
                "groups by thresholds need action vectors, the actions are "
                f"{describe_space(action_space)}: use index sets, e.g. groups.halves()"
            )
        self._check_size(math.prod(action_space.shape))
        chosen = list(self.coordinates)
        low, high = action_space.low.ravel()[chosen], action_space.high.ravel()[chosen]
        for lower, upper in zip(self.lower, self.upper, strict=True):
            if np.any(np.array(lower) >= high) or np.any(np.array(upper) < low):
                raise InputError(
                    f"group {name_box(self.coordinates, lower, upper)} lies outside the actions' "
                    f"box {describe_space(action_space)}: drop it or move its thresholds inside"
                )
        return tuple(
            name_box(self.coordinates, lower, upper)
            for lower, upper in zip(self.lower, self.upper, strict=True)
        )

    def atoms(self, distribution: ActionDistribution, key: PRNGKeyArray, n: int) -> Atoms:
        """Equally many samples within each box, weighted by the box's mass."""
        masses = self.mass_of(distribution)
        assert isinstance(distribution, ContinuousDistribution)  # noqa: S101 - mass_of checked it
        n_groups = len(self.lower)
        noise = (*distribution.batch_shape, n_groups, n, distribution.noise_size)
        uniforms = jax.random.uniform(key, noise, masses.dtype)
        points = distribution.transform_within(
            self.coordinates, np.array(self.lower), np.array(self.upper), uniforms
        )
        batch = masses.shape[:-1]
        return Atoms(
            points.reshape(*batch, n_groups * n, points.shape[-1]),
            jnp.repeat(masses / n, n, axis=-1, total_repeat_length=n_groups * n),
            np.repeat(np.eye(n_groups), n, axis=0),
            per_group=n,
        )

    def _check_size(self, size: int) -> None:
        if max(self.coordinates) >= size:
            raise InputError(
                f"groups use action coordinate {max(self.coordinates)}, an action has {size}: use "
                f"coordinates 0 to {size - 1}"
            )


@check_arguments
@dataclass(frozen=True)
class IndexSets(ActionGroups):
    """Sets of discrete actions; `None` stands for the two halves of whatever number there is."""

    sets: tuple[tuple[int, ...], ...] | None

    def __post_init__(self) -> None:
        if self.sets is not None:
            actions = [action for group in self.sets for action in group]
            check_sets(self.sets, max(actions, default=-1) + 1)

    def membership(self, n_actions: int) -> Float[np.ndarray, "actions groups"]:
        """One-hot rows: which group each action belongs to."""
        sets = self.sets
        if sets is None:
            half = n_actions // 2
            if half < 1:
                raise InputError(f"{n_actions} action cannot be halved; groups need at least two")
            sets = (tuple(range(half)), tuple(range(half, n_actions)))
        else:
            check_sets(sets, n_actions)
        matrix = np.zeros((n_actions, len(sets)))
        for i, group in enumerate(sets):
            matrix[list(group), i] = 1.0
        return matrix

    def mass_of(self, distribution: ActionDistribution) -> Float[Array, "... groups"]:
        """Sum of probabilities in each set."""
        if not isinstance(distribution, DiscreteDistribution):
            raise InputError(
                "groups by index sets need discrete actions; for action vectors use thresholds, "
                "e.g. groups.sign(0)"
            )
        return distribution.set_mass(self.membership(distribution.n_actions))

    def names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Such as "actions 0-3, 7"."""
        if not isinstance(action_space, gymnasium.spaces.Discrete):
            raise InputError(
                "groups by index sets need discrete actions, the actions are "
                f"{describe_space(action_space)}: use thresholds, e.g. groups.sign(0)"
            )
        matrix = self.membership(int(action_space.n))
        return tuple(name_set(np.flatnonzero(column).tolist()) for column in matrix.T)

    def atoms(self, distribution: ActionDistribution, key: PRNGKeyArray, n: int) -> Atoms:
        """Every action with its probability."""
        self.mass_of(distribution)
        assert isinstance(distribution, DiscreteDistribution)  # noqa: S101 - mass_of checked it
        probabilities = distribution.probabilities
        points = jnp.arange(distribution.n_actions, dtype=probabilities.dtype)[:, None]
        return Atoms(points, probabilities, self.membership(distribution.n_actions))


@check_arguments
def sign(coordinate: int = 0) -> Boxes:
    """Two groups: the coordinate ≤ 0, and > 0, as in the published runs."""
    return thresholds({coordinate: [0.0]})


@check_arguments
def thresholds(cuts: Mapping[int, Sequence[float]]) -> Boxes:
    """Cut coordinates at thresholds; every cell of the resulting grid is a group."""
    coordinates = whole_numbers(cuts, "action coordinate")
    intervals = []
    for coordinate in sorted(coordinates):
        values = numbers(cuts[coordinate], f"thresholds of coordinate {coordinate}")
        if not all(math.isfinite(value) for value in values):
            raise InputError(
                f"groups: thresholds {values} of coordinate {coordinate} are not all finite; the "
                "outer groups reach to infinity by themselves"
            )
        if any(b <= a for a, b in itertools.pairwise(values)):
            raise InputError(
                f"groups: thresholds {values} of coordinate {coordinate} do not increase; sort "
                "them and drop repeats"
            )
        intervals.append(list(itertools.pairwise([-math.inf, *values, math.inf])))
    n_groups = math.prod(len(cells) for cells in intervals)
    if n_groups < 2:
        raise InputError("groups: no thresholds given; at least one cut is needed for two groups")
    if n_groups > LARGEST_NUMBER:
        raise InputError(f"groups: the thresholds make {n_groups} groups; use fewer of them")
    cells = list(itertools.product(*intervals))
    return Boxes(
        tuple(sorted(coordinates)),
        tuple(tuple(low for low, _ in cell) for cell in cells),
        tuple(tuple(high for _, high in cell) for cell in cells),
    )


@check_arguments
def boxes(groups: Sequence[Box]) -> Boxes:
    """One box a group: coordinate → (lower, upper], unnamed coordinates free."""
    named = {coordinate for group in groups for coordinate in group}
    coordinates = tuple(sorted(whole_numbers(named, "action coordinate")))
    bounds = []
    for i, group in enumerate(groups):
        box = []
        for coordinate in coordinates:
            pair = group.get(coordinate, (-math.inf, math.inf))
            values = numbers(pair, f"bounds of coordinate {coordinate} in group {i}")
            if len(values) != 2:
                raise InputError(
                    f"groups: bounds {values} of coordinate {coordinate} in group {i}; give a "
                    "lower and an upper one"
                )
            box.append(values)
        bounds.append(box)
    return Boxes(
        coordinates,
        tuple(tuple(low for low, _ in box) for box in bounds),
        tuple(tuple(high for _, high in box) for box in bounds),
    )


@check_arguments
def indices(sets: Sequence[Sequence[int]]) -> IndexSets:
    """Groups of discrete actions given by their numbers."""
    return IndexSets(tuple(tuple(whole_numbers(group, "action")) for group in sets))


def halves() -> IndexSets:
    """The first and the second half of the discrete actions, as in the published runs."""
    return IndexSets(None)
