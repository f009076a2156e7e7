"""Partial switches where the truth is known: are bands and proven steps right?

Random worlds of six states and three actions. The new policy improves the old one by noisy values,
and the cost is near the true gain of the whole switch, so that most of them are undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import AdviceConfig
from nacre.advice.setting import Setting
from nacre.costs import TransportCost, groups
from nacre.estimators import exact
from nacre.estimators.tabular import Tabular
from nacre.experiments.records import Record
from nacre.policies.tabular import TabularPolicy
from nacre.rollout.net_curve import find_net_curve
from nacre.rollout.sequences import Floats
from nacre.simulators import FiniteWorld

STATES, ACTIONS, DISCOUNT = 6, 3, 0.8
ROWS, HORIZON = 3000, 25
WORLDS = 2
"""Worlds of each seed."""
NEAR = (0.6, 1.4)
"""The cost of the whole switch, as a multiple of its true gain."""
LEAST_COST = 0.05


@dataclass(frozen=True)
class Case:
    """A world, both policies, and the weight of moved mass."""

    world: FiniteWorld
    old: Floats
    new: Floats
    weight: float


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Two worlds for each seed."""
    return [{"seed": seed, "world": world} for seed in seeds for world in range(WORLDS)]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """What the net curve of one world says, and what is true."""
    case = draw_case(np.random.default_rng([run["seed"], run["world"]]))
    log = case.world.sample_log(case.old, ROWS, seed=run["seed"], horizon=HORIZON)
    sets = [[action] for action in range(ACTIONS)]
    setting = Setting(
        log,
        TabularPolicy.from_probabilities(case.old),
        TransportCost(case.weight, 0.0, groups.indices(sets)),
        np.asarray(log.starts),
        False,
        AdviceConfig(learners=(), estimators=(Tabular(),), discount=DISCOUNT),
        0.0,
        run["seed"],
    )
    curve = find_net_curve(setting, TabularPolicy.from_probabilities(case.new))
    before = float(exact.start_value(case.world, case.old))
    truths = [
        float(exact.start_value(case.world, np.asarray(policy.table, np.float64))) - before
        for policy in curve.policies
        if isinstance(policy, TabularPolicy)
    ]
    net = [truth - point.cost for truth, point in zip(truths, curve.points, strict=True)]
    bounds = [(point.net_gain.low, point.net_gain.high) for point in curve.points]
    covered = [
        low is not None and high is not None and low <= value <= high
        for value, (low, high) in zip(net, bounds, strict=True)
    ]
    proven = [value for value, point in zip(net, curve.points, strict=True) if point.proven]
    low, high = next(
        one for one, point in zip(bounds, curve.points, strict=True) if point.share >= 1.0
    )
    return run | {
        "points": len(net),
        "covered": int(sum(covered)),
        "undecided": bool(low is None or high is None or low <= 0 <= high),
        "proven": len(proven),
        "wrong": int(sum(value <= 0 for value in proven)),
        "step": "" if curve.proven is None else curve.proven.name,
    }


def draw_case(rng: np.random.Generator) -> Case:
    """A random world, a random old policy, and a new one that is mostly better."""
    world = FiniteWorld(
        transition=rng.dirichlet(np.full(STATES, 0.5), (STATES, ACTIONS)),
        reward=rng.normal(size=(STATES, ACTIONS)),
        discount=DISCOUNT,
        start=np.full(STATES, 1.0 / STATES),
    )
    old = _normalise(rng.gamma(2.0, size=(STATES, ACTIONS)))
    better = world.reward + rng.normal(scale=0.7, size=world.reward.shape)
    new = _normalise(old * np.exp(1.5 * better))
    gain = float(exact.start_value(world, new)) - float(exact.start_value(world, old))
    moved = float(np.abs(new - old).sum(axis=1).mean() / 2)
    cost = max(gain * rng.uniform(*NEAR), LEAST_COST)
    return Case(world, old, new, cost / moved)


def _normalise(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def write_table(records: Sequence[Record]) -> str:
    """All worlds in one row."""
    points = sum(one["points"] for one in records)
    covered = sum(one["covered"] for one in records)
    open_ones = [one for one in records if one["undecided"]]
    helped = sum(one["proven"] > 0 for one in open_ones)
    wrong = sum(one["wrong"] > 0 for one in records)
    share = covered / points if points else 0.0
    return "\n".join(
        [
            "| worlds | truth within the band | whole switch undecided | of these with a proven "
            "part | worlds with a part wrongly proven |",
            "| --- | --- | --- | --- | --- |",
            f"| {len(records)} | {share:.1%} of {points} | {len(open_ones)} | {helped} | {wrong} |",
        ]
    )
