"""How long a decision takes on the same log: our advice, then the paper's configuration.

Both take all processors of the machine, one after the other, and start with the log in memory;
what they found is simulated afterwards. A record is a row and a seed; docs/advice.md has the table.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.advice.config import suggest_config
from nacre.advice.paper_algorithm import net_actor_critic
from nacre.advice.pipeline import advise
from nacre.experiments.advised import compare
from nacre.experiments.records import Record
from nacre.experiments.run import published_cost
from nacre.experiments.shared import Shared, Truth, share_row
from nacre.experiments.tables import find_row
from nacre.parallel.local import count_processors
from nacre.policies.policy import Policy
from nacre.versions import find_commit, find_versions

ROW = "hopper-suboptimal"
TRANSITIONS = 1_000_000


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about."""
    return [{"row": ROW, "transitions": TRANSITIONS, "seed": seed} for seed in seeds]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Both decisions on a log, with their times and the truth about what they propose."""
    row, seed = find_row(run["row"]), run["seed"]
    shared = share_row(row.name, seed, cache, old_policies)
    log = shared.log(run["transitions"])
    old_policy, learner = shared.old_policy, row.paper.learner
    cost, start = published_cost(row, shared.world), shared.start(log)
    began = time.perf_counter()
    advice = advise(log, old_policy, cost, start, config=suggest_config(log), seed=seed)
    between = time.perf_counter()
    outcome = net_actor_critic(log, old_policy, cost, start, learner, seed=seed)
    ended = time.perf_counter()

    def describe(
        seconds: float, decision: str, gain: float | None, new: Policy, price: float
    ) -> Any:
        truths = (_simulate(shared, policy, learner.discount) for policy in (old_policy, new))
        return {
            "seconds": round(seconds, 1),
            "decision": decision,
            **compare(gain, price, *truths),
        }

    ours = describe(
        between - began,
        advice.verdict,
        advice.net_gain.mean,
        advice.new_policy,
        advice.chosen.cost.total,
    )
    papers = describe(
        ended - between,
        outcome.choice,
        outcome.net_value - outcome.old_value,
        outcome.new_policy,
        outcome.cost.total,
    )
    return {
        **run,
        "processors": count_processors(),
        "default": ours,
        "paper": papers,
        "epochs_of_paper": len(outcome.learned.history),
        "ratio": papers["seconds"] / ours["seconds"],
        "versions": find_versions(),
        "commit": find_commit(),
    }


def _simulate(shared: Shared, policy: Policy, discount: float) -> dict[str, Any]:
    return shared.truth(policy, Truth(), discount)


def write_table(records: Sequence[Record]) -> str:
    """Times and true net gains of both, a row for each run."""
    rows = [
        "| row | seed | configuration | time to decision | decision | true net gain |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for record in records:
        for config in ("paper", "default"):
            timed = record[config]
            gain = timed["improvement"]
            rows.append(
                f"| {record['row']} | {record['seed']} | `{config}` | {timed['seconds']:.0f} s | "
                f"{timed['decision']} | {gain['true']:.1f} ± {gain['standard_error']:.1f} |"
            )
    ratios = ", ".join(f"{record['ratio']:.1f}" for record in records)
    return "\n".join([*rows, "", f"Times faster: {ratios}."])
