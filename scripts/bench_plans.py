"""Time the optimal plans of the general transport cost against a plain loop over POT.

Run as `python scripts/bench_plans.py [--states 2000] [--actions 25] [--repeat 5]`. With
`--samples 256` it times the optimal plan of a cost between two policies whose actions are vectors,
at 20 states, from a fresh process on: compilation is counted there. Else both sides solve
the same problems in float64, in turn, in one process; compilation is not counted. The loop is
written as one would write it for one state at a time; "lean" leaves out all but the solver calls,
with the inputs cut out beforehand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
import ot

from nacre.costs import GeneralTransportCost, groups
from nacre.costs.plans import optimal_plans, optimal_transport
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]

ROWS: list[dict[str, Any]] = []


def split_state(
    old: np.ndarray, new: np.ndarray, groups: np.ndarray, ground: np.ndarray
) -> tuple[Problem, list[Problem], tuple[Any, list[Any]]]:
    """The learning problem and each group's transaction problem of one state."""
    rho, eta = np.zeros_like(old), np.zeros_like(new)
    inner, places = [], []
    for group in range(groups.max() + 1):
        (k,) = np.nonzero(groups == group)
        a, b = old[k].sum(), new[k].sum()
        rho[k] = max(a - b, 0) * old[k] / a
        eta[k] = max(b - a, 0) * new[k] / b
        inner.append((min(a, b) * old[k] / a, min(a, b) * new[k] / b, ground[np.ix_(k, k)]))
        places.append(np.ix_(k, k))
    (i,), (j,) = np.nonzero(rho), np.nonzero(eta)
    outer = (rho[i], eta[j] * rho.sum() / eta.sum(), ground[np.ix_(i, j)])
    return outer, inner, (np.ix_(i, j), places)


def loop_over_pot(
    old: np.ndarray, new: np.ndarray, groups: np.ndarray, ground: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    learning = np.zeros((*old.shape, new.shape[-1]))
    transaction = np.zeros_like(learning)
    for state in range(len(old)):
        outer, inner, (place, places) = split_state(old[state], new[state], groups, ground)
        learning[state][place] = ot.emd(*outer)
        for problem, within in zip(inner, places, strict=True):
            transaction[state][within] = ot.emd(*problem)
    return learning, transaction


def median_times(repeat: int, *functions: Callable[[], object]) -> list[float]:
    seconds = np.empty((repeat, len(functions)))
    for row in range(repeat):
        for column, function in enumerate(functions):
            start = time.perf_counter()
            function()
            seconds[row, column] = time.perf_counter() - start
    return [float(value) for value in np.median(seconds, axis=0)]


def report(name: str, ours: float, pot: float, lean: float | None, error: float) -> None:
    ROWS.append(
        {
            "problem": name,
            "nacre_seconds": ours,
            "pot_seconds": pot,
            "ratio": ours / pot,
            "lean_pot_seconds": lean,
            "largest_cost_difference": error,
        }
    )
    against = "" if lean is None else f"   lean {lean:7.3f} s   ratio {ours / lean:5.2f}"
    print(
        f"{name:34s} nacre {ours:7.3f} s   POT {pot:7.3f} s   ratio {ours / pot:5.2f}{against}"
        f"   largest difference in cost {error:.1e}",
        file=sys.stderr,
        flush=True,
    )


def compare(
    name: str, old: np.ndarray, new: np.ndarray, groups: np.ndarray, ground: np.ndarray, repeat: int
) -> None:
    membership = np.eye(groups.max() + 1)[groups]
    compiled = jax.jit(lambda o, n: optimal_plans(o, n, membership, membership, ground, ground))
    problems = []
    for state in range(len(old)):
        outer, inner, _ = split_state(old[state], new[state], groups, ground)
        problems += [outer, *inner]
    plans = jax.block_until_ready(compiled(old, new))
    expected = loop_over_pot(old, new, groups, ground)
    error = max(
        float(np.abs(((np.asarray(mine) - other) * ground).sum((1, 2))).max())
        for mine, other in zip(plans, expected, strict=True)
    )
    ours, pot, lean = median_times(
        repeat,
        lambda: jax.block_until_ready(compiled(old, new)),
        lambda: loop_over_pot(old, new, groups, ground),
        lambda: [ot.emd(*problem) for problem in problems],
    )
    report(name, ours, pot, lean, error)


def compare_whole(
    name: str, old: np.ndarray, new: np.ndarray, ground: np.ndarray, repeat: int
) -> None:
    compiled = jax.jit(optimal_transport)
    plan = np.asarray(compiled(old, new, ground))
    expected = np.stack([ot.emd(a, b, ground) for a, b in zip(old, new, strict=True)])
    error = float(np.abs(((plan - expected) * ground).sum((1, 2))).max())
    ours, pot = median_times(
        repeat,
        lambda: jax.block_until_ready(compiled(old, new, ground)),
        lambda: [ot.emd(a, b, ground) for a, b in zip(old, new, strict=True)],
    )
    report(name, ours, pot, None, error)


def time_samples(n_samples: int, n_states: int) -> dict[str, float]:
    """Seconds, on the clock and of the processor, of the first and of the second evaluation."""
    signature = Signature(
        gymnasium.spaces.Box(-np.inf, np.inf, (11,), np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32),
    )
    old, new = (
        MLPPolicy.init(jax.random.key(seed), signature, hidden=(64, 64)) for seed in range(2)
    )
    states = np.random.default_rng(0).standard_normal((n_states, 11)).astype(np.float32)
    cost = GeneralTransportCost(5.0, 1.0, groups.sign(0), plan="optimal", n_samples=n_samples)
    found: dict[str, float] = {"samples": n_samples, "states": n_states}
    for name in ("first", "second"):
        clock, processor = time.perf_counter(), time.process_time()
        found["total"] = cost.evaluate(old, new, states).total
        found[f"{name}_seconds"] = time.perf_counter() - clock
        found[f"{name}_processor_seconds"] = time.process_time() - processor
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="optimal plans against a plain loop over POT")
    parser.add_argument("--states", type=int, default=2000)
    parser.add_argument("--actions", type=int, default=25)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--samples", type=int, help="points in each group, at 20 states")
    options = parser.parse_args()
    if options.samples:
        print(json.dumps(time_samples(options.samples, 20), indent=2))
        return
    rng = np.random.default_rng(0)
    n = options.actions
    old, new = (rng.dirichlet(np.ones(n), options.states) for _ in range(2))
    points = rng.standard_normal((n, 2))
    grounds = {
        "random costs": rng.random((n, n)),
        "L2 costs": np.linalg.norm(points[:, None] - points[None], axis=-1),
    }
    print(
        f"{options.states} states, {n} actions, median of {options.repeat} repetitions",
        file=sys.stderr,
    )
    with jax.enable_x64(True):
        for kind, ground in grounds.items():
            halves, fifths = np.arange(n) * 2 // n, np.arange(n) * 5 // n
            compare(f"both plans, 2 groups, {kind}", old, new, halves, ground, options.repeat)
            compare(f"both plans, 5 groups, {kind}", old, new, fifths, ground, options.repeat)
            compare_whole(f"one whole problem, {kind}", old, new, ground, options.repeat)
    if options.json:
        print(json.dumps({"states": options.states, "actions": n, "rows": ROWS}))


if __name__ == "__main__":
    main()
