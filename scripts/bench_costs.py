"""Time the price of a switch over a large log against the bare forward passes of its two networks.

Run as `python scripts/bench_costs.py [--states 1000000] [--repeat 5] [--json]`. Both sides take the
same states through the same chunked scan, in turn, in one process; compilation is not counted. The
bare side finds its states in place and reads nothing but the networks' outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box

from nacre.costs import CostBreakdown, LogStates, TransportCost, groups
from nacre.costs.family import CHUNK
from nacre.policies import MLPPolicy, Signature

LARGEST_RATIO = 3.0
LARGEST_MEMORY = 1500.0


@eqx.filter_jit
def run_networks(old: MLPPolicy, new: MLPPolicy, states: jax.Array) -> jax.Array:
    """Outputs of both networks, added up so that none can be left out."""

    def visit(total: jax.Array, chunk: jax.Array) -> tuple[jax.Array, None]:
        outputs = old.network(old.encode(chunk)).sum() + new.network(new.encode(chunk)).sum()
        return total + outputs, None

    return jax.lax.scan(visit, jnp.zeros(()), states)[0]


def make_policies() -> tuple[MLPPolicy, MLPPolicy]:
    signature = Signature(Box(-np.inf, np.inf, (11,)), Box(-1.0, 1.0, (3,)))
    old_key, new_key = jax.random.split(jax.random.key(0))
    return MLPPolicy.init(old_key, signature), MLPPolicy.init(new_key, signature)


def time_in_turn(repeat: int, *functions: Callable[[], object]) -> list[list[float]]:
    """Seconds of every repetition of each function, after one that is not counted."""
    seconds: list[list[float]] = [[] for _ in functions]
    for turn in range(repeat + 1):
        for function, times in zip(functions, seconds, strict=True):
            started = time.perf_counter()
            function()
            if turn:
                times.append(time.perf_counter() - started)
    return seconds


def measure(n_states: int, repeat: int) -> dict[str, Any]:
    old, new = make_policies()
    cost = TransportCost(5.0, 0.1, groups.sign(0))
    states = np.random.default_rng(0).standard_normal((n_states, 11), np.float32)

    def price() -> CostBreakdown:
        return cost.evaluate(old, new, states)

    sample = LogStates().support(jax.random.key(0), states, old.observation_space)
    chunks, _ = sample.split(CHUNK)

    def forward() -> jax.Array:
        return run_networks(old, new, chunks).block_until_ready()

    priced, bare = time_in_turn(repeat, price, forward)
    breakdown = price()
    ratio = float(np.median(priced) / np.median(bare))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "states": n_states,
        "repeat": repeat,
        "threads": len(os.sched_getaffinity(0)),
        "total": breakdown.total,
        "price_seconds": float(np.median(priced)),
        "price_seconds_each": priced,
        "networks_seconds": float(np.median(bare)),
        "networks_seconds_each": bare,
        "ratio": ratio,
        "largest_ratio": LARGEST_RATIO,
        "peak_rss_mb": peak,
        "largest_rss_mb": LARGEST_MEMORY,
        "holds": ratio <= LARGEST_RATIO and peak <= LARGEST_MEMORY,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="price of a switch against two forward passes")
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    result = measure(options.states, options.repeat)
    if options.json:
        print(json.dumps(result))
        return 0 if result["holds"] else 1
    print(
        f"price of a switch over {result['states']:,} states, two networks 11 → 256 → 256 → 3, "
        f"median of {result['repeat']} on {result['threads']} threads"
    )
    print(f"  cost.evaluate          {result['price_seconds']:8.3f} s")
    print(f"  two bare forward passes{result['networks_seconds']:8.3f} s")
    print(f"  ratio                  {result['ratio']:8.2f}    at most {LARGEST_RATIO:g}")
    print(f"  peak resident memory   {result['peak_rss_mb']:8.0f} MB at most {LARGEST_MEMORY:.0f}")
    return 0 if result["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
