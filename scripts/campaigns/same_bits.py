"""The same work on every engine, and with a log in several files: the same bits.

    PYTHONPATH=. python scripts/campaigns/same_bits.py --out results/faults

Every case is a command, run once on each engine with two workers of its own. Compared are the
documents that it leaves, without times and what says how they were made. The case `shards` asks for
the same advice about one log in one, three and seven files. Where an extra is not installed its
engine has no lines. What this commit has a line for is not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import Box
from lost_workers import make_table

from nacre.costs import TransportCost, groups
from nacre.costs.toml import write_cost
from nacre.experiments.records import append_line, read_lines
from nacre.logs import read_log, write_log
from nacre.policies import MLPPolicy, Signature, write_policy
from nacre.versions import find_commit

EXTRAS = {"threads": "nacre", "local": "nacre", "dask": "distributed", "ray": "ray"}
SHARDS = (1, 3, 7)
APART = {"wall_seconds", "seconds", "execution", "created", "memory_megabytes", "timings"}
"""Fields that say when, where and how fast something was made."""
HOPPER_ADVICE = """
learners = ["scale_noise"]
[[estimators]]
kind = "fitted_q"
sets = 2
groups = 4
sizes = [64]
"""
WORLD = ["--policy", "world-00-old.safetensors", "--candidate", "world-00-other.safetensors"]
WORLD += ["--cost", "cost.toml", "--advice-config", "advice.toml", "--discount", "0.9"]
HOPPER = ["--policy", "hopper.safetensors"]


def list_cases(steps: int) -> dict[str, list[str]]:
    """The command of each case, in a folder with all that it reads."""
    rows = "hopper-suboptimal,hopper-optimal"
    return {
        "finite": ["advise", "--log", "world-00.parquet", *WORLD],
        **{f"shards-{n}": ["advise", "--log", f"shards-{n}", *WORLD] for n in SHARDS},
        "calibrate": [
            *("calibrate", "finite", "--worlds", "two_arms,contexts", "--kinds", "random"),
            *("--seeds", "100-109", "--no-baselines"),
        ],
        "hopper": [
            *("advise", "--log", "hopper.parquet", *HOPPER, "--cost", "hopper.toml"),
            *("--advice-config", "hopper-advice.toml"),
        ],
        "reproduce": [
            *("reproduce", "gymnasium", "--rows", rows, "--seeds", "100", "--steps", str(steps)),
        ],
        "demo": ["demo"],
    }


def make_inputs(folder: Path, steps: int) -> None:
    """Logs, policies and costs of all cases."""
    make_table(folder, 1)
    log = read_log(folder / "world-00.parquet")
    for n in SHARDS:
        (folder / f"shards-{n}").mkdir()
        for place, episodes in enumerate(np.array_split(np.arange(log.n_episodes), n)):
            write_log(log.select(episodes), folder / f"shards-{n}" / f"part-{place}.parquet")
    spaces = [Box(-np.inf, np.inf, (11,), np.float32), Box(-1.0, 1.0, (3,), np.float32)]
    write_policy(
        MLPPolicy.init(jax.random.key(100), Signature(*spaces)), folder / "hopper.safetensors"
    )
    write_cost(TransportCost(5.0, 0.0, groups.sign(0)), folder / "hopper.toml")
    (folder / "hopper-advice.toml").write_text(HOPPER_ADVICE)
    collect = ["collect", "Hopper-v4", *HOPPER, "--steps", str(steps), "--seed", "100"]
    run(folder, [*collect, "--out", "hopper.parquet"])


def run(folder: Path, command: list[str]) -> None:
    """A command of nacre in a process of its own; what it prints is shown if it fails."""
    done = subprocess.run(  # noqa: S603 - nacre itself
        [sys.executable, "-m", "nacre", *command, "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-500:]} {done.stderr[-1500:]}")


def digest_folder(folder: Path) -> tuple[int, str]:
    """How many numbers the documents of a folder hold, and the SHA-256 of all but `APART`."""
    numbers, digest = 0, hashlib.sha256()
    for path in sorted([*folder.rglob("*.json"), *folder.rglob("*.jsonl")]):
        if path.name == "manifest.json":
            continue
        text = path.read_text(encoding="utf-8")
        parts = text.splitlines() if path.suffix == ".jsonl" else [text]
        # Which line comes first is a matter of time.
        for part in sorted(json.dumps(_strip(json.loads(one)), sort_keys=True) for one in parts):
            digest.update(part.encode())
            numbers += sum(character.isdigit() for character in part)
    return numbers, digest.hexdigest()


def _strip(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _strip(value) for name, value in document.items() if name not in APART}
    return [_strip(value) for value in document] if isinstance(document, list) else document


def main() -> None:
    """All cases on all engines that are here, as far as they have no line of this commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000, help="Transitions of Hopper's logs.")
    parser.add_argument("--cases", nargs="*", help="Names of cases; else all.")
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file, commit = options.out / "same_bits.jsonl", find_commit()
    engines = [name for name, extra in EXTRAS.items() if importlib.util.find_spec(extra)]
    known = [one for one in read_lines(file) if one["commit"] == commit]
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder, options.steps)
        for case, command in list_cases(options.steps).items():
            for engine in engines:
                if options.cases and case not in options.cases:
                    continue
                if any((one["case"], one["engine"]) == (case, engine) for one in known):
                    continue
                out = folder / f"{case}-{engine}"
                began = time.monotonic()
                run(folder, [*command, "--engine", engine, "--workers", "2", "--out", str(out)])
                digits, sha256 = digest_folder(out)
                record = {
                    "case": case,
                    "engine": engine,
                    "digits": digits,
                    "sha256": sha256,
                    "seconds": round(time.monotonic() - began, 1),
                    "commit": commit,
                }
                append_line(file, record)
                print(record, flush=True)


if __name__ == "__main__":
    main()
