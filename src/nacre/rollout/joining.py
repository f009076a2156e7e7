"""Learning from the stages: the live log joins the old one, for a new advice.

Episodes of the live log follow those of the old log. The column `acting_policy` says who acted: 0
the old policy, 1 the new one. Episodes of a unit's gap are left out: the policy before still acts
on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nacre.diagnostics.duplicates import count_earlier
from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.acting import ACTING, read_episode_numbers
from nacre.rollout.live_files import join_logs
from nacre.rollout.live_log import read_units
from nacre.rollout.plan_record import Plan


@dataclass(frozen=True)
class Joined:
    """What a new advice is given.

    Args:
        log: Old log and live log, one after the other.
        earlier: Episodes of the old log.
        look: Which look at the log this is.
        live: Episodes of the live log, those of the old and those of the new policy.
    """

    log: Log
    earlier: int
    look: int
    live: tuple[int, int]


def join_live(
    plan: Plan, log: Log, live: Log, stage_number: int = 1, source: str = "live log"
) -> Joined:
    """The log of an advice, followed by the live log of its plan's stages.

    Every look at the log counts: that of the plan's advice, that at parts of the switch if the plan
    has them, and the watch over each stage, which may have ended it early.

    Args:
        plan: The plan.
        log: The log of the plan's advice.
        live: The live log; all stages of its column `stage`.
        stage_number: Its stage if it has no such column.
        source: What the live log is called in messages.

    Raises:
        InputError: If the log is not the plan's, the live log is not as planned, or the two do not
            fit together.
    """
    _check_log(plan, log)
    numbers = [stage_number]
    if "stage" in live.columns:
        numbers = np.unique(read_episode_numbers(live, "stage", source)).tolist()
    parts = [(log, np.zeros(log.n_episodes, np.int64))]
    for number in numbers:
        parts += _take_stage(plan, live, number, source)
    look = int(plan.advice.get("look", 1)) + 1 + len(numbers) + bool(plan.curve)
    acted = np.concatenate([some for _, some in parts[1:]] or [np.zeros(0, np.int64)])
    if not len(acted):
        raise InputError(f"{source}: has no whole episode behind a gap yet; wait for more")
    new = int(acted.sum())
    who = np.concatenate([np.repeat(some, one.episode_lengths) for one, some in parts])
    joined = join_logs([one for one, _ in parts], source, {ACTING: who})
    return Joined(joined, log.n_episodes, look, (len(acted) - new, new))


def _take_stage(
    plan: Plan, live: Log, number: int, source: str
) -> list[tuple[Log, NDArray[np.int64]]]:
    """The episodes of one stage that count, and who acted in each: as logged, else as planned."""
    design = plan.design(plan.find_stage(number))
    units = read_units(live, design, source)
    counted = np.flatnonzero(count_earlier(units.unit) >= design.gap)
    arm = units.planned if units.arm is None else units.arm
    acted = arm[counted].astype(np.int64)
    return [(units.log.select(counted), acted)] if len(counted) else []


def _check_log(plan: Plan, log: Log) -> None:
    """Raise `InputError` unless the log is that of the plan's advice.

    The new policy was learned from one part of it, which has to be found again.
    """
    origin = dict(plan.advice.get("log", {}))
    known = origin.get("sha256")
    if origin.get("acting"):
        raise InputError(
            "--plan: its advice had live logs of its own, and live logs of two plans are not "
            "joined; give the plan of the first advice, and --live for each of its stages"
        )
    if known is not None and known != log.fingerprint():
        raise InputError(
            "--log: is not the log of the plan's advice; give the one that nacre advise was given"
        )
