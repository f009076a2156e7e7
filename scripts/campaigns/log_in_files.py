"""A log of Ant's shape in many files behind S3 on this machine, against a plain scan of them.

    python scripts/campaigns/log_in_files.py --files 64 --episodes 32 --workers 2

Needs moto's server, boto3 and s3fs. Writes files of episodes of 1,000 rows and puts them into a
bucket of a server on loopback. Every step runs in a process of its own, which says how long it took
and how much memory the largest of its workers held: a plain scan by pyarrow, the checks with the
returns, the switching cost, and one fitted-Q estimate from arrays that are mapped. `--files 64
--episodes 1563` are 100,000,000 rows. The data goes when all is done. Steps of the same size and
commit that have a line are not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BUCKET = "log"
STEPS = ("scan", "checks", "cost", "fitted-q")
EPISODE = 1000


def scan_file(address: str) -> tuple[int, int]:
    """Read all columns of a file behind an address; rows and bytes."""
    import fsspec
    import pyarrow.parquet as pq

    with fsspec.open(address, "rb") as stream:
        table = pq.read_table(stream)
    return table.num_rows, table.nbytes


def run_step(step: str, workers: int, scratch: Path) -> dict[str, Any]:
    """In a process of its own: what a step found."""
    from nacre.logs.shards import list_files, survey_log
    from nacre.parallel.engine import Engine, map_tasks

    address, engine = f"s3://{BUCKET}/ant", Engine("local", workers=workers)
    if step == "scan":
        found = [one for _, one in map_tasks(scan_file, list_files(address), engine=engine)]
        return {"transitions": sum(rows for rows, _ in found)}
    if step == "checks":
        return survey_log(address, discount=0.99, engine=engine).as_json()
    return _run_networks(step, address, engine, scratch)


def _run_networks(step: str, address: str, engine: Any, scratch: Path) -> dict[str, Any]:
    import jax
    from bench_mapped import make_log

    from nacre.costs import TransportCost, groups
    from nacre.costs.by_file import evaluate_by_file
    from nacre.logs import read_log
    from nacre.policies import MLPPolicy, Signature
    from nacre.training.fitted_evaluation import EvaluationConfig, evaluate_policy

    small = make_log(100)
    signature = Signature(small.observation_space, small.action_space)
    old, new = (MLPPolicy.init(jax.random.key(seed), signature) for seed in (100, 101))
    if step == "cost":
        cost = TransportCost(5.0, 0.0, groups.sign(0))
        return evaluate_by_file(cost, old, new, address, engine=engine).as_json()
    log = read_log(address, cache_dir=scratch / "cache")
    config = EvaluationConfig(epochs=2, steps_per_epoch=500)
    found = evaluate_policy(new, log, log.starts[0], config, discount=0.99, seed=100)
    return {"transitions": len(log), "value": found.value, "healthy": found.healthy}


def make_files(folder: Path, files: int, episodes: int) -> None:
    """Files of so many episodes; the same rows in every file, under other numbers of episodes."""
    import numpy as np
    from bench_mapped import EPISODES, make_log

    from nacre.logs import write_log

    for number in range(files):
        log = make_log(100 + number % 8)
        write_log(log.select(np.arange(episodes) % EPISODES), folder / f"part-{number:03d}.parquet")


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[dict[str, str]]:
    """A server of S3 with the files of a folder; what a process needs in its environment."""
    import boto3

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    names = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    names |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": address}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    os.environ.update(names)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(1)
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        for path in sorted(folder.iterdir()):
            client.upload_file(str(path), BUCKET, f"ant/{path.name}")
        yield names
    finally:
        server.terminate()
        server.wait()


def measure(step: str, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """A step in a process of its own, with a folder of its own for what it fetches."""
    fetched = scratch / f"fetched-{step}"
    fetched.mkdir()
    command = [sys.executable, __file__, "--step", step, "--workers", str(options.workers)]
    done = subprocess.run(  # noqa: S603 - this script
        [*command, "--scratch", str(scratch)],
        env=os.environ | {"NACRE_FETCHED": str(fetched)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Make the files, serve them, and run all steps that have no line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=32, help="In each file.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        began = time.perf_counter()
        found = run_step(options.step, options.workers, options.scratch)
        seconds = time.perf_counter() - began
        peaks = [
            resource.getrusage(who).ru_maxrss * 1024 / 1e6
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        print(json.dumps({"seconds": round(seconds, 2), "peak_mb": round(max(peaks)), **found}))
        return
    from nacre.experiments.records import append_line, read_lines
    from nacre.versions import find_commit

    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "log_in_files.jsonl"
    size = {"files": options.files, "rows": options.files * options.episodes * EPISODE}
    same = {**size, "workers": options.workers, "commit": find_commit()}
    known = {one["step"] for one in read_lines(file) if same.items() <= one.items()}
    with TemporaryDirectory(prefix="nacre-ant-") as name:
        folder = Path(name) / "files"
        folder.mkdir()
        make_files(folder, options.files, options.episodes)
        with serve(folder):
            for step in (one for one in STEPS if one not in known):
                line = {"step": step, **same, "found": measure(step, options, Path(name))}
                append_line(file, line)
                print(line, flush=True)


if __name__ == "__main__":
    main()
