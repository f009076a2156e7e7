"""Partial switches: what the log says of them, and their policies as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.advice.record import DecisionRecord
from nacre.cli.joining import LiveLogs, add_stages
from nacre.cli.policy_flags import NO_FLAGS, PolicyFlags
from nacre.cli.waiting import open_wait, read_log_aloud, read_policy_aloud
from nacre.costs import read_cost
from nacre.errors import InputError
from nacre.policies import deliver_policy
from nacre.rollout.net_curve import NetCurve, find_net_curve
from nacre.rollout.plan_record import CurvePoint
from nacre.rollout.setting import rebuild_setting

FOLDER = "parts"


@dataclass(frozen=True)
class PartInputs:
    """What partial switches are estimated from: what the advice was given.

    Args:
        log: Its log; nothing is estimated without.
        policy: File of its old policy.
        cost_file: Its cost.toml.
        new_policy: File of its candidate.
        regions: Where else a switch is looked at.
        live: Live logs that it had besides.
        flags: What is said about its old policy.
        columns: Which column of its log holds what.
        assignments: Entries of that map.
        cache_dir: Where logs larger than memory are kept.
    """

    log: str | None
    policy: Path | None
    cost_file: Path | None
    new_policy: Path
    regions: tuple[str, ...]
    live: LiveLogs
    flags: PolicyFlags = NO_FLAGS
    columns: Path | None = None
    assignments: tuple[str, ...] = ()
    cache_dir: Path | None = None


def find_parts(record: DecisionRecord, given: PartInputs, *, quiet: bool) -> NetCurve:
    """Partial switches by the log, if it is there.

    Raises:
        InputError: If something is missing, or not what the advice was given.
    """
    if given.log is None:
        if given.regions or given.cost_file is not None or given.live.files:
            raise InputError(
                "--region, --cost and --live: partial switches need --log, --policy and --cost"
            )
        return NetCurve(())
    if given.policy is None or given.cost_file is None:
        raise InputError("--log: partial switches need --policy and --cost as well")
    cost = read_cost(given.cost_file)
    data = read_log_aloud(
        given.log,
        columns=given.columns,
        assignments=given.assignments,
        cache_dir=given.cache_dir,
        quiet=quiet,
    )
    seed = record.seed or 0
    stages = add_stages(data, given.live, seed=seed, quiet=quiet)
    old, new = (
        read_policy_aloud(one, data, flags, seed=seed, quiet=quiet)[0]
        for one, flags in ((given.policy, given.flags), (given.new_policy, NO_FLAGS))
    )
    with open_wait("estimating partial switches", quiet=quiet):
        setting = rebuild_setting(record, stages.log, old, cost, stages.acting, stages.earlier)
        return find_net_curve(setting, new, given.regions)


def deliver_parts(curve: NetCurve, folder: Path, record: DecisionRecord) -> tuple[CurvePoint, ...]:
    """Write them like any policy that is handed over; the points with the names of their files."""
    points: list[CurvePoint] = []
    for number, point in enumerate(curve.points):
        wanted = (point.proven and point.share < 1) or point.is_region
        points.append(point)
        if not (wanted and curve.policies):
            continue
        provenance: dict[str, Any] = {
            "origin": f"a part of the switch to {record.chosen}: {point.name}",
            "candidate": record.chosen,
            "names": record.names,
        }
        stem = f"part-{number + 1}"
        delivered = deliver_policy(curve.policies[number], folder / FOLDER, stem, provenance)
        if f"{stem}.safetensors" in delivered.files:
            points[-1] = point.model_copy(update={"file": f"{FOLDER}/{stem}.safetensors"})
    return tuple(points)
