"""What an engine costs: many tasks on few workers, and how that grows with workers.

    python scripts/bench_engines.py --tasks 200 --seconds 1 --workers 2
    python scripts/bench_engines.py --growth --workers 1 2 4 8

Tasks that sleep need no processor: what is missing to an efficiency of one is the engine's own
time. The efficiency is tasks × seconds / (workers × time), once all workers have answered. For the
growth every worker gets `--each` tasks: such that sleep, and such that compute, of which no more
than there are processors can run at once. An engine that is not installed is left out. Every line
is one measurement, with what else the machine had to do; what this commit has measured is not
measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.records import append_line, read_lines
from nacre.parallel.engine import Engine, Workers, open_engine
from nacre.versions import find_commit

ENGINES = ("threads", "local", "dask", "ray")
LONGEST_ROUND = 1.9
"""Seconds: two tasks of one second that wait for each other take longer."""
COMPUTED = ("sha256", b"word", b"salt", 1_000_000)
"""What a task computes: some tenths of a second of one processor, which all engines can import."""


def measure(name: str, kind: str, tasks: int, seconds: float, workers: int) -> dict[str, Any]:
    """One engine with tasks that sleep or compute."""
    task = (time.sleep, seconds) if kind == "sleep" else (hashlib.pbkdf2_hmac, *COMPUTED)
    busy = os.getloadavg()[0]
    began = time.perf_counter()
    with open_engine(Engine(name, workers=workers)) as opened:
        opened.submit(time.sleep, 0.0).result()
        first = time.perf_counter()
        _wait_for_all(opened, workers)
        ready = time.perf_counter()
        futures: list[Future[Any]] = [opened.submit(*task) for _ in range(tasks)]
        for future in futures:
            future.result()
        done = time.perf_counter()
    return {
        "engine": name,
        "kind": kind,
        "tasks": tasks,
        "workers": workers,
        "first_answer_seconds": round(first - began, 2),
        "start_seconds": round(ready - began, 2),
        "run_seconds": round(done - ready, 2),
        "tasks_per_second": round(tasks / (done - ready), 4),
        "load_before": round(busy, 1),
    } | (
        {"efficiency": round(tasks * seconds / (workers * (done - ready)), 4)}
        if kind == "sleep"
        else {}
    )


def list_cases(options: argparse.Namespace) -> list[dict[str, Any]]:
    """What is to be measured."""
    kinds = ("sleep", "work") if options.growth else ("sleep",)
    return [
        {
            "engine": name,
            "kind": kind,
            "tasks": workers * options.each if options.growth else options.tasks,
            "workers": workers,
        }
        for name in options.engines
        for kind in kinds
        for workers in options.workers
    ]


def _wait_for_all(opened: Workers, workers: int) -> None:
    """Until as many tasks as there are workers sleep at the same time: all have started then."""
    while True:
        began = time.perf_counter()
        for future in [opened.submit(time.sleep, 1.0) for _ in range(workers)]:
            future.result()
        if time.perf_counter() - began < LONGEST_ROUND:
            return


def main() -> None:
    """Measure every engine with every number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--workers", type=int, nargs="*", default=[2])
    parser.add_argument("--growth", action="store_true", help="Tasks for each worker, both kinds.")
    parser.add_argument("--each", type=int, default=10, help="Tasks for each worker.")
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    options = parser.parse_args()
    file = options.out / ("engines_growth.jsonl" if options.growth else "engines.jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    commit, missing = find_commit(), set[str]()
    known = [one for one in read_lines(file) if one.get("commit") == commit]
    for case in list_cases(options):
        if case["engine"] in missing or any(case.items() <= one.items() for one in known):
            continue
        try:
            line = measure(
                case["engine"], case["kind"], case["tasks"], options.seconds, case["workers"]
            )
        except InputError as error:
            missing.add(case["engine"])
            print(*error.problems, sep="\n")
            continue
        append_line(file, {**line, "commit": commit})
        print(line, flush=True)


if __name__ == "__main__":
    main()
