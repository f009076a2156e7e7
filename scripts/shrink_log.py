"""What a shorter log does to a verdict: the same log, cut down step by step, with the truth beside.

One JSON line a run (row, transitions, seed), so that it can be stopped and gone on with; --figure
draws what docs/advice.md shows.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.experiments.advised import compare
from nacre.experiments.pages import import_matplotlib
from nacre.experiments.records import read_lines
from nacre.experiments.run import published_cost
from nacre.experiments.shared import Shared, Truth, share_row
from nacre.experiments.tables import find_row
from nacre.logs import Log
from nacre.versions import find_commit, find_versions

ROWS = ("hopper-suboptimal", "hopper-optimal", "ant-optimal")
WHOLE = 1_000_000
SIZES = (1_000_000, 300_000, 100_000, 30_000, 10_000)
TRUTH = Truth(episodes=200, steps=700)
COLOURS = {"switch": "#009e73", "undecided": "#e69f00", "keep": "#0072b2"}


def shorten(log: Log, transitions: int, seed: int) -> Log:
    """As many episodes, drawn at random, as there are in so many transitions."""
    order = np.random.default_rng(seed).permutation(log.n_episodes)
    n = int(np.searchsorted(np.cumsum(log.episode_lengths[order]), transitions)) + 1
    return log.select(np.sort(order[:n]))


def run(name: str, transitions: int, seed: int, shared: Shared) -> dict[str, Any]:
    """Advice on a part of the log, and the truth about its candidate."""
    row = find_row(name)
    whole = shared.log(WHOLE)
    log = whole if transitions >= WHOLE else shorten(whole, transitions, seed)
    advice = advise(
        log,
        shared.old_policy,
        published_cost(row, shared.world),
        shared.start(log),
        config=suggest_config(log),
        seed=seed,
    )
    price = advice.chosen.cost.total
    truths = [shared.truth(one, TRUTH, 0.99) for one in (shared.old_policy, advice.new_policy)]
    low, high = advice.chosen.gain.interval(0.9)
    known = [bound if np.isfinite(bound) else None for bound in (low, high)]
    return {
        "row": name,
        "transitions": transitions,
        "episodes": log.n_episodes,
        "seed": seed,
        "verdict": advice.verdict,
        "confidence": advice.confidence,
        "chosen": advice.chosen.candidate.name,
        "gain": {"mean": advice.chosen.gain.mean, "low": known[0], "high": known[1]},
        **compare(advice.chosen.gain.mean, price, *truths),
        "seconds": round(float(advice.record["wall_seconds"]), 1),
        "versions": find_versions(),
        "commit": find_commit(),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """Verdicts and intervals, the longest log first."""
    rows = [
        "| row | transitions | verdict | net gain, 90 % interval | true net gain |",
        "| --- | --- | --- | --- | --- |",
    ]
    for line in sorted(lines, key=lambda one: (one["row"], one["seed"], -one["transitions"])):
        gain, truth = line["gain"], line["improvement"]
        low = "-∞" if gain["low"] is None else f"{gain['low']:.0f}"
        high = "∞" if gain["high"] is None else f"{gain['high']:.0f}"
        true = f"{truth['true']:.0f} ± {truth['standard_error']:.1f}"
        rows.append(
            f"| {line['row']} | {line['transitions']:,} | {line['verdict']} | "
            f"{gain['mean']:.0f} [{low}, {high}] | {true} |"
        )
    return "\n".join(rows)


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Intervals against the size of the log, the truth as a cross."""
    plotting = import_matplotlib()
    rows = [row for row in ROWS if any(line["row"] == row for line in lines)]
    figure, all_axes = plotting.subplots(
        1, len(rows), figsize=(4.5 * len(rows), 3.4), layout="constrained", squeeze=False
    )
    for axes, row in zip(all_axes[0], rows, strict=True):
        found = [line for line in lines if line["row"] == row]
        # Intervals without end are cut where nothing else is.
        known = [
            number
            for line in found
            for number in (*line["gain"].values(), line["improvement"]["true"])
            if number is not None
        ]
        reach = 1.1 * max(abs(number) for number in known)
        for line in found:
            low, high = (
                end if line["gain"][name] is None else line["gain"][name]
                for name, end in (("low", -2 * reach), ("high", 2 * reach))
            )
            colour = COLOURS[line["verdict"]]
            axes.plot([line["transitions"]] * 2, [low, high], color=colour, lw=2)
            axes.plot(line["transitions"], line["gain"]["mean"], "o", color=colour)
            axes.plot(line["transitions"], line["improvement"]["true"], "kx")
        axes.axhline(0.0, color="#aaaaaa", lw=0.8, zorder=0)
        axes.set_xscale("log")
        axes.set_xlim(5e3, 2e6)
        axes.set_ylim(-reach, reach)
        axes.set_title(row, fontsize="medium")
        axes.set_xlabel("transitions in the log")
    all_axes[0][0].set_ylabel("net gain")
    for verdict, colour in COLOURS.items():
        all_axes[0][0].plot([], [], "o-", color=colour, label=verdict)
    all_axes[0][0].plot([], [], "kx", label="truth")
    all_axes[0][0].legend(fontsize="small", frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plotting.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=Path("results/.cache/shrinking"))
    parser.add_argument("--old-policies", type=Path, default=Path("../shared/paper_policies"))
    parser.add_argument("--out", type=Path, default=Path("results/calibration/shrinking.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    parser.add_argument("--figure", type=Path, help="draw what is there to a file")
    options = parser.parse_args()
    lines = read_lines(options.out)
    if options.table:
        print(write_table(lines))
    if options.figure is not None:
        draw(lines, options.figure)
    if options.table or options.figure is not None:
        return
    done = {(line["row"], line["transitions"], line["seed"]) for line in lines}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in options.rows.split(","):
        shared = share_row(name, options.seed, options.cache, options.old_policies)
        for size in map(int, options.sizes.split(",")):
            if (name, size, options.seed) in done:
                continue
            line = run(name, size, options.seed, shared)
            print(name, size, line["verdict"], line["gain"], line["improvement"], flush=True)
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
