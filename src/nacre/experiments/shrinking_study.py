"""What a shorter log does to a verdict: the same log, cut down step by step, with the truth beside.

A record is a row, a number of transitions and a seed; docs/advice.md shows table and picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.experiments.advised import compare
from nacre.experiments.pages import import_matplotlib
from nacre.experiments.records import Record
from nacre.experiments.run import published_cost
from nacre.experiments.shared import Truth, share_row
from nacre.experiments.tables import find_row
from nacre.logs import Log
from nacre.versions import find_commit, find_versions

ROWS = ("hopper-suboptimal", "hopper-optimal", "ant-optimal")
WHOLE = 1_000_000
SIZES = (WHOLE, 300_000, 100_000, 30_000, 10_000)
COLOURS = {"switch": "#009e73", "undecided": "#e69f00", "keep": "#0072b2"}


def shorten(log: Log, transitions: int, seed: int) -> Log:
    """As many episodes, drawn at random, as there are in so many transitions."""
    order = np.random.default_rng(seed).permutation(log.n_episodes)
    n = int(np.searchsorted(np.cumsum(log.episode_lengths[order]), transitions)) + 1
    return log.select(np.sort(order[:n]))


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about."""
    return [
        {"row": row, "transitions": size, "seed": seed}
        for seed in seeds
        for row in ROWS
        for size in SIZES
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Advice on a part of the log, and the truth about its candidate."""
    seed = run["seed"]
    shared = share_row(run["row"], seed, cache, old_policies)
    whole = shared.log(WHOLE)
    log = whole if run["transitions"] >= WHOLE else shorten(whole, run["transitions"], seed)
    config = suggest_config(log)
    advice = advise(
        log,
        shared.old_policy,
        published_cost(find_row(run["row"]), shared.world),
        shared.start(log),
        config=config,
        seed=seed,
    )
    old_truth, new_truth = (
        shared.truth(policy, Truth(), config.discount)
        for policy in (shared.old_policy, advice.new_policy)
    )
    gain = advice.net_gain
    return {
        **run,
        "episodes": log.n_episodes,
        "verdict": advice.verdict,
        "confidence": config.confidence,
        "chosen": advice.candidate.name,
        "gain": {"mean": gain.mean, "low": gain.low, "high": gain.high},
        **compare(gain.mean, advice.chosen.cost.total, old_truth, new_truth),
        "seconds": round(float(advice.record.wall_seconds or 0.0), 1),
        "versions": find_versions(),
        "commit": find_commit(),
    }


def write_table(records: Sequence[Record]) -> str:
    """Verdicts and intervals, the longest log first."""
    rows = [
        "| row | transitions | verdict | net gain, 90 % interval | true net gain |",
        "| --- | --- | --- | --- | --- |",
    ]
    for record in sorted(records, key=_order):
        gain, truth = record["gain"], record["improvement"]
        mean = "unknown" if gain["mean"] is None else f"{gain['mean']:.0f}"
        low = "-∞" if gain["low"] is None else f"{gain['low']:.0f}"
        high = "∞" if gain["high"] is None else f"{gain['high']:.0f}"
        true = f"{truth['true']:.0f} ± {truth['standard_error']:.1f}"
        rows.append(
            f"| {record['row']} | {record['transitions']:,} | {record['verdict']} | "
            f"{mean} [{low}, {high}] | {true} |"
        )
    return "\n".join(rows)


def _order(record: Record) -> tuple[str, int, int]:
    return record["row"], record["seed"], -record["transitions"]


def draw(records: Sequence[Record], path: Path) -> None:
    """Intervals against the size of the log, the truth as a cross."""
    plotting = import_matplotlib()
    rows = [row for row in ROWS if any(record["row"] == row for record in records)]
    figure, all_axes = plotting.subplots(
        1, len(rows), figsize=(4.5 * len(rows), 3.4), layout="constrained", squeeze=False
    )
    for axes, row in zip(all_axes[0], rows, strict=True):
        same = [record for record in records if record["row"] == row]
        # Intervals without end are cut where nothing else is.
        numbers = [
            number
            for record in same
            for number in (*record["gain"].values(), record["improvement"]["true"])
            if number is not None
        ]
        reach = 1.1 * max(abs(number) for number in numbers)
        for record in same:
            low, high = (
                end if record["gain"][name] is None else record["gain"][name]
                for name, end in (("low", -2 * reach), ("high", 2 * reach))
            )
            colour = COLOURS[record["verdict"]]
            axes.plot([record["transitions"]] * 2, [low, high], color=colour, lw=2)
            if record["gain"]["mean"] is not None:
                axes.plot(record["transitions"], record["gain"]["mean"], "o", color=colour)
            axes.plot(record["transitions"], record["improvement"]["true"], "kx")
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
