"""What it costs to open a good log in another process: 1,000,000 rows of Parquet.

    python scripts/campaigns/isolation_cost.py --out results/faults

Both ways are measured in turn. Processor seconds count both processes, so that they mean something
on a busy machine too; the start of the other process is told apart.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nacre.experiments.records import append_line
from nacre.files import isolation
from nacre.logs import Log, read_log, write_log
from nacre.versions import find_commit


def make_log(n_rows: int) -> Log:
    """Eleven numbers a state, three an action, as a robot's log has."""
    rng = np.random.default_rng(100)
    rows = rng.normal(size=(n_rows + 1, 11)).astype(np.float32)
    return Log.from_arrays(
        observations=rows[:-1],
        actions=rng.normal(size=(n_rows, 3)).astype(np.float32),
        rewards=rng.normal(size=n_rows),
        next_observations=rows[1:],
        terminated=np.zeros(n_rows, bool),
        truncated=np.arange(n_rows) % 500 == 499,
        episode=np.arange(n_rows) // 500,
    )


def measure(path: Path, *, isolated: bool) -> dict[str, float]:
    """Seconds on the clock and of the processor to read a log once."""
    os.environ[isolation.SWITCH] = "on" if isolated else "off"
    isolation.LAST_USE.clear()
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    read_log(path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "clock": time.perf_counter() - began,
        "processor": own + isolation.LAST_USE.get("seconds", 0.0),
    }


def main() -> None:
    """Measure both ways in turn and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(make_log(options.rows), path)
        first = {isolated: measure(path, isolated=isolated) for isolated in (False, True)}
        runs = [
            {"isolated": isolated, **measure(path, isolated=isolated)}
            for _ in range(options.repeats)
            for isolated in (False, True)
        ]
    figures = {}
    for name in ("clock", "processor"):
        plain, isolated = (
            float(np.median([run[name] for run in runs if run["isolated"] is which]))
            for which in (False, True)
        )
        figures[name] = {"plain": plain, "isolated": isolated, "ratio": isolated / plain}
    record = {"rows": options.rows, "first": list(first.values()), "runs": runs, **figures}
    append_line(options.out / "isolation_cost.jsonl", record | {"commit": find_commit()})
    print(figures)


if __name__ == "__main__":
    main()
