"""How fast logs are collected, against a plain loop over one environment.

Prints, for each world, steps a second on one processor: ours, with several simulations and one call
of the policy for all of them, and those of a loop that asks the same policy at every step of one
environment of Gymnasium's (for traffic: one simulation is all that a process can hold). Both take
turns, so that a busy moment of the machine hits both. `--out FILE` writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from bench_shared import write_figures

from nacre.policies.network_policy import MLPPolicy
from nacre.simulators.registry import World, find_world, is_traffic
from nacre.simulators.rollouts import draw_actions, run_steps

WORLDS = {"Hopper-v4": 10_000, "HalfCheetah-v4": 10_000, "traffic": 500}
"""Steps that a round takes."""
WARM_UP = 50

Round = Callable[[int], tuple[float, float]]
"""From steps to steps a second by the clock, and by the processor's own time."""


def rate(steps: int, work: Callable[[], Any]) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    work()
    return steps / (time.perf_counter() - began), steps / (time.process_time() - used)


def make_ours(world: World, policy: MLPPolicy) -> tuple[Round, Callable[[], None]]:
    simulators = [world.make() for _ in range(world.side_by_side)]
    choose = draw_actions(policy, 0)

    def run(steps: int) -> tuple[float, float]:
        each = steps // len(simulators)
        return rate(
            each * len(simulators),
            lambda: run_steps(
                simulators, choose, each, episode_length=world.episode_length, seed=0
            ),
        )

    def close() -> None:
        for simulator in simulators:
            simulator.close()

    return run, close


def make_plain(world: World, policy: MLPPolicy) -> tuple[Round, Callable[[], None]]:
    """One environment, one compiled call of the policy at each step, nothing kept but a list."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = gymnasium.make(world.name)

    @jax.jit
    def act(observation: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        key, draw = jax.random.split(key)
        return policy(observation[None]).sample(draw)[0], key

    def loop(steps: int) -> None:
        observation, _ = environment.reset(seed=0)
        key, kept = jax.random.key(0), []
        for _ in range(steps):
            action, key = act(jnp.asarray(observation, jnp.float32), key)
            before, action = observation, np.asarray(action)
            observation, reward, terminated, truncated, _ = environment.step(action)
            kept.append((before, action, reward, observation, terminated, truncated))
            if terminated or truncated:
                observation, _ = environment.reset()

    return lambda steps: rate(steps, lambda: loop(steps)), environment.close


def measure(name: str, rounds: int) -> dict[str, Any]:
    world = find_world(name)
    policy = MLPPolicy.init(jax.random.key(0), world.signature)
    sides = {"ours": make_ours(world, policy)}
    if not is_traffic(name):
        sides["plain"] = make_plain(world, policy)
    results: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    for run, _ in sides.values():
        run(WARM_UP)
    for _ in range(rounds):
        for side, (run, _) in sides.items():
            results[side].append(run(WORLDS[name]))
    for _, close in sides.values():
        close()
    figures: dict[str, Any] = {"side_by_side": world.side_by_side}
    for side, prefix in (("ours", ""), ("plain", "one_environment_")):
        if side in results:
            clock, processor = zip(*results[side], strict=True)
            figures[f"{prefix}steps_per_s"] = statistics.median(clock)
            figures[f"{prefix}steps_per_processor_s"] = statistics.median(processor)
    if "plain" in results:
        pairs = zip(results["ours"], results["plain"], strict=True)
        figures["speed_up"] = statistics.median(ours[1] / plain[1] for ours, plain in pairs)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    figures = {name: measure(name, arguments.rounds) for name in WORLDS}
    write_figures(figures, arguments.out)


if __name__ == "__main__":
    main()
