"""What an advice would learn from a log, and what its candidates are truly worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nacre.advice import tasks
from nacre.advice.finalists import choose_finalists
from nacre.advice.setting import Setting
from nacre.experiments.records import Record
from nacre.policies.policy import Policy
from nacre.training.progress import NoProgress

TruthOf = Callable[[Policy], float]
"""From a policy to its true gain over the old one, before the cost."""


def look_at_candidates(setting: Setting, find_gain: TruthOf) -> Record:
    """Learn as an advice does: every candidate and finalist with its true net gain."""
    silent = NoProgress()
    checks = tasks.check_log(setting, report=silent)
    split = tasks.split_log(setting, checks=checks, report=silent)
    problem = tasks.pose_learning(setting, split=split, report=silent)
    learned, seconds = {}, {}
    for number, one in enumerate(setting.config.learners):
        began = time.process_time()
        found = tasks.learn_candidates(setting, one, problem=problem, report=silent)
        learned[f"learner_{number}"] = found
        seconds[one.name] = round(time.process_time() - began, 1)
    began = time.process_time()
    finalists = choose_finalists(setting, (), split=split, report=silent, **learned)
    seconds["finalists"] = round(time.process_time() - began, 1)

    def describe(name: str, policy: Policy) -> dict[str, Any]:
        cost = setting.cost.evaluate(setting.old_policy, policy, setting.log).total
        return {"name": name, "net_gain": find_gain(policy) - cost, "cost": cost}

    return {
        "candidates": [
            {**describe(one.name, one.policy), "problem": one.problem}
            for some in learned.values()
            for one in some
        ],
        "finalists": [describe(one.name, one.policy) for one in finalists],
        "processor_seconds": seconds,
    }


def describe_candidates(records: Sequence[Record]) -> str:
    """Mean true net gain of each candidate, and how often it was dropped."""
    names = dict.fromkeys(one["name"] for record in records for one in record["candidates"])
    told = []
    for name in names:
        mine = [one for r in records for one in r["candidates"] if one["name"] == name]
        kept = [one["net_gain"] for one in mine if not one["problem"]]
        dropped = f", dropped {len(mine) - len(kept)}" if len(kept) < len(mine) else ""
        told.append(f"{name} {np.mean(kept):.1f}{dropped}" if kept else f"{name} dropped")
    return "; ".join(told)
