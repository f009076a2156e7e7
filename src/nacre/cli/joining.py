"""Which episodes `nacre advise` is about: from one on, and those of a live log."""

from __future__ import annotations

from dataclasses import dataclass
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
from nacre.rollout.plan_record import Plan, read_plan


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


def find_plan(live: str | None, plan_file: Path | None) -> Plan | None:
    """The plan that a live log belongs to; None where there is no live log."""
    if (live is None) != (plan_file is None):
        raise InputError("--live and --plan: give both, or none of them")
    return None if plan_file is None else read_plan(plan_file)


def find_old_policy(plan: Plan | None, plan_file: Path | None, given: str | None) -> str:
    """The old policy: as given, else that of the plan, else a clone."""
    if given is not None or plan is None or plan_file is None or plan.old_policy.file is None:
        return given or "clone"
    return str(_find_folder(plan_file) / plan.old_policy.file)


def add_stages(
    log: Log,
    live: str | None,
    plan: Plan | None,
    plan_file: Path | None,
    *,
    stage: int,
    seed: int,
    quiet: bool,
) -> Stages:
    """The log with the live log behind it.

    Raises:
        InputError: If the two do not belong together, or the plan has no new policy.
    """
    if live is None or plan is None or plan_file is None:
        return Stages(log)
    known = plan.advice.get("seed") or 0
    if known != seed:
        raise InputError(
            f"--seed {seed}: the log was divided with seed {known} when the new policy was learned "
            f"from one part of it; give --seed {known}"
        )
    new = load_policies(plan, _find_folder(plan_file), {})["new"]
    if new is None:
        raise InputError(
            f"{plan_file}: has no new policy beside it; write the plan with --out, from an advice "
            "that was written with --out"
        )
    with open_wait(f"reading {live}", quiet=quiet):
        data = read_log(
            live, observation_space=log.observation_space, action_space=log.action_space
        )
    joined = join_live(plan, log, data, stage, live)
    candidate = Candidate(plan.candidate, new, "the new policy of the plan")
    return Stages(joined.log, (new,), joined.earlier, joined.look, (candidate,))


def _find_folder(plan_file: Path) -> Path:
    return plan_file if plan_file.is_dir() else plan_file.parent
