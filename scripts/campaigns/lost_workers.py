"""Workers killed at random moments while a table of decisions is made: the same bits.

    python scripts/campaigns/lost_workers.py --decisions 30 --kills 50 --out results/faults

Makes logs of small random worlds and decides about them twice: in this process, and on a Dask
cluster of this machine whose worker processes are killed (-9) one after the other. Where the
decisions are made before all kills are done, they are made again. Every kill leaves a line, and so
does every run: whether all decisions finished, with the same records. Kills of the same commit that
have a line are not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import distributed
import numpy as np

from nacre.advice.record import read_decision
from nacre.costs import TransportCost, groups
from nacre.costs.toml import write_cost
from nacre.decisions.run import run_decisions
from nacre.decisions.table import Entry, read_entries
from nacre.experiments.records import append_line, read_lines
from nacre.logs import write_log
from nacre.parallel.dask_engine import start_cluster
from nacre.parallel.engine import Engine
from nacre.policies import TabularPolicy, write_policy
from nacre.simulators import random_policy, random_world
from nacre.versions import find_commit

CONFIG = """
learners = ["scale_noise"]
[[estimators]]
kind = "tabular"
replicates = 100
"""


def make_table(folder: Path, decisions: int) -> list[Entry]:
    """A world, its log and its policies for each decision."""
    lines = ['[defaults]\ncost = "cost.toml"\nadvice_config = "advice.toml"\ndiscount = 0.9\n']
    for number in range(decisions):
        name = f"world-{number:02d}"
        world = random_world(100 + number, 4, 2, discount=0.9)
        old, other = (random_policy(seed + number, world) for seed in (100, 150))
        write_log(
            world.sample_log(old, 1000, seed=100 + number, horizon=50), folder / f"{name}.parquet"
        )
        for kind, table in (("old", old), ("other", other)):
            policy = TabularPolicy.from_probabilities(table)
            write_policy(policy, folder / f"{name}-{kind}.safetensors")
        lines.append(
            f'[[decision]]\nname = "{name}"\nlog = "{name}.parquet"\n'
            f'policy = "{name}-old.safetensors"\ncandidates = ["{name}-other.safetensors"]\n'
        )
    write_cost(TransportCost(0.01, 0.0, groups.indices([[0], [1]])), folder / "cost.toml")
    (folder / "advice.toml").write_text(CONFIG)
    (folder / "decisions.toml").write_text("".join(lines))
    return read_entries(folder / "decisions.toml")


def read_records(entries: list[Entry], out: Path) -> list[str]:
    """All records, without what says how they were made."""
    documents = [read_decision(out / entry.name).as_json() for entry in entries]
    return [json.dumps({**one, "wall_seconds": 0, "execution": {}}) for one in documents]


def is_same(
    lines: list[dict[str, Any]], entries: list[Entry], out: Path, expected: list[str]
) -> bool:
    """Whether all decisions were made, with the records that are expected."""
    return not any(line["error"] for line in lines) and read_records(entries, out) == expected


class Killer:
    """Kills a worker after a random time, again and again.

    Args:
        client: Of the cluster.
        kills: How many.
        pause: Mean seconds between two.
        file: For the records.
        commit: That is run.
    """

    def __init__(
        self, client: Any, kills: int, pause: float, file: Path, commit: str | None
    ) -> None:
        self._client, self._pause, self._file, self._commit = client, pause, file, commit
        self._rng = np.random.default_rng(100 + kills)
        self._ended = threading.Event()
        self.left = kills

    def run(self) -> None:
        """Until nothing is left to kill, or somebody says that the run has ended."""
        while self.left and not self._ended.wait(self._rng.exponential(self._pause)):
            workers = sorted(self._client.run(os.getpid, on_error="ignore").values())
            if not workers:
                continue
            worker = int(self._rng.choice(workers))
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.left -= 1
            line = {"kills_left": self.left, "workers": len(workers), "commit": self._commit}
            append_line(self._file, line)

    def stop(self) -> None:
        """The run has ended."""
        self._ended.set()


def run_with_kills(
    entries: list[Entry], out: Path, client: Any, killer: Killer
) -> list[dict[str, Any]]:
    """The lines of all decisions, made while workers are killed."""
    thread = threading.Thread(target=killer.run, daemon=True)
    thread.start()
    lines = run_decisions(entries, out, Engine("dask", client.scheduler.address), fresh=True)
    killer.stop()
    thread.join()
    return lines


def main() -> None:
    """Decide here, then on the cluster until all kills are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=30)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pause", type=float, default=5.0, help="Mean seconds between two kills.")
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file, commit = options.out / "lost_workers.jsonl", find_commit()
    known = [line for line in read_lines(file) if line["commit"] == commit]
    left = options.kills - sum("kills_left" in line for line in known)
    with (
        TemporaryDirectory() as name,
        start_cluster(options.workers) as cluster,
        distributed.Client(cluster) as client,
    ):
        folder = Path(name)
        entries = make_table(folder, options.decisions)
        run_decisions(entries, folder / "here", "threads")
        expected = read_records(entries, folder / "here")
        while left > 0:
            killer = Killer(client, left, options.pause, file, commit)
            lines = run_with_kills(entries, folder / "there", client, killer)
            record = {
                "decisions": len(lines),
                "kills": left - killer.left,
                "failed": sum(line["verdict"] == "failed" for line in lines),
                "same": is_same(lines, entries, folder / "there", expected),
                "commit": commit,
            }
            append_line(file, record)
            print(record, flush=True)
            left = killer.left if record["same"] else 0


if __name__ == "__main__":
    main()
