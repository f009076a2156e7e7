"""The live log as units of the plan: which are complete, which are missing, what ran in them.

The live log is a log like any other, with up to five further columns, the same in all rows of an
episode: `unit`, the number that `nacre plan assign` gave; `arm`, what ran: 0 the old policy, 1 the
new one; `stage`; `time`, any clock; and for sites `period` and `site` instead of `unit`.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.diagnostics.duplicates import count_earlier, find_duplicates
from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.acting import read_episode_numbers
from nacre.rollout.design import Design
from nacre.rollout.live_files import drop_open_end
from nacre.rollout.sequences import Floats

Ints = NDArray[np.int64]

LARGEST_PAUSE = 10.0
"""Times between episodes beyond this many medians are told."""
LARGEST_REPEATED = 0.01
"""Share of episodes that may be equal to earlier ones."""
MOST_SKIPPED = 10_000
"""Units that a log may skip, whatever its size; what is missing is told by a check."""


@dataclass(frozen=True)
class LiveUnits:
    """Episodes of one stage, by their units.

    Args:
        log: Episodes that are over, of this stage.
        unit: (E,) the unit of each episode.
        planned: (E,) whether the plan has the new policy there.
        arm: (E,) whether the new policy ran there, None if the log does not say.
        missing: Units that the log skips.
        notes: What to know, in words.
    """

    log: Log
    unit: Ints
    planned: NDArray[np.bool_]
    arm: NDArray[np.bool_] | None
    missing: Ints
    notes: tuple[str, ...]

    @property
    def crossed(self) -> Ints:
        """Units that ran another policy than planned."""
        if self.arm is None:
            return np.zeros(0, np.int64)
        return np.unique(self.unit[self.arm != self.planned])

    @property
    def n_units(self) -> int:
        """Units that the log has, or should have."""
        return int(self.unit.max()) + 1 if len(self.unit) else 0

    def select(self, new: bool) -> Log | None:
        """The episodes of one arm, as it ran or else as planned; None if there are none."""
        arm = self.planned if self.arm is None else self.arm
        chosen = np.flatnonzero(arm == new)
        return self.log.select(chosen) if len(chosen) else None

    def fill_sets(self, outcomes: Floats, design: Design) -> tuple[Floats, NDArray[np.bool_]]:
        """Outcomes (sets, m) of the sets whose units are all complete, and which are new.

        A unit's outcome is the mean of its episodes but for the gap.
        """
        m, e = design.set_size, design.episodes_per_unit
        n_sets = self.n_units // m
        place = count_earlier(self.unit)
        counted = place >= design.gap
        size = max(n_sets * m, self.n_units)
        seen = np.bincount(self.unit, minlength=size)
        sums = np.bincount(self.unit[counted], outcomes[counted], minlength=size)
        means = sums / max(1, e - design.gap)
        whole = (seen == e)[: n_sets * m].reshape(n_sets, m).all(axis=1)
        drawn = design.draw(n_sets * m).reshape(n_sets, m)
        return means[: n_sets * m].reshape(n_sets, m)[whole], drawn[whole]


def read_units(log: Log, design: Design, source: str = "live log") -> LiveUnits:
    """The episodes of the design's stage as units.

    Raises:
        InputError: If the log is out of order, has a unit twice, or a column holds what it cannot.
    """
    notes = []
    log, dropped = drop_open_end(log)
    if dropped:
        notes.append("the last episode has no end yet: it is left out")
    elif log.n_episodes == 1 and log.n_open_ends:
        raise InputError(f"{source}: has no whole episode yet; wait for more")
    log = _select_stage(log, design, source)
    _check_time(log, source, notes)
    unit = _find_units(log, design, source)
    _check_numbers(unit, source)
    _check_order(unit, design, source)
    _check_counts(unit, design, source)
    n_units = int(unit.max()) + 1
    missing = np.setdiff1d(np.arange(n_units), unit)
    planned = design.draw(n_units)[unit]
    arm = _read_arm(log, source)
    return LiveUnits(log, unit, planned, arm, missing, tuple(notes))


def _select_stage(log: Log, design: Design, source: str) -> Log:
    if "stage" not in log.columns:
        return log
    stage = read_episode_numbers(log, "stage", source)
    chosen = np.flatnonzero(stage == design.stage)
    if not len(chosen):
        there = ", ".join(str(one) for one in np.unique(stage)[:10])
        raise InputError(
            f"{source}: column 'stage' has no episode of stage {design.stage}, found {there}; give "
            "--stage, or log the stage's number, counted from 1"
        )
    return log if len(chosen) == log.n_episodes else log.select(chosen)


def _find_units(log: Log, design: Design, source: str) -> Ints:
    if "unit" in log.columns:
        return read_episode_numbers(log, "unit", source)
    if design.unit == "site":
        for name in ("period", "site"):
            if name not in log.columns:
                raise InputError(
                    f"{source}: has no column {name!r}; units are sites: give the columns period "
                    "and site, or unit as nacre plan assign numbers them"
                )
        site = read_episode_numbers(log, "site", source)
        if site.max() >= design.set_size:
            raise InputError(
                f"{source}: column 'site' has {site.max()}; the plan has {design.set_size} sites, "
                "counted from 0"
            )
        return read_episode_numbers(log, "period", source) * design.set_size + site
    _check_repeats(log, source)
    return np.arange(log.n_episodes) // design.episodes_per_unit


def _check_repeats(log: Log, source: str) -> None:
    """Rows that were written twice would be units of their own where no column numbers them.

    Vectors hardly repeat by chance; numbered states do, and there nothing can be told.
    """
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        return
    found = find_duplicates(log)
    if found.n_repeated > LARGEST_REPEATED * log.n_episodes:
        first = int(np.argmax(count_earlier(found.clusters) > 0))
        raise InputError(
            f"{source}: {found.n_repeated} of {log.n_episodes} episodes repeat earlier ones, the "
            f"first is episode {first}: leave repeated rows out, or log the column unit"
        )


def _check_numbers(unit: Ints, source: str) -> None:
    """Numbers of units follow each other; a clock or an identifier is none."""
    if unit.max() > MOST_SKIPPED + 10 * len(unit):
        place = int(np.argmax(unit))
        raise InputError(
            f"{source}: episode {place} has unit {unit[place]}, but there are {len(unit)} episodes;"
            " log the numbers that nacre plan assign wrote, counted from 0"
        )


def _check_order(unit: Ints, design: Design, source: str) -> None:
    """Sites report in any order within a period; everything else comes one after the other."""
    steps = unit // design.set_size if design.unit == "site" else unit
    back = np.flatnonzero(np.diff(steps) < 0)
    if len(back):
        place = int(back[0]) + 1
        raise InputError(
            f"{source}: episode {place} has unit {unit[place]} after unit {unit[place - 1]}: the "
            "log is out of order; sort its episodes by time"
        )


def _check_counts(unit: Ints, design: Design, source: str) -> None:
    counts = np.bincount(unit)
    most = design.episodes_per_unit
    if counts.max() > most:
        which = int(np.argmax(counts > most))
        raise InputError(
            f"{source}: unit {which} has {counts[which]} episodes, the plan has {most}: "
            "leave repeated rows out, or plan with --block as many as there are"
        )


def _check_time(log: Log, source: str, notes: list[str]) -> None:
    """The optional clock: never back, and long pauses are told."""
    if "time" not in log.columns:
        return
    clock = read_numbers(log, "time", source)[log.offsets[:-1]]
    steps = np.diff(clock)
    if np.any(steps < 0):
        place = int(np.argmax(steps < 0)) + 1
        raise InputError(
            f"{source}: episode {place} begins at time {clock[place]:g}, before the episode in "
            f"front of it ({clock[place - 1]:g}): the log is out of order; sort it by time"
        )
    usual = float(np.median(steps)) if len(steps) else 0.0
    long = np.flatnonzero(steps > LARGEST_PAUSE * usual) if usual > 0 else np.zeros(0, int)
    if len(long):
        place = int(long[0])
        notes.append(
            f"gap in time: nothing between {clock[place]:g} and {clock[place + 1]:g} "
            f"(episodes {place} and {place + 1})"
            + (f", and {len(long) - 1} more gaps" if len(long) > 1 else "")
        )


def read_numbers(log: Log, name: str, source: str) -> Floats:
    """(N,) a column of finite numbers.

    Raises:
        InputError: With the first row that holds none.
    """
    try:
        values = np.asarray(log.columns[name], np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{source}: column {name!r:.60} holds no numbers; log numbers") from None
    wrong = np.flatnonzero(~np.isfinite(values))
    if values.ndim != 1 or len(wrong):
        row = int(wrong[0]) if len(wrong) else 0
        raise InputError(
            f"{source}: column {name!r:.60}, row {row}: found {values[row]}; give one number a row"
        )
    return values


def _read_arm(log: Log, source: str) -> NDArray[np.bool_] | None:
    if "arm" not in log.columns:
        return None
    arm = read_episode_numbers(log, "arm", source)
    if arm.max() > 1:
        raise InputError(
            f"{source}: column 'arm' has {arm.max()}; give 0 for the old policy and 1 for the new"
        )
    return arm.astype(bool)
