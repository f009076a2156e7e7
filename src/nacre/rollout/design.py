"""Which unit runs which policy: sets of units, in each of which as many as planned run the new one.

A unit is an episode, a block of episodes in time (a switchback), or a site in a period. Units are
taken in sets, one after the other; in each set k of m run the new policy, drawn at random. So every
set compares both policies under the same circumstances, and a slow change of the world does not
matter. Which units they are follows from the seed, the stage and the number of the set alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError

UnitKind = Literal["episode", "block", "site"]
UNITS: tuple[UnitKind, ...] = ("episode", "block", "site")
LARGEST_SET = 20
"""Shares are rounded to fractions with denominators up to this."""


@dataclass(frozen=True)
class Design:
    """How units are assigned in one stage.

    Args:
        unit: What is assigned: an episode, a block of consecutive episodes, or a site in a period.
        set_size: Units in a set, m.
        new_per_set: How many of them run the new policy, k.
        episodes_per_unit: Episodes of a unit.
        gap: First episodes of a unit that are not counted: the policy before still acts on them.
        seed: Of the plan.
        stage: Number of the stage, from 1.
    """

    unit: UnitKind
    set_size: int
    new_per_set: int
    episodes_per_unit: int = 1
    gap: int = 0
    seed: int = 0
    stage: int = 1

    def __post_init__(self) -> None:
        problems = []
        if not 0 < self.new_per_set <= self.set_size:
            problems.append(
                f"new_per_set = {self.new_per_set}: give a number from 1 to {self.set_size}"
            )
        if not 0 <= self.gap < self.episodes_per_unit:
            problems.append(
                f"gap = {self.gap}: a unit has {self.episodes_per_unit} episodes, of which at "
                "least one has to count; give a smaller gap or longer blocks"
            )
        if problems:
            raise InputError(problems)

    @property
    def share(self) -> float:
        """Share of units that run the new policy."""
        return self.new_per_set / self.set_size

    @property
    def complete(self) -> bool:
        """Whether no unit runs the old policy any more."""
        return self.new_per_set == self.set_size

    @property
    def episodes_per_set(self) -> int:
        """Episodes that one set takes, gaps included."""
        return self.set_size * self.episodes_per_unit

    @property
    def score_factor(self) -> float:
        """Variance of a set's score for units of variance one: 1/k + 1/(m - k)."""
        if self.complete:
            return 1.0 / self.set_size
        return 1.0 / self.new_per_set + 1.0 / (self.set_size - self.new_per_set)

    def draw_set(self, number: int) -> NDArray[np.bool_]:
        """(m,) which units of a set run the new policy."""
        rng = np.random.default_rng([self.seed, self.stage, number])
        chosen = np.zeros(self.set_size, bool)
        chosen[rng.permutation(self.set_size)[: self.new_per_set]] = True
        return chosen

    def draw(self, n_units: int) -> NDArray[np.bool_]:
        """(n,) the same for the first units, one set after the other."""
        sets = -(-n_units // self.set_size)
        drawn = [self.draw_set(number) for number in range(sets)]
        return np.concatenate(drawn)[:n_units] if drawn else np.zeros(0, bool)


def choose_design(
    share: float,
    unit: UnitKind,
    *,
    sites: int | None = None,
    episodes_per_unit: int = 1,
    gap: int = 0,
    seed: int = 0,
    stage: int = 1,
) -> Design:
    """The design whose share is nearest to the one asked for.

    Raises:
        InputError: If the share is no share, or there are too few sites for two arms.
    """
    if not 0.0 < share <= 1.0:
        raise InputError(f"stage {share:g}: a share of units; give a number above 0, up to 1")
    if unit == "site":
        if sites is None or sites < 2:
            raise InputError(
                f"sites = {sites}: sites are compared with each other; give --sites 2 or more"
            )
        new = sites if share >= 1.0 else min(max(round(share * sites), 1), sites - 1)
        return Design(unit, sites, new, episodes_per_unit, gap, seed, stage)
    nearest = Fraction(share).limit_denominator(LARGEST_SET)
    least, most = Fraction(1, LARGEST_SET), Fraction(LARGEST_SET - 1, LARGEST_SET)
    nearest = Fraction(1) if share >= 1.0 else min(max(nearest, least), most)
    return Design(unit, nearest.denominator, nearest.numerator, episodes_per_unit, gap, seed, stage)


def list_assignment(design: Design, n_units: int) -> Iterator[dict[str, int]]:
    """One row for each unit: its number, its set, its place there, and its arm (1 is new).

    A site's row has its number among the sites as place, and its period as set.
    """
    for unit, new in enumerate(design.draw(n_units)):
        number, place = divmod(unit, design.set_size)
        yield {"unit": unit, "set": number, "place": place, "arm": int(new)}


def count_units(design: Design, sets: float) -> int:
    """Units in so many sets."""
    return math.ceil(sets) * design.set_size
