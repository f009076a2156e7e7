"""Reading the same files by an earlier commit and by this one: processor time and memory.

    python scripts/compare_reading.py COMMIT [--rounds 5]

Parquet and CSV of Ant's shape, and a table with labels. Both read in turns, each time in a process
of its own, after a small file of the same form. The machine may be shared: ratios of medians count.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from bench_records import ROOT
from bench_shared import make_log, write_figures

from nacre.files.isolation import SWITCH

MAP = {
    "episode": "episode",
    "terminated": "end",
    "observation": ["age", "income"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["none", "mail", "call"]},
    "ignore": ["town"],
}
CASES: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "parquet": ("parquet", 1000, 1_000_000, {}),
    "csv": ("csv", 1000, 200_000, {}),
    "labels": ("csv", 20_000, 1_000_000, MAP),
}
"""Ending, rows of the small file, rows of the large one, column map."""
CHILD = """
import json, resource, sys, time
try:
    from nacre.log import read_log
    use = {}
except ImportError:
    from nacre.logs import read_log
    from nacre.files.isolation import LAST_USE as use
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
small, large, columns = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
options = {"columns": columns} if columns else {}
read_log(small, **options)
before, apart = peak(), use.pop("megabytes", 0.0)
use.clear()
started = time.process_time()
read_log(large, **options)
seconds = time.process_time() - started + use.get("seconds", 0.0)
apart = (use.get("megabytes", apart) - apart) * 2**20 / 1e6
print(json.dumps({"cpu_seconds": seconds, "peak_mb": max(peak() - before, apart)}))
"""


def write_table(rows: int, path: Path) -> None:
    """A table in ten rows an episode, with an action that has labels."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    rng, end = np.random.default_rng(0), np.arange(rows) % 10 == 9
    columns = {
        "episode": np.arange(rows) // 10,
        "end": end,
        "town": np.char.add("town ", rng.integers(0, 400, rows).astype(str)),
        "age": rng.integers(18, 80, rows) + 0.5,
        "income": np.round(rng.lognormal(10, 0.5, rows), 2),
        "offer": rng.choice(["none", "mail", "call"], rows),
        "spent": np.round(rng.normal(size=rows), 3),
    }
    arrow_csv.write_csv(pa.table(columns), path)


def write_files(folder: Path) -> None:
    """All of them, a small and a large one each."""
    from nacre.logs import write_log

    for name, (ending, *sizes, columns) in CASES.items():
        for rows, size in zip(sizes, ("small", "large"), strict=True):
            path = folder / f"{name}-{size}.{ending}"
            if columns:
                write_table(rows, path)
            else:
                write_log(make_log(rows, seed=0), path)


def unpack(commit: str, folder: Path) -> Path:
    """The source of a commit."""
    command = ["git", "archive", "--format=tar", commit, "src"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def read(source: Path, folder: Path, name: str, isolation: str = "on") -> dict[str, float]:
    """What reading one file takes, by one source."""
    ending, _, _, columns = CASES[name]
    files = [str(folder / f"{name}-{size}.{ending}") for size in ("small", "large")]
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-c", CHILD, *files, json.dumps(columns)],
        env=os.environ | {"PYTHONPATH": str(source), SWITCH: isolation},
        check=True,
        capture_output=True,
        text=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def compare(commit: str, rounds: int) -> dict[str, Any]:
    """Medians of both, and their ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # What makes the files must not stay in memory: it would count as the readers' peak.
        subprocess.run([sys.executable, __file__, "--write", name], check=True)  # noqa: S603
        sources = {"before": unpack(commit, folder / "before"), "now": ROOT / "src"}
        # The same without the process of its own that opens files of native libraries.
        sources["here"] = sources["now"]
        turns: dict[str, dict[str, list[dict[str, float]]]] = {
            case: {who: [] for who in sources} for case in CASES
        }
        for turn in range(rounds):
            for case in CASES:
                for who in list(sources)[:: 1 if turn % 2 else -1]:
                    isolation = "off" if who == "here" else "on"
                    turns[case][who].append(read(sources[who], folder, case, isolation))
    figures: dict[str, Any] = {"commit_before": commit, "rounds": rounds}
    for case, both in turns.items():
        medians = {
            who: {key: statistics.median(turn[key] for turn in runs) for key in runs[0]}
            for who, runs in both.items()
        }
        ratios = {
            f"ratio{suffix}": {
                key: medians[who][key] / value for key, value in medians["before"].items()
            }
            for who, suffix in (("now", ""), ("here", "_here"))
        }
        figures[case] = {"rows": CASES[case][2], **medians, **ratios, "turns": both}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", help="The earlier one.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_files(arguments.write)
    else:
        write_figures(compare(arguments.commit, arguments.rounds))


if __name__ == "__main__":
    main()
