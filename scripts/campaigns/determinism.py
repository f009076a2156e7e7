"""The same advice on other cores, threads and processes: to the bit, or how far it is off.

    PYTHONPATH=. python scripts/campaigns/determinism.py --out results/faults

A small advice with networks, wide enough that their products are shared between threads, is asked
for again and again, each time in a new process: on one core and on two, with one thread of the
linear algebra and with two, with tasks in threads and in processes. Compared are all numbers of
the record but times, and the weights of the candidate. Cases that have a line are not run again.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CASES: dict[str, tuple[int, int, str]] = {
    "one core": (1, 1, "threads"),
    "one core again": (1, 1, "threads"),
    "two cores": (2, 1, "threads"),
    "two cores, two threads of linear algebra": (2, 2, "threads"),
    "two cores, two processes": (2, 1, "local"),
    "one core, two processes": (1, 1, "local"),
}
"""Cores, threads of the libraries that have a setting for them, and where tasks run."""
TIMES = {"wall_seconds", "seconds", "time", "execution", "created", "memory_megabytes", "timings"}


def ask(engine: str) -> dict[str, Any]:
    """In a process of its own: the numbers of an advice by their places, and its policy."""
    import numpy as np

    from nacre import examples
    from nacre.advice.config import AdviceConfig
    from nacre.advice.pipeline import advise
    from nacre.estimators.fitted_q import FittedQ
    from nacre.parallel.engine import Engine
    from nacre.policies import fingerprint
    from tests.support.advice import make_quick_learner

    example = examples.load_traffic()
    learner = make_quick_learner(0.03)
    critics = dataclasses.replace(learner.settings.critics, hidden=(256, 256), batch_size=256)
    settings = dataclasses.replace(learner.settings, critics=critics, steps_per_epoch=20)
    config = AdviceConfig(
        discount=0.9,
        learners=(dataclasses.replace(learner, settings=settings),),
        estimators=(FittedQ(sets=2, groups=4, sizes=(128,)),),
    )
    log = example.log.select(np.arange(min(example.log.n_episodes, 40)))
    chosen = Engine(engine, workers=2) if engine == "local" else engine
    advice = advise(
        log, example.old_policy, example.cost, config=config, engine=chosen, progress=False
    )
    numbers = dict(_list_numbers(json.loads(advice.record.model_dump_json())))
    policy = advice.new_policy
    return {"numbers": numbers, "policy": None if policy is None else fingerprint(policy)}


def _list_numbers(document: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in TIMES:
                yield from _list_numbers(value, f"{place}.{name}")
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from _list_numbers(value, f"{place}.{number}")
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield place, document


def run(name: str, cores: list[int]) -> dict[str, Any]:
    """One case in a process of its own."""
    n_cores, n_threads, engine = CASES[name]
    chosen = ",".join(map(str, cores[:n_cores]))
    threads = {f"{library}_NUM_THREADS": str(n_threads) for library in ("OPENBLAS", "OMP", "MKL")}
    command = ["taskset", "-c", chosen, sys.executable, __file__, "--ask", engine]
    done = subprocess.run(  # noqa: S603 - this script
        command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What differs, and by how much at most."""
    one, two = first["numbers"], other["numbers"]
    differing = {place for place in one.keys() | two.keys() if one.get(place) != two.get(place)}
    both = [place for place in differing if place in one and place in two]
    sizes = [abs(one[place] - two[place]) / max(abs(one[place]), 1e-300) for place in both]
    return {
        "numbers": len(one),
        "differing": len(differing),
        "examples": sorted(differing)[:5],
        "largest_relative_difference": max(sizes, default=0.0),
        "same_policy": first["policy"] == other["policy"],
    }


def main() -> None:
    """All cases that have no line yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(options.ask)))
        return
    from nacre.experiments.records import append_line, read_lines
    from nacre.versions import find_commit

    file, commit = options.out / "determinism.jsonl", find_commit()
    done = {record["case"] for record in read_lines(file) if record["commit"] == commit}
    # All that the process may use, not only what the one who started it was given.
    cores = list(range(os.cpu_count() or 1))
    first = run("one core", cores)
    for name in (one for one in CASES if one not in done):
        found = first if name == "one core" else run(name, cores)
        digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
        record = {"case": name, "sha256": digest, **compare(first, found), "commit": commit}
        append_line(file, record)
        print(record, flush=True)


if __name__ == "__main__":
    main()
