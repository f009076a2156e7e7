"""Training from a log that is mapped from its files, against the same training in memory.

A log of Ant's shape (27 observations, 8 actions; 252 bytes a row) is written as Parquet, row group
by row group, converted to mapped arrays by `read_log`, and learned from and evaluated on in
processes of their own, in turns with a part of it that is in memory. Speeds are those of epochs
after the first, which compiles. Peaks of memory are of the whole process: resident, and how much of
that is not a mapped file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pyarrow.parquet as pq
from bench_shared import write_figures

from nacre.logs import Log, read_log
from nacre.logs.formats.tables import build_table
from nacre.logs.schema.metadata import KEY, encode_metadata

OBSERVATIONS, ACTIONS = 27, 8
EPISODE, EPISODES = 1000, 100
"""Rows of an episode, and episodes of a row group."""
LARGEST_RESIDENT_MB = 2000.0
LEAST_SPEED_RATIO = 0.8


def make_log(seed: int) -> Log:
    """Made-up episodes for one row group."""
    rng = np.random.default_rng(seed)
    visited = rng.standard_normal((EPISODES, EPISODE + 1, OBSERVATIONS), dtype=np.float32)
    rows = EPISODES * EPISODE
    actions = np.tanh(rng.standard_normal((rows, ACTIONS), dtype=np.float32))
    observations = visited[:, :-1].reshape(rows, OBSERVATIONS)
    last = np.arange(rows) % EPISODE == EPISODE - 1
    terminated = last & (rng.random(rows) < 0.5)
    return Log.from_arrays(
        observations,
        actions,
        np.tanh(observations[:, 0]) + actions[:, 0],
        terminated,
        last & ~terminated,
        visited[:, 1:].reshape(rows, OBSERVATIONS),
        offsets=np.arange(0, rows + 1, EPISODE),
        observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATIONS,), np.float32),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32),
    )


def write_rows(path: Path, rows: int) -> None:
    """Write a log of so many rows, holding one row group of it at a time."""
    writer = None
    for group in range(-(-rows // (EPISODES * EPISODE))):
        log = make_log(group)
        columns = {
            "episode": log.episode_ids + group * EPISODES,
            "observation": log.observations,
            "action": log.actions,
            "reward": log.rewards,
            "next_observation": log.next_observations,
            "terminated": log.terminated,
            "truncated": log.truncated,
        }
        table = build_table(columns, {KEY: encode_metadata(log)})
        writer = writer or pq.ParquetWriter(
            path, table.schema, compression="lz4", use_dictionary=False
        )
        writer.write_table(table)
    if writer is not None:
        writer.close()


class MemoryWatch:
    """Peaks of the process's memory in megabytes."""

    def __init__(self) -> None:
        self.anonymous = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def finish(self) -> dict[str, float]:
        """Peak resident memory by the kernel, peak of what is not a file by looking often."""
        self._done.set()
        self._thread.join()
        return {"peak_resident_mb": read_status("VmHWM"), "peak_anonymous_mb": self.anonymous}

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.anonymous = max(self.anonymous, read_status("RssAnon"))


