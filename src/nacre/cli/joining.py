"""Which episodes `nacre advise` is about: from one on, and those of live logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nacre.cli.rollout import load_policies
from nacre.cli.waiting import open_wait
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.logs import Log, read_log
from nacre.logs.acting import select_own
from nacre.policies import Policy
from nacre.rollout.joining import join_live
from nacre.rollout.live_files import join_files
from nacre.rollout.plan_record import Plan, read_plan


@dataclass(frozen=True)
class LiveLogs:
    """Live logs of a roll-out, as they are given with --live, --plan and --stage.

    Args:
        files: Their files.
        plan_file: The plan or its folder.
        stages: The stage of each, asked where a file has no such column; 1, 2, … if not given.
    """

    files: tuple[str, ...] = ()
    plan_file: Path | None = None
    stages: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.files) != (self.plan_file is not None):
            raise InputError("--live and --plan: give both, or none of them")
        if self.stages and len(self.stages) != len(self.files):
            raise InputError(
                f"--stage: given {len(self.stages)} times, but --live {len(self.files)} times; "
                "give one for each"
            )

    @classmethod
    def of(
        cls, files: Sequence[str] | None, plan_file: Path | None, stages: Sequence[int] | None
    ) -> LiveLogs:
        """As options give them."""
        return cls(tuple(files or ()), plan_file, tuple(stages or ()))

    @cached_property
    def plan(self) -> Plan | None:
        """The plan that they belong to; None where there are none."""
        return None if self.plan_file is None else read_plan(self.plan_file)

    @property
    def folder(self) -> Path:
        """Where the plan lies."""
        found = self.plan_file or Path()
        return found if found.is_dir() else found.parent

    def read(self, log: Log) -> tuple[Log, int]:
        """All of them as one, in the spaces of the log, and the stage of the first."""
        numbers = self.stages or tuple(range(1, len(self.files) + 1))
        files = read_live(
            self.files, observation_space=log.observation_space, action_space=log.action_space
        )
        return join_files(files, numbers), numbers[0]


@dataclass(frozen=True)
class Stages:
    """The log of an advice, with the stages of a roll-out if there were any.

    Args:
        log: All episodes.
        acting: Policies other than the old one that acted in them.
        earlier: Episodes that the plan's advice was about.
        look: Which look at the log this is; None if nothing is known of others.
        candidates: The new policy of the plan.
    """

    log: Log
    acting: tuple[Policy, ...] = ()
    earlier: int = 0
    look: int | None = None
    candidates: tuple[Candidate, ...] = ()

    def log_for(self, policy: str) -> Log:
        """What an old policy is read with: a clone is one of its own episodes."""
        return select_own(self.log) if policy in ("clone", "columns") else self.log

    def count_look(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Changes of the configuration, with the look that this is at least."""
        if self.look is None:
            return changes
        return changes | {"look": max(self.look, changes.get("look", 1))}


def take_since(log: Log, first: int) -> Log:
    """The log from an episode on."""
    if first >= log.n_episodes:
        raise InputError(
            f"--since {first}: the log has {log.n_episodes} episodes; give a smaller number"
        )
    return log if first == 0 else log.select(range(first, log.n_episodes))


def find_old_policy(live: LiveLogs, given: str | None) -> str:
    """The old policy: as given, else that of the plan, else a clone."""
    if given is not None or live.plan is None or live.plan.old_policy.file is None:
        return given or "clone"
    return str(live.folder / live.plan.old_policy.file)


def add_stages(log: Log, live: LiveLogs, *, seed: int, quiet: bool) -> Stages:
    """The log with the live logs behind it.

    Raises:
        InputError: If they do not belong together, or the plan has no new policy.
    """
    plan = live.plan
    if plan is None:
        return Stages(log)
    known = plan.advice.get("seed") or 0
    if known != seed:
        raise InputError(
            f"--seed {seed}: the log was divided with seed {known} when the new policy was learned "
            f"from one part of it; give --seed {known}"
        )
    new = load_policies(plan, live.folder, {})["new"]
    if new is None:
        raise InputError(
            f"{live.plan_file}: has no new policy beside it; write the plan with --out, from an "
            "advice that was written with --out"
        )
    source = " and ".join(live.files)
    with open_wait(f"reading {source}", quiet=quiet):
        data, stage = live.read(log)
    joined = join_live(plan, log, data, stage, source)
    candidate = Candidate(plan.candidate, new, "the new policy of the plan")
    return Stages(joined.log, (new,), joined.earlier, joined.look, (candidate,))


def read_live(paths: Sequence[str], **options: Any) -> dict[str, Log]:
    """Live logs by the names of their files.

    Raises:
        InputError: If one cannot be read, or is given twice.
    """
    found: dict[str, Log] = {}
    for path in paths:
        if path in found:
            raise InputError(f"{path}: is given twice; give every live log once")
        found[path] = read_log(path, **options)
    return found
