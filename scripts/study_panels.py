"""What further panels of judges do: the same log, split and judged anew many times.

Of a good policy's log only the old policy with less noise is judged; nothing is learned. One JSON
line a run (row, seed of the log, seed of the advice), so that it can be stopped and gone on with.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.experiments.advised import compare
from nacre.experiments.records import read_lines
from nacre.experiments.run import parse_seeds, published_cost
from nacre.experiments.shared import Shared, Truth, share_row
from nacre.experiments.tables import find_row
from nacre.versions import find_commit, find_versions

ROWS = ("hopper-optimal", "halfcheetah-optimal", "ant-optimal")
TRANSITIONS = 1_000_000
TRUTH = Truth(episodes=200, steps=700)


def run(name: str, shared: Shared, seed: int) -> dict[str, Any]:
    """Advice about less noise, and what the first panel alone would have said."""
    row = find_row(name)
    log = shared.log(TRANSITIONS)
    config = dataclasses.replace(suggest_config(log), kl_weights=())
    cost, start = published_cost(row, shared.world), shared.start(log)
    advice = advise(log, shared.old_policy, cost, start, config=config, seed=seed)
    gain, n = advice.chosen.gain, config.judges.critics.n_critics
    first = dataclasses.replace(gain, differences=gain.differences[:n])
    truths = [shared.truth(one, TRUTH, 0.99) for one in (shared.old_policy, advice.new_policy)]
    return {
        "row": name,
        "seed": shared.seed,
        "advice_seed": seed,
        "verdict": advice.verdict,
        "panels": len(gain.differences) // n,
        "bounds": [one.bound(config.confidence) for one in (first, gain)],
        "spreads": [one.spread for one in (first, gain)],
        "gain": gain.mean,
        "doubt": gain.doubt,
        **compare(gain.mean, advice.chosen.cost.total, *truths),
        "seconds": round(float(advice.record["wall_seconds"]), 1),
        "versions": find_versions(),
        "commit": find_commit(),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """How often one panel and two prove a gain, a line for each log."""
    rows = [
        "| row | seed of the log | runs | proven by the first panel | heard again | proven then | "
        "true net gain |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, seed in sorted({(line["row"], line["seed"]) for line in lines}):
        found = [line for line in lines if (line["row"], line["seed"]) == (name, seed)]
        again = [line for line in found if line["panels"] > 1]
        alone = sum(line["panels"] == 1 and line["verdict"] == "switch" for line in found)
        proven = sum(line["verdict"] == "switch" for line in again)
        truth = found[0]["improvement"]
        rows.append(
            f"| {name} | {seed} | {len(found)} | {alone} | {len(again)} | {proven} | "
            f"{truth['true']:.1f} ± {truth['standard_error']:.1f} |"
        )
    return "\n".join(rows)


def find_missing(
    lines: list[dict[str, Any]], rows: list[str], seeds: tuple[int, ...], n: int
) -> Iterator[tuple[str, int, list[int]]]:
    """Logs, and the seeds of advice that are not there yet."""
    done = {(line["row"], line["seed"], line["advice_seed"]) for line in lines}
    for name in rows:
        for seed in seeds:
            missing = [one for one in range(n) if (name, seed, one) not in done]
            if missing:
                yield name, seed, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--seeds", default="100-101")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--cache", type=Path, default=Path("results/.cache/panels"))
    parser.add_argument("--old-policies", type=Path, default=Path("../shared/paper_policies"))
    parser.add_argument("--out", type=Path, default=Path("results/calibration/panels.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    options = parser.parse_args()
    lines = read_lines(options.out)
    if options.table:
        print(write_table(lines))
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    seeds = parse_seeds(options.seeds)
    for name, seed, missing in find_missing(lines, options.rows.split(","), seeds, options.runs):
        shared = share_row(name, seed, options.cache, options.old_policies)
        for one in missing:
            line = run(name, shared, one)
            known = np.round(line["bounds"], 2)
            print(name, seed, one, line["verdict"], line["panels"], known, flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
