"""Reading a log of Ant's shape from Parquet, against pandas to NumPy from CSV; and a messy table.

27 observations, 8 actions, next observations, 1,000,000 rows. The messy table has as many: texts,
times, units and missing values in CSV, read by pyarrow alone, by `read_log` without and with the
columns that need an encoding. Every reading is a process of its own, so that its peak memory is its
own. Time and memory are counted from after the imports, which reading a small file of the same form
brings about.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench_shared import make_log, write_figures

from nacre.cli.bench import peak_memory
from nacre.files.isolation import LAST_USE
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


NUMBERS: Mapping[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": ["age"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["none", "mail", "call"]},
    "missing": {"age": "median"},
    "ignore": ["called_at", "region", "town", "size", "income"],
}
ENCODED: Mapping[str, Any] = {
    **NUMBERS,
    "observation": ["called_at", "region", "town", "size", "age", "income"],
    "labels": {"action": ["none", "mail", "call"], "size": ["S", "M", "L"]},
    "encode": {"called_at": "time", "region": "one_hot", "town": "one_hot"},
    "rare": {"town": 5000},
    "missing": {"region": "category", "age": "median"},
    "unit": {"income": "$"},
    "ignore": [],
}


def write_messy(rows: int, path: Path) -> None:
    """A table as people have it: texts, times, units and missing values."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    rng = np.random.default_rng(0)
    times = np.sort(rng.integers(1_700_000_000, 1_710_000_000, rows)).astype("datetime64[s]")
    incomes = np.round(rng.lognormal(10, 0.5, rows), 2)
    columns = {
        "called_at": np.char.replace(times.astype(str), "T", " "),
        "region": rng.choice(["north", "south", "east", "west", ""], rows),
        "town": np.char.add("town ", rng.zipf(1.5, rows).clip(max=400).astype(str)),
        "size": rng.choice(["S", "M", "L"], rows),
        "age": pa.array(rng.integers(18, 80, rows), mask=rng.random(rows) < 0.1),
        "income": np.char.add("$", incomes.astype(str)),
        "offer": rng.choice(["none", "mail", "call"], rows),
        "spent": np.round(rng.normal(size=rows), 3),
    }
    arrow_csv.write_csv(pa.table(columns), path)


def read_with_arrow(path: Path) -> int:
    """Read a table with pyarrow alone; return its bytes."""
    import pyarrow.csv as arrow_csv

    return int(arrow_csv.read_csv(path).nbytes)


def read_table(columns: Mapping[str, Any], path: Path) -> int:
    """Read and check a table as a log; return the bytes of its arrays."""
    log = read_log(path, columns=columns)
    return sum(getattr(log, name).nbytes for name in ROW_ARRAYS)


READERS: Mapping[str, Callable[[Path], int]] = {
    "parquet": read_parquet,
    "csv": read_csv,
    "arrow": read_with_arrow,
    "numbers": functools.partial(read_table, NUMBERS),
    "encoded": functools.partial(read_table, ENCODED),
}
MESSY = ("arrow", "numbers", "encoded")


def write_file(kind: str, rows: int, path: Path) -> None:
    """The file that a reader reads."""
    if kind in MESSY:
        write_messy(rows, path)
    else:
        write_log(make_log(rows, seed=0), path)


def measure(kind: str, path: Path) -> dict[str, float]:
    """Read once in this process, after a small file of the same form."""
    with tempfile.TemporaryDirectory() as directory:
        small = Path(directory) / path.name
        # As many rows as it takes for no category to be rare where a map says so.
        write_file(kind, 20_000 if kind in MESSY else 10, small)
        READERS[kind](small)
    before, before_apart = peak_memory(), LAST_USE.pop("megabytes", 0.0)
    LAST_USE.clear()
    start, start_cpu = time.perf_counter(), time.process_time()
    array_bytes = READERS[kind](path)
    # Some files are opened in another process, which tells what it took.
    apart = LAST_USE.get("megabytes", before_apart) - before_apart
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu + LAST_USE.get("seconds", 0.0),
        "mb": array_bytes / 1e6,
        "peak_mb": max(peak_memory() - before, apart * 2**20 / 1e6),
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
    parser.add_argument("--write", choices=sorted(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_file(arguments.write, arguments.rows, arguments.path)
    elif arguments.read:
        print(json.dumps(measure(arguments.read, arguments.path)))
    else:
        write_figures(
            compare(arguments.rows) | {"messy": compare_messy(arguments.rows)}, arguments.out
        )


def compare(rows: int) -> dict[str, float]:
    """Write the same log in both forms, read each once, and compare."""
    with tempfile.TemporaryDirectory() as directory:
        paths = {kind: Path(directory) / f"log.{kind}" for kind in ("parquet", "csv")}
        for kind, path in paths.items():
            run("--write", kind, "--rows", str(rows), "--path", str(path))
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


def compare_messy(rows: int, rounds: int = 3) -> dict[str, Any]:
    """The messy table in turns, the least of each figure; processor seconds over pyarrow's."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.csv"
        run("--write", "arrow", "--rows", str(rows), "--path", str(path))
        size = path.stat().st_size / 1e6
        turns = [
            {kind: json.loads(run("--read", kind, "--path", str(path))) for kind in MESSY}
            for _ in range(rounds)
        ]
    best = {
        kind: {name: min(turn[kind][name] for turn in turns) for name in turns[0][kind]}
        for kind in MESSY
    }
    plain = best["arrow"]["cpu_seconds"]
    ratios = {kind: figures["cpu_seconds"] / plain for kind, figures in best.items()}
    return {"rows": rows, "file_mb": size, "times_arrow_cpu": ratios, **best}


if __name__ == "__main__":
    main()