def read_status(name: str) -> float:
    """A size from /proc/self/status in megabytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"/proc/self/status has no {name}")


def open_log(path: Path, kind: str) -> Log:
    """The log, mapped or in memory."""
    if kind == "mapped":
        return read_log(path, cache_dir=path.parent / "cache")
    return read_log(path, memory_limit=2**40)


def convert(path: Path) -> dict[str, Any]:
    """Convert the log to mapped arrays."""
    watch, began = MemoryWatch(), time.perf_counter()
    log = open_log(path, "mapped")
    seconds = time.perf_counter() - began
    return {"rows": len(log), "seconds": seconds, **watch.finish()}


def train(path: Path, kind: str, steps: int, epochs: int) -> dict[str, Any]:
    """Learn and evaluate on a log; updates a second and of processor time."""
    import jax

    from nacre.costs import TransportCost, groups
    from nacre.learners.net_actor_critic.config import default
    from nacre.learners.net_actor_critic.run import learn
    from nacre.policies.network_policy import MLPPolicy
    from nacre.policies.policy import Signature
    from nacre.training.fitted_evaluation import EpochReport, evaluate_policy
    from nacre.training.progress import ProgressEvent

    watch = MemoryWatch()
    log = open_log(path, kind)
    policy = MLPPolicy.init(
        jax.random.key(0), Signature(log.observation_space, log.action_space), hidden=(64, 64)
    )
    config = default()
    config = dataclasses.replace(
        config, epochs=epochs, steps_per_epoch=steps, prefit_steps=steps, n_cost_states=64
    )
    judges = dataclasses.replace(
        config.evaluation,
        epochs=epochs,
        steps_per_epoch=steps,
        prefit_steps=steps,
        bootstrap=True,
    )
    times: dict[str, list[tuple[float, float]]] = {"learning": [], "evaluation": []}

    def mark(stage: str) -> None:
        times[stage].append((time.perf_counter(), time.process_time()))

    def on_event(event: ProgressEvent) -> None:
        mark("learning")

    def on_epoch(report: EpochReport) -> None:
        mark("evaluation")

    start = log.starts[:16]
    cost = TransportCost(1.0, 0.1, groups.sign(0))
    learned = learn(log, policy, cost, start, config, old_value=0.0, seed=1, progress=on_event)
    evaluation = evaluate_policy(
        learned.policy, log, start, judges, discount=0.99, seed=1, on_epoch=on_epoch
    )
    if not (learned.healthy and evaluation.healthy):
        raise RuntimeError("training broke down; its speed means nothing")
    found: dict[str, Any] = {"rows": len(log), **watch.finish()}
    for stage, marks in times.items():
        wall, processor = np.diff(np.asarray(marks), axis=0).T
        found[f"{stage}_updates_per_s"] = (steps / wall).tolist()
        found[f"{stage}_updates_per_cpu_s"] = (steps / processor).tolist()
    return found


def run(*arguments: str) -> Any:
    """Run this script in a process of its own; return what it prints."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return json.loads(done.stdout)


def compare(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Both ways in turns, and what they say together."""
    paths = {"mapped": directory / "large.parquet", "memory": directory / "part.parquet"}
    write_rows(paths["mapped"], options.rows)
    write_rows(paths["memory"], min(options.rows, options.part))
    converted = run("--do", "convert", "--path", str(paths["mapped"]))
    sizes = ("--steps", str(options.steps), "--epochs", str(options.epochs))
    turns: dict[str, list[Any]] = {kind: [] for kind in paths}
    for _ in range(options.rounds):
        for kind, path in paths.items():
            turns[kind].append(run("--do", kind, "--path", str(path), *sizes))
    arrays = sum(file.stat().st_size for file in (directory / "cache").rglob("*.npy"))
    figures: dict[str, Any] = {
        "rows": options.rows,
        "rows_in_memory": turns["memory"][0]["rows"],
        "array_mb": arrays / 1e6,
        "parquet_mb": paths["mapped"].stat().st_size / 1e6,
        "conversion_seconds": converted["seconds"],
        "conversion_peak_resident_mb": converted["peak_resident_mb"],
    }
    for kind, found in turns.items():
        for name in ("peak_resident_mb", "peak_anonymous_mb"):
            figures[f"{kind}_{name}"] = max(one[name] for one in found)
    for stage in ("learning", "evaluation"):
        for unit in ("s", "cpu_s"):
            name = f"{stage}_updates_per_{unit}"
            speeds = {
                kind: statistics.median(speed for one in found for speed in one[name])
                for kind, found in turns.items()
            }
            figures |= {f"{kind}_{name}": speed for kind, speed in speeds.items()}
            figures[f"{stage}_ratio_by_{unit}"] = speeds["mapped"] / speeds["memory"]
    figures["holds"] = bool(
        figures["mapped_peak_resident_mb"] <= LARGEST_RESIDENT_MB
        and min(figures[f"{stage}_ratio_by_s"] for stage in ("learning", "evaluation"))
        >= LEAST_SPEED_RATIO
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--part", type=int, default=1_000_000, help="Rows that are in memory.")
    parser.add_argument("--steps", type=int, default=300, help="Updates of an epoch.")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1, help="Turns of each kind.")
    parser.add_argument("--dir", type=Path, help="Where the log is made; it is deleted afterwards.")
    parser.add_argument("--out", type=Path, help="JSON file for the figures.")
    parser.add_argument("--do", choices=("convert", "mapped", "memory"), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.do == "convert":
        print(json.dumps(convert(options.path)))
    elif options.do:
        print(json.dumps(train(options.path, options.do, options.steps, options.epochs)))
    else:
        directory = Path(tempfile.mkdtemp(dir=options.dir, prefix="bench-mapped-"))
        try:
            figures = compare(directory, options)
        finally:
            shutil.rmtree(directory)
        write_figures(figures, options.out)


if __name__ == "__main__":
    main()
