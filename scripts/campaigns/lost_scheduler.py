"""The scheduler of a Dask cluster killed while a table of decisions is made: the work goes on.

    PYTHONPATH=. python scripts/campaigns/lost_scheduler.py --decisions 10 --out results/faults

A scheduler and workers are started as an operator would start them: processes of their own, started
again by a loop when they end. `nacre advise-many` runs in another process. When some decisions are
made, the scheduler is killed (-9). Where the command ends, with one line, it is called again, as a
user would. The record says how often it had to be called, and whether all decisions have the
records of an undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lost_workers import is_same, make_table, read_records

from nacre.decisions.run import LINE, run_decisions
from nacre.decisions.table import read_entries
from nacre.experiments.records import append_line
from nacre.versions import find_commit

MOST_CALLS = 5


class Kept:
    """A process that is started again whenever it ends, until it is let go.

    Args:
        command: What it runs.
    """

    def __init__(self, command: list[str]) -> None:
        self._command, self._ended = command, threading.Event()
        self.process: Any = None
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        while not self._ended.is_set():
            self.process = subprocess.Popen(  # noqa: S603 - Dask itself
                self._command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"NPROC": "1", "OMP_NUM_THREADS": "1"},
            )
            self.process.wait()
            self._ended.wait(1)

    def end(self) -> None:
        """Let it go."""
        self._ended.set()
        if self.process is not None:
            self.process.terminate()
        self._thread.join()


def start(port: int, workers: int) -> list[Kept]:
    """A scheduler and workers."""
    dask, host = [sys.executable, "-m", "dask"], f"tcp://127.0.0.1:{port}"
    kept = [Kept([*dask, "scheduler", "--host", host, "--no-dashboard"])]
    worker = [*dask, "worker", host, "--nthreads", "1", "--no-dashboard"]
    return kept + [Kept(worker) for _ in range(workers)]


def call(table: Path, out: Path, port: int) -> subprocess.Popen[str]:
    """`nacre advise-many`, as a user calls it."""
    command = [sys.executable, "-m", "nacre", "advise-many", str(table), "--out", str(out)]
    command += ["--engine", "dask", "--address", f"tcp://127.0.0.1:{port}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603


def main() -> None:
    """Decide here, then on a cluster whose scheduler is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with TemporaryDirectory() as name:
        folder = Path(name)
        entries = make_table(folder, options.decisions)
        run_decisions(entries, folder / "here", "threads")
        expected, there = read_records(entries, folder / "here"), folder / "there"
        cluster, calls, killed, told = start(port, options.workers), 0, 0, ""
        try:
            while calls < MOST_CALLS:
                calls += 1
                process = call(folder / "decisions.toml", there, port)
                while process.poll() is None:
                    made = len(list(there.glob(f"*/{LINE}")))
                    if not killed and made >= options.decisions // 3:
                        killed = made
                        cluster[0].process.kill()
                    time.sleep(0.2)
                told = (process.communicate()[0].strip().splitlines() or [""])[-1]
                if process.returncode == 0:
                    break
        finally:
            for one in reversed(cluster):
                one.end()
        lines = run_decisions(read_entries(folder / "decisions.toml"), there, "threads")
        record = {
            "decisions": len(lines),
            "made_before_the_kill": killed,
            "calls": calls,
            "exit_code": process.returncode,
            "last_line": told[:200].replace(name, "…"),
            "same": is_same(lines, entries, there, expected),
            "commit": find_commit(),
        }
    append_line(options.out / "lost_scheduler.jsonl", record)
    print(record, flush=True)


if __name__ == "__main__":
    main()
