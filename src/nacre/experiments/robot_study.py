"""What learners reach on robots and traffic lights, with the published costs.

A record is a world, a number of rows and a seed: the true net gain of every candidate, finalist or
not, by simulation; docs/learners.md shows the table.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.inputs import read_inputs
from nacre.advice.setting import Setting
from nacre.experiments.candidates import describe_candidates, look_at_candidates
from nacre.experiments.records import Record
from nacre.experiments.run import published_cost
from nacre.experiments.shared import Truth, share_row
from nacre.experiments.tables import find_row
from nacre.learners.td3 import TD3
from nacre.policies.policy import Policy

WORLDS = {
    "hopper": ("hopper-suboptimal", (1_000_000, 200_000)),
    "halfcheetah": ("halfcheetah-suboptimal", (1_000_000, 200_000)),
    "ant": ("ant-suboptimal", (1_000_000, 200_000)),
    "traffic": ("sumo-cl5-ct0.1-suboptimal", (100_000, 20_000)),
}
"""Rows of the paper's tables; the rows that the paper has of it, and a fifth of them."""
BARS = {"hopper": 120.0, "halfcheetah": 240.0, "ant": 72.0, "traffic": 32.0}
"""Net gains that are asked for from as many rows as the paper has; of a fifth, 85 % of them."""
SMALL_SHARE = 0.85
TD3_KL_WEIGHTS = (0.0003, 0.03)
"""Far from an old policy that does badly, near to one that is good but noisy."""
TRUTH = Truth(episodes=100)


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about: all worlds with few rows first."""
    return [
        {"world": world, "rows": sizes[which], "seed": seed}
        for which in (1, 0)
        for seed in seeds
        for world, (_, sizes) in WORLDS.items()
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Learn as an advice does, and simulate what the candidates are worth."""
    name, seed = WORLDS[run["world"]][0], run["seed"]
    shared = share_row(name, seed, cache, old_policies)
    log, cost = shared.log(run["rows"]), published_cost(find_row(name), shared.world)
    given = read_inputs(log, shared.old_policy, cost, shared.start(log), (), None, seed)
    config = suggest_config(given.log)
    config = dataclasses.replace(config, learners=(*config.learners, *map(TD3, TD3_KL_WEIGHTS)))
    setting = Setting(
        given.log,
        given.old_policy,
        given.cost,
        given.start,
        given.given_start,
        config,
        given.uncertainty,
        seed,
    )
    old = shared.truth(shared.old_policy, TRUTH, config.discount)["mean"]

    def find_gain(policy: Policy) -> float:
        return float(shared.truth(policy, TRUTH, config.discount)["mean"] - old)

    return {**run, "old": old, **look_at_candidates(setting, find_gain)}


def write_table(records: Sequence[Record]) -> str:
    """The finalist of the largest true net gain and the candidates, means over seeds."""
    rows = [
        "| world | rows | seeds | asked for | best finalist | candidates | processor seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for world, which in itertools.product(WORLDS, (0, 1)):
        size = WORLDS[world][1][which]
        same = [one for one in records if (one["world"], one["rows"]) == (world, size)]
        if not same:
            continue
        best = [max(one["net_gain"] for one in record["finalists"]) for record in same]
        spent = [sum(record["processor_seconds"].values()) for record in same]
        cells = (
            world,
            f"{size:,}",
            f"{len(same)}",
            f"{BARS[world] * (1.0, SMALL_SHARE)[which]:.0f}",
            f"{np.mean(best):.0f} (least {min(best):.0f})",
            describe_candidates(same),
            f"{np.mean(spent):.0f}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
