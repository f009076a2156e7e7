"""How long a decision takes on the same log: our advice and the paper's configuration, in one run.

Both take all processors of the machine, one after the other, and start with the log in memory;
what they found is simulated afterwards. One JSON line a run.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from nacre.advice.config import suggest_config
from nacre.advice.paper_algorithm import net_actor_critic
from nacre.advice.pipeline import advise
from nacre.cli.progress import open_reporter
from nacre.experiments.advised import compare
from nacre.experiments.records import read_lines
from nacre.experiments.run import published_cost
from nacre.experiments.shared import Shared, Truth, share_row
from nacre.experiments.tables import find_row
from nacre.parallel.local import count_processors
from nacre.versions import find_commit, find_versions

TRUTH = Truth(episodes=200, steps=700)


def run(name: str, transitions: int, seed: int, shared: Shared) -> dict[str, Any]:
    """Both decisions on a log, with their times and the truth about what they propose."""
    row = find_row(name)
    log = shared.log(transitions)
    cost, start, learner = published_cost(row, shared.world), shared.start(log), row.paper.learner
    with open_reporter() as reporter:
        began = time.perf_counter()
        advice = advise(
            log,
            shared.old_policy,
            cost,
            start,
            config=suggest_config(log),
            seed=seed,
            reporter=reporter,
        )
        between = time.perf_counter()
        outcome = net_actor_critic(
            log, shared.old_policy, cost, start, learner, seed=seed, reporter=reporter
        )
        ended = time.perf_counter()
    old_truth = shared.truth(shared.old_policy, TRUTH, learner.discount)
    found = {
        "default": (between - began, advice.verdict, advice.new_policy, advice.chosen.cost.total),
        "paper": (ended - between, outcome.choice, outcome.new_policy, outcome.cost.total),
    }
    estimated = {
        "default": advice.chosen.gain.mean,
        "paper": outcome.net_value - outcome.old_value,
    }
    timed = {
        config: {
            "seconds": round(seconds, 1),
            "decision": decision,
            **compare(
                estimated[config],
                price,
                old_truth,
                shared.truth(policy, TRUTH, learner.discount),
            ),
        }
        for config, (seconds, decision, policy, price) in found.items()
    }
    return {
        "row": name,
        "transitions": len(log),
        "seed": seed,
        "processors": count_processors(),
        **timed,
        "epochs_of_paper": len(outcome.learned.history),
        "ratio": timed["paper"]["seconds"] / timed["default"]["seconds"],
        "versions": find_versions(),
        "commit": find_commit(),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """Times and true net gains of both, a row for each run."""
    rows = [
        "| row | seed | configuration | time to decision | decision | true net gain |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for line in lines:
        for config in ("paper", "default"):
            one = line[config]
            gain = one["improvement"]
            rows.append(
                f"| {line['row']} | {line['seed']} | `{config}` | {one['seconds']:.0f} s | "
                f"{one['decision']} | {gain['true']:.1f} ± {gain['standard_error']:.1f} |"
            )
    ratios = ", ".join(f"{line['ratio']:.1f}" for line in lines)
    return "\n".join([*rows, "", f"Times faster: {ratios}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", default="hopper-suboptimal")
    parser.add_argument("--transitions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=Path("results/.cache/timing"))
    parser.add_argument("--old-policies", type=Path, default=Path("../shared/paper_policies"))
    parser.add_argument("--out", type=Path, default=Path("results/bench/decision.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    options = parser.parse_args()
    if options.table:
        print(write_table(read_lines(options.out)))
        return
    shared = share_row(options.row, options.seed, options.cache, options.old_policies)
    line = run(options.row, options.transitions, options.seed, shared)
    print(json.dumps(line), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
