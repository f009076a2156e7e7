"""What an engine costs: many tasks that sleep, on few workers, and how that grows with workers.

    python scripts/bench_engines.py --tasks 200 --seconds 1 --workers 2

Tasks that sleep need no processor: what is missing to an efficiency of one is the engine's own
time. The efficiency is tasks × seconds / (workers × time), once all workers have answered. An
engine that is not installed is left out. Every line of the file is one measurement.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.records import append_line
from nacre.parallel.engine import Engine, Workers, open_engine

ENGINES = ("threads", "local", "dask", "ray")
LONGEST_ROUND = 1.6
"""Seconds: two tasks of one second that wait for each other take longer."""


def measure(name: str, tasks: int, seconds: float, workers: int) -> dict[str, Any]:
    """One engine with tasks that sleep."""
    began = time.perf_counter()
    with open_engine(Engine(name, workers=workers)) as opened:
        _wait_for_all(opened, workers)
        ready = time.perf_counter()
        futures: list[Future[Any]] = [opened.submit(time.sleep, seconds) for _ in range(tasks)]
        for future in futures:
            future.result()
        done = time.perf_counter()
    return {
        "engine": name,
        "tasks": tasks,
        "seconds": seconds,
        "workers": workers,
        "start_seconds": round(ready - began, 2),
        "run_seconds": round(done - ready, 2),
        "efficiency": round(tasks * seconds / (workers * (done - ready)), 4),
    }


def _wait_for_all(opened: Workers, workers: int) -> None:
    """Until as many tasks as there are workers sleep at the same time: all have started then."""
    while True:
        began = time.perf_counter()
        wait([opened.submit(time.sleep, 1.0) for _ in range(workers)])
        if time.perf_counter() - began < LONGEST_ROUND:
            return


def main() -> None:
    """Measure every engine with every number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--workers", type=int, nargs="*", default=[2])
    parser.add_argument("--out", type=Path, default=Path("results/bench/engines.jsonl"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in options.engines:
        for workers in options.workers:
            try:
                line = measure(name, options.tasks, options.seconds, workers)
            except InputError as error:
                print(*error.problems, sep="\n")
                break
            append_line(options.out, line)
            print(line, flush=True)


if __name__ == "__main__":
    main()
