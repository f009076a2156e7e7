"""Advice on the bundled traffic log, its old policy given in five ways.

`python scripts/check_five_ways.py [--out results/five_ways.json] [--way onnx …]` takes about two
minutes a way. Figures of ways that are not run again are kept.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from nacre import examples
from nacre.advice.pipeline import advise
from nacre.cli.demo import demo_config
from nacre.cli.progress import open_reporter
from nacre.logs import Log
from nacre.policies import Categorical, Policy, read_policy, write_policy
from nacre.versions import find_commit, find_versions

EXACT = ("safetensors", "onnx", "callable", "columns")
WAYS = (*EXACT, "clone")
TITLES = {
    "safetensors": "safetensors",
    "onnx": "ONNX",
    "callable": "a function",
    "columns": "columns",
    "clone": "clone",
}
TOLERANCE = 0.01
"""Largest relative difference between net gains of the first four."""


def give(way: str, log: Log, policy: Policy, folder: Path, **options: Any) -> tuple[Log, Policy]:
    """A log and the policy that made it, as someone would have them who has it in this way."""
    if way == "safetensors":
        write_policy(policy, folder / "old.safetensors")
        return log, read_policy(folder / "old.safetensors", log=log, **options)
    if way == "onnx":
        write_policy(policy, folder / "old.onnx")
        return log, read_policy(folder / "old.onnx", log=log, **options)
    if way == "callable":
        return log, read_policy(ask(policy), log=log, outputs="probabilities", **options)
    if way == "columns":
        said = ask(policy)(log.observations)
        columns = {f"probability_{i}": said[:, i] for i in range(said.shape[1])}
        log = Log.from_arrays(**fields_of(log), columns=columns)
    return log, read_policy(way, log=log, **options)


def ask(policy: Policy) -> Callable[[np.ndarray], np.ndarray]:
    """The policy as a function of a batch of observations."""

    def probabilities(observations: np.ndarray) -> np.ndarray:
        distribution = policy(jnp.asarray(observations, jnp.float32))
        assert isinstance(distribution, Categorical)  # noqa: S101 - the lights are discrete
        return np.asarray(distribution.probabilities)

    return probabilities


def fields_of(log: Log) -> dict[str, Any]:
    """What a log is made of."""
    return {
        name: getattr(log, name)
        for name in (
            "observations",
            "actions",
            "rewards",
            "terminated",
            "truncated",
            "next_observations",
            "observation_space",
            "action_space",
        )
    }


def run(way: str, seed: int) -> dict[str, Any]:
    """Advice with the demonstration's configuration."""
    example = examples.load_traffic()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, open_reporter() as reporter:
        log, old = give(way, example.log, example.old_policy, Path(folder), seed=seed)
        found = advise(
            log, old, example.cost, config=demo_config(example), seed=seed, reporter=reporter
        )
    document = found.as_json()
    kept = ("verdict", "confidence", "net_gain", "old_value", "new_value", "cost", "chosen")
    return {name: document[name] for name in kept} | {
        "candidates": {one["name"]: one["net_gain"]["mean"] for one in document["candidates"]},
        "kind": type(old).__name__,
        "seconds": round(time.perf_counter() - began, 1),
    }


def compare(ways: dict[str, Any]) -> dict[str, Any]:
    """Whether the ways agree."""
    gains = {way: ways[way]["net_gain"] for way in WAYS if way in ways}
    first = [gains[way]["mean"] for way in EXACT if way in gains]
    spread = (max(first) - min(first)) / abs(float(np.mean(first)))
    clone = gains.get("clone")
    return {
        "same_verdict": len({ways[way]["verdict"] for way in gains}) == 1,
        "relative_spread_of_first_four": spread,
        "first_four_within_tolerance": spread <= TOLERANCE,
        "clone_within_intervals": clone is not None
        and all(
            gains[way]["low"] <= clone["mean"] <= gains[way]["high"]
            and clone["low"] <= gains[way]["mean"] <= clone["high"]
            for way in EXACT
            if way in gains
        ),
    }


def write_table(record: dict[str, Any]) -> str:
    """The table of docs/policies.md."""
    rows = ["| given as | net gain |", "| --- | --- |"]
    for way in WAYS:
        gain = record["ways"][way]["net_gain"]
        rows.append(
            f"| {TITLES[way]} | {gain['mean']:.2f} [{gain['low']:.2f}, {gain['high']:.2f}] |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/five_ways.json"))
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out.is_file() else {}
    ways = kept.get("ways", {}) if kept.get("seed") == options.seed else {}
    for way in options.way or WAYS:
        ways[way] = run(way, options.seed)
        document = {
            "seed": options.seed,
            "tolerance": TOLERANCE,
            "versions": find_versions(),
            "commit": find_commit(),
            "ways": ways,
        }
        document |= {"agreement": compare(ways)} if any(w in ways for w in EXACT) else {}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(document, indent=2) + "\n")
        print(way, json.dumps(ways[way]["net_gain"]), ways[way]["verdict"])


if __name__ == "__main__":
    main()
