"""Whether bounds of quantiles and of CVaR hold: logs of the control suite, truth by rollouts.

A record is a world, a kind of old policy and a seed. Many episodes of the old policy are cut into
logs. Each log gives the bounds of an advice, for the old policy and for a new one that acts a
little more steadily, so near that its episodes can be weighed; there is none for a policy without
noise. Episodes run until nothing is left to come: the bounds are about whole returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.advice.risk import SHARE, describe_returns, weigh_episodes
from nacre.experiments.calibration.case import Case
from nacre.experiments.calibration.control import KINDS, SUITE, WORLDS, make_world
from nacre.experiments.calibration.controllers import Skill, Workshop
from nacre.experiments.calibration.simulation import (
    VectorWorld,
    roll_out,
    sample_log,
    simulate_returns,
)
from nacre.experiments.records import Record
from nacre.policies.policy import Policy
from nacre.simulators.rollouts import draw_actions

Floats = NDArray[np.float64]

LEVEL = 0.9
"""One-sided, of each bound."""
LOGS = 20
EPISODES = 300
"""Of each log."""
TRUTH = 10_000
"""Rollouts of each policy for its truth."""
LENGTHS = 250
"""Rollouts that tell how long episodes are."""
ROUNDING = 1e-5
"""Share of a figure that does not count: logs keep rewards in single precision."""
STEADIER = 0.97
"""The new policy's noise over the old one's."""
FIGURES = {"median": "median", "quantile": "0.1 quantile", "tail_mean": "CVaR at 0.1"}
POLICIES = ("old", "new")


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Every world for each seed; kinds of old policies take turns."""
    kinds = list(KINDS)
    return [
        {"world": world, "kind": kinds[(seed + place) % len(kinds)], "seed": seed}
        for seed in seeds
        for place, world in enumerate(WORLDS)
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """How many logs of one old policy have each bound on the right side of the truth."""
    case = Case(SUITE, run["world"], run["kind"], run["seed"])
    world = make_world(case)
    world.horizon = world.count_steps()
    workshop, rng = Workshop.open(world, case.generator("workshop")), case.generator("risk")
    shares, noises = KINDS[case.kind]
    skill = Skill(float(rng.uniform(*shares)), float(rng.uniform(*noises)))
    old = workshop.make(skill)
    new = None
    if skill.noise > 0:
        new = workshop.make(Skill(skill.share, STEADIER * skill.noise))
    returns, weights = _collect(world, old, new, case.seed)
    truths = {
        name: find_truth(simulate_returns(world, policy, n_episodes=TRUTH))
        for name, policy in zip(POLICIES, (old, new), strict=True)
        if policy is not None
    }
    parts = [slice(first, first + EPISODES) for first in range(0, LOGS * EPISODES, EPISODES)]
    found = [
        describe_returns(returns[part], None if weights is None else weights[part], LEVEL)
        for part in parts
    ]
    counts = {name: count_covered(found, name, truth) for name, truth in truths.items()}
    return {**run, "logs": LOGS, **counts}


def _collect(
    world: VectorWorld, old: Policy, new: Policy | None, seed: int
) -> tuple[Floats, Floats | None]:
    """Returns of the episodes of all logs, and what they weigh for the new policy."""
    steps = roll_out(world, draw_actions(old, seed), LENGTHS, world.horizon, seed)
    rows = sum(int(step.running.sum()) for step in steps) / LENGTHS * LOGS * EPISODES
    log = sample_log(world, old, int(1.1 * rows), seed=seed)
    log = log.select(np.arange(LOGS * EPISODES))
    weights = None if new is None else weigh_episodes(log, old, new)
    return np.asarray(log.returns(world.discount), np.float64), weights


def find_truth(returns: Floats) -> dict[str, float]:
    """The figures of very many returns."""
    ordered = np.sort(returns)
    return {
        "median": float(np.median(ordered)),
        "quantile": float(np.quantile(ordered, SHARE)),
        "tail_mean": float(ordered[: round(SHARE * len(ordered))].mean()),
    }


def count_covered(
    found: Sequence[Mapping[str, Any]], policy: str, truth: Mapping[str, float]
) -> dict[str, Any]:
    """Logs with bounds, and on how many of them each bound is on the right side of the truth."""
    counted: dict[str, Any] = {}
    for figure in FIGURES:
        bounds = [one[policy][figure] for one in found if policy in one]
        bounds = [one for one in bounds if one["low"] is not None and one["high"] is not None]
        room = ROUNDING * abs(truth[figure])
        counted[figure] = {
            "truth": truth[figure],
            "logs": len(bounds),
            "low": sum(one["low"] <= truth[figure] + room for one in bounds),
            "high": sum(one["high"] >= truth[figure] - room for one in bounds),
        }
    return counted


def write_table(records: Sequence[Record]) -> str:
    """A row for each figure and policy, all worlds together, with the worst world."""
    lines = [
        "| figure | policy | logs | lower bound holds | upper bound holds "
        "| lower bound, worst world |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for figure, words in FIGURES.items():
        for policy in POLICIES:
            counted = [(one["world"], one[policy][figure]) for one in records if policy in one]
            logs = sum(one["logs"] for _, one in counted)
            if not logs:
                continue
            low, high = (sum(one[end] for _, one in counted) / logs for end in ("low", "high"))
            worst, name = min(_cover_by_world(counted))
            lines.append(
                f"| {words} | {policy} | {logs:,} | {low:.1%} | {high:.1%} "
                f"| {worst:.1%} ({name.replace('_', ' ')}) |"
            )
    return "\n".join(lines)


def _cover_by_world(counted: Sequence[tuple[str, Mapping[str, int]]]) -> list[tuple[float, str]]:
    shares = []
    for world in dict.fromkeys(name for name, _ in counted):
        some = [one for name, one in counted if name == world]
        logs = sum(one["logs"] for one in some)
        if logs:
            shares.append((sum(one["low"] for one in some) / logs, world))
    return shares
