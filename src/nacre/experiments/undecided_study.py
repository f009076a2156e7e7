"""Advices that are undecided: does their plan begin with a part of the switch that is proven?

The worlds of the study of partial switches. Each is asked about as a user would: an advice about
the new policy, and where that is undecided a plan with the log. The truth of the part that the plan
proposes is known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs import TransportCost, groups
from nacre.estimators import exact
from nacre.experiments.partial_study import (
    ACTIONS,
    DISCOUNT,
    HORIZON,
    ROWS,
    WORLDS,
    Case,
    draw_case,
)
from nacre.experiments.records import Record
from nacre.learners.base import Candidate
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.rollout.net_curve import find_net_curve
from nacre.rollout.planning import make_plan

PROVEN = "proven part"


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Two worlds for each seed."""
    return [{"seed": seed, "world": world} for seed in seeds for world in range(WORLDS)]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """The verdict, and the first step of the plan where it is open."""
    case = draw_case(np.random.default_rng([run["seed"], run["world"]]))
    log = case.world.sample_log(case.old, ROWS, seed=run["seed"], horizon=HORIZON)
    new = Candidate("new", TabularPolicy.from_probabilities(case.new), "given")
    advice = advise(
        log,
        TabularPolicy.from_probabilities(case.old),
        TransportCost(case.weight, 0.0, groups.indices([[one] for one in range(ACTIONS)])),
        candidates=[new],
        config=dataclasses.replace(suggest_config(log), learners=(), discount=DISCOUNT),
        seed=run["seed"],
        progress=False,
    )
    confidence = advice.setting.config.confidence
    record = run | {"rows": ROWS, "confidence": confidence, "verdict": advice.verdict}
    if advice.verdict == "switch":
        return record | {"truth": _find_net_gain(case, advice, advice.new_policy)}
    return record | (_plan(case, advice) if advice.verdict == "undecided" else {})


def _plan(case: Case, advice: Advice) -> Record:
    """The first step of the plan, and what it is truly worth if it counts as proven."""
    curve = find_net_curve(advice.setting, advice.new_policy)
    returns = advice.setting.log.returns(DISCOUNT)
    plan = make_plan(advice.record, returns, curve_points=curve.points, worlds=curve.worlds)
    step = plan.next_steps[0]
    if step.name != PROVEN or curve.proven is None:
        return {"step": step.name}
    policy = curve.policies[curve.points.index(curve.proven)]
    truth = _find_net_gain(case, advice, policy)
    return {"step": step.name, "part": curve.proven.name, "truth": truth}


def _find_net_gain(case: Case, advice: Advice, policy: Policy) -> float:
    """True gain minus cost."""
    if not isinstance(policy, TabularPolicy):
        raise TypeError(f"no table: {type(policy).__name__}")
    setting = advice.setting
    table = np.asarray(policy.table, np.float64)
    values = [float(exact.start_value(case.world, one)) for one in (table, case.old)]
    cost = setting.cost.evaluate(setting.old_policy, policy, setting.log, seed=setting.seed)
    return values[0] - values[1] - cost.total


def write_table(records: Sequence[Record]) -> str:
    """All advices in one row."""
    undecided = [one for one in records if one["verdict"] == "undecided"]
    proven = [one for one in undecided if one["step"] == PROVEN]
    wrong = sum(one["truth"] <= 0 for one in proven)
    switches = [one for one in records if one["verdict"] == "switch"]
    return "\n".join(
        [
            "| advices | switch | of these wrong | undecided | of these with a proven first part "
            "| of these wrong |",
            "| --- | --- | --- | --- | --- | --- |",
            f"| {len(records)} | {len(switches)} | {sum(one['truth'] <= 0 for one in switches)} | "
            f"{len(undecided)} | {len(proven)} | {wrong} |",
        ]
    )
