"""Partial switches on Hopper and on traffic lights: their net curves against simulation.

The new policy is the package's own. The old one is the same with more noise, so that mixtures lie
between two policies that both work. The truth of each mixture is simulated once for a world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import AdviceConfig
from nacre.advice.setting import Setting
from nacre.costs import SwitchingCost, TransportCost, groups
from nacre.estimators.simulation import simulate_value
from nacre.experiments.old_policies import SHIPPED
from nacre.experiments.records import Record, read_record, write_record
from nacre.learners.scale_noise import scale_noise
from nacre.policies import read_policy
from nacre.policies.mixture import mix_policies
from nacre.policies.policy import Policy
from nacre.rollout.net_curve import find_net_curve
from nacre.simulators.collection import collect_log
from nacre.simulators.registry import World, find_world

SHARES = (0.1, 0.35, 1.0)
DISCOUNT = 0.99
TRUTH_SEED = 1_000_000
"""Truths are simulated with seeds that no log is collected with."""


@dataclass(frozen=True)
class Case:
    """A world of the study.

    Args:
        name: Of the world.
        policy: The new policy's file among those of the package.
        noise: How many times as much of it the old policy has.
        rows: Of a log.
        weight: Of moved mass.
        truth_episodes: From which a true value is found.
    """

    name: str
    policy: str
    noise: float
    rows: int
    weight: float
    truth_episodes: int


CASES = {
    "hopper": Case("Hopper-v4", "hopper_good", 4.0, 10_000, 20.0, 200),
    "traffic": Case("traffic", "traffic_good", 10.0, 5_000, 5.0, 24),
}


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A log of each world for each seed."""
    return [{"world": name, "seed": seed} for seed in seeds for name in CASES]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """What the net curve of one log says, and what is true."""
    case = CASES[run["world"]]
    world = find_world(case.name)
    old, new = make_policies(case)
    log = collect_log(world, old, case.rows, seed=run["seed"], uniform_steps=0)
    setting = Setting(
        log,
        old,
        make_cost(case, world),
        np.asarray(log.starts),
        False,
        AdviceConfig(learners=(), discount=DISCOUNT),
        0.0,
        run["seed"],
    )
    curve = find_net_curve(setting, new, shares=SHARES)
    policies = [mix_policies(old, new, share) for share in SHARES]
    truths = find_truths(case, world, [old, *policies], cache / f"{run['world']}.json")
    points = []
    for point, (gain, error) in zip(curve.points, truths, strict=True):
        points.append(
            {
                "share": point.share,
                "cost": point.cost,
                "net_gain": point.net_gain.mean,
                "low": point.net_gain.low,
                "high": point.net_gain.high,
                "proven": point.proven,
                "informative": point.informative,
                "truth": gain - point.cost,
                "truth_error": error,
            }
        )
    return run | {"episodes": log.n_episodes, "points": points}


def make_policies(case: Case) -> tuple[Policy, Policy]:
    """The old and the new policy of a world."""
    new = read_policy(SHIPPED / f"{case.policy}.safetensors")
    old = scale_noise(new, case.noise)
    assert old is not None  # noqa: S101 - the package's policies have noise
    return old, new


def make_cost(case: Case, world: World) -> SwitchingCost:
    """Moved mass between two halves of the actions, over the log's states."""
    halves = groups.halves() if world.signature.discrete_actions else groups.sign(0)
    return TransportCost(case.weight, 0.0, halves)


def find_truths(
    case: Case, world: World, policies: Sequence[Policy], kept: Path
) -> list[tuple[float, float]]:
    """True gains over the first policy with their standard errors; the same for all logs."""
    if kept.exists():
        return [tuple(pair) for pair in read_record(kept)["gains"]]
    returns = [
        simulate_value(
            world,
            policy,
            discount=DISCOUNT,
            n_episodes=case.truth_episodes,
            seed=TRUTH_SEED,
            nominal=False,
        ).returns
        for policy in policies
    ]
    gains = [one - returns[0] for one in returns[1:]]
    found = [(float(one.mean()), float(one.std(ddof=1) / np.sqrt(len(one)))) for one in gains]
    write_record(kept, {"gains": found})
    return found


def write_table(records: Sequence[Record]) -> str:
    """One row for each world and share."""
    lines = [
        "| world | share | true net gain | logs | truth within the band | proven "
        "| wrongly proven |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for world in CASES:
        mine = [one for one in records if one["world"] == world]
        for number, share in enumerate(SHARES if mine else ()):
            points = [one["points"][number] for one in mine]
            truth = float(np.mean([point["truth"] for point in points]))
            bounded = [one for one in points if one["low"] is not None and one["high"] is not None]
            covered = sum(one["low"] <= one["truth"] <= one["high"] for one in bounded)
            proven = [point for point in points if point["proven"]]
            wrong = sum(point["truth"] <= 0 for point in proven)
            lines.append(
                f"| {world} | {share:.0%} | {truth:.2f} ± {points[0]['truth_error']:.2f} | "
                f"{len(points)} | {covered} of {len(bounded)} | {len(proven)} | {wrong} |"
            )
    return "\n".join(lines)
