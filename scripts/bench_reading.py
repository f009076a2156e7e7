"""Reading a log of Ant's shape from Parquet, against pandas to NumPy from CSV.

27 observations, 8 actions, next observations, 1,000,000 rows. Every reading is a process of its
own, so that its peak memory is its own. Time and memory are counted from after the imports, which
reading a small file of the same form brings about.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_shared import make_log, write_figures

from nacre.cli.bench import peak_memory
from nacre.logs import read_log, write_log

ROW_ARRAYS = ("observations", "actions", "rewards", "next_observations", "terminated", "truncated")


def read_parquet(path: Path) -> int:
    """Read and check a log; return the bytes of its arrays."""
    log = read_log(path)
    return sum(getattr(log, name).nbytes for name in ROW_ARRAYS)


def read_csv(path: Path) -> int:
    """Read the same columns with pandas, unchecked; return the bytes of the arrays."""
    import pandas as pd

    frame = pd.read_csv(path, comment="#")
    arrays = [frame[name].to_numpy() for name in ("episode", "terminated", "truncated")]
    for stem, width in (("observation", 27), ("action", 8), ("next_observation", 27)):
        names = [f"{stem}_{i}" for i in range(width)]
        arrays.append(frame[names].to_numpy(np.float32))
    return sum(array.nbytes for array in arrays)


READERS = {"parquet": read_parquet, "csv": read_csv}


def measure(kind: str, path: Path) -> dict[str, float]:
    """Read once in this process, after a small file of the same form."""
    with tempfile.TemporaryDirectory() as directory:
        small = Path(directory) / path.name
        write_log(make_log(10, seed=0), small)
        READERS[kind](small)
    before = peak_memory()
    start, start_cpu = time.perf_counter(), time.process_time()
    array_bytes = READERS[kind](path)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "mb": array_bytes / 1e6,
        "peak_mb": peak_memory() - before,
    }


def run(*arguments: str) -> str:
    """Run this script in a process of its own; a large parent would count as the child's peak."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="JSON file for the figures.")
    parser.add_argument("--read", choices=sorted(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_log(make_log(arguments.rows, seed=0), arguments.path)
    elif arguments.read:
        print(json.dumps(measure(arguments.read, arguments.path)))
    else:
        write_figures(compare(arguments.rows), arguments.out)


def compare(rows: int) -> dict[str, float]:
    """Write the same log in both forms, read each once, and compare."""
    with tempfile.TemporaryDirectory() as directory:
        paths = {kind: Path(directory) / f"log.{kind}" for kind in READERS}
        for path in paths.values():
            run("--write", "--rows", str(rows), "--path", str(path))
        read = {
            kind: json.loads(run("--read", kind, "--path", str(path)))
            for kind, path in paths.items()
        }
        sizes = {kind: path.stat().st_size / 1e6 for kind, path in paths.items()}
    parquet, csv = read["parquet"], read["csv"]
    return {
        "rows": rows,
        "array_mb": parquet["mb"],
        "parquet_file_mb": sizes["parquet"],
        "csv_file_mb": sizes["csv"],
        "parquet_seconds": parquet["seconds"],
        "parquet_cpu_seconds": parquet["cpu_seconds"],
        "csv_pandas_seconds": csv["seconds"],
        "csv_pandas_cpu_seconds": csv["cpu_seconds"],
        "times_faster": csv["seconds"] / parquet["seconds"],
        "times_less_cpu": csv["cpu_seconds"] / parquet["cpu_seconds"],
        "parquet_peak_mb": parquet["peak_mb"],
        "parquet_peak_over_arrays": parquet["peak_mb"] / parquet["mb"],
        "csv_pandas_peak_mb": csv["peak_mb"],
    }


if __name__ == "__main__":
    main()
