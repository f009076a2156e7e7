"""Advice on random finite worlds with exact truth: how often verdicts and intervals are right.

One JSON line a world, so that it can be stopped and gone on with; --summary reads them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.costs import FiniteStates, SwitchingCost, TransportCost, groups
from nacre.estimators import exact
from nacre.experiments.records import read_lines
from nacre.parallel.local import map_tasks
from nacre.policies import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world

SHAPES = ((5, 3), (12, 4), (20, 5), (30, 6))
DISCOUNT = 0.95
HORIZON = 100
KEPT_WORLDS = 40
"""Compiled loops of so many worlds are kept: every length of a log has loops of its own."""


@dataclasses.dataclass(frozen=True)
class Task:
    """One world."""

    seed: int
    transitions: int
    out: Path


def judge_world(task: Task) -> dict[str, Any]:
    """Advice on one world, and the exact truth about its candidate.

    Even seeds have a random old policy and a price of up to the value range; odd ones an optimal
    policy, softened, at a price a tenth above the most that could be gained.
    """
    seed = task.seed
    n_states, n_actions = SHAPES[seed // 2 % len(SHAPES)]
    world = random_world(
        seed, n_states, n_actions, discount=DISCOUNT, terminating=seed // 2 % 2 == 1
    ).starting_at(0)
    low, high = exact.value_range(world)
    if seed % 2 == 0:
        old = 0.8 * random_policy(seed, world) + 0.2 / n_actions
        weights = (float(np.random.default_rng(seed).uniform(0.1, 1.0)) * (high - low), 0.0)
    else:
        best = np.asarray(exact.optimal_policy(world))
        old = 0.7 * best + 0.3 / n_actions
        most = float(exact.start_value(world, best) - exact.start_value(world, old))
        weights = (2.2 * most, 1.1 * most)
    cost = TransportCost(*weights, groups.halves(), state_measure=FiniteStates())
    log = world.sample_log(old, task.transitions, seed=seed, horizon=HORIZON)
    advice = advise(
        log,
        TabularPolicy.from_probabilities(old),
        cost,
        start=0,
        config=suggest_config(log, DISCOUNT),
        seed=seed,
    )
    old_value = float(exact.start_value(world, old))
    gains = []
    for assessment in advice.assessments:
        table = np.asarray(assessment.candidate.policy.table, np.float64)  # type: ignore[attr-defined]
        table /= table.sum(axis=-1, keepdims=True)
        gains.append(float(exact.start_value(world, table)) - old_value - assessment.cost.total)
    truth = gains[advice.judgement.chosen]
    interval = advice.chosen.gain.interval(0.9)
    return {
        "seed": seed,
        "transitions": task.transitions,
        "switch_optimal": seed % 2 == 1,
        "range": high - low,
        "verdict": advice.verdict,
        "confidence": advice.confidence,
        "chosen": advice.chosen.candidate.name,
        "gain": advice.chosen.gain.mean,
        "standard_error": advice.chosen.gain.standard_error,
        "doubt": advice.chosen.gain.doubt,
        "second_opinion": None if advice.chosen.second is None else advice.chosen.second.as_json(),
        "value_gain": truth + advice.chosen.cost.total,
        "fitted_gain": float(np.mean(advice.chosen.gain.differences)),
        "pessimistic": advice.chosen.gain.pessimistic,
        "low": interval[0],
        "high": interval[1],
        "truth": truth,
        "best": max(gains),
        "possible": max(*gains, find_possible(world, old, cost)),
        "truths": dict(zip([a.candidate.name for a in advice.assessments], gains, strict=True)),
        "seconds": round(float(advice.record["wall_seconds"]), 1),
    }


def find_possible(world: FiniteWorld, old: np.ndarray, cost: SwitchingCost) -> float:
    """A net gain that could be had: the best of the ways from the old to the optimal policy."""
    best = np.asarray(exact.optimal_policy(world))
    old_value = float(exact.start_value(world, old))
    ways = [(1 - share) * old + share * best for share in np.linspace(0.1, 1.0, 10)]
    return max(
        float(exact.start_value(world, way))
        - old_value
        - cost.evaluate(
            TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(way)
        ).total
        for way in ways
    )


def summarise(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The shares that the design asks for."""
    switched = [line for line in lines if line["verdict"] == "switch"]
    paying = [line for line in lines if line["possible"] > 0.1 * line["range"]]
    covered = [line["low"] <= line["truth"] <= line["high"] for line in lines]
    wrong = [line["seed"] for line in switched if line["truth"] < 0]
    return {
        "worlds": len(lines),
        "switched": len(switched),
        "wrong_switches": len(wrong),
        "wrong_switch_share": len(wrong) / len(lines),
        "wrong_switch_seeds": wrong,
        "paying": len(paying),
        "switched_where_it_pays": float(np.mean([one["verdict"] == "switch" for one in paying]))
        if paying
        else None,
        "undecided": sum(line["verdict"] == "undecided" for line in lines),
        "covered_90": float(np.mean(covered)),
        "covered_90_switch_optimal": float(
            np.mean([c for c, line in zip(covered, lines, strict=True) if line["switch_optimal"]])
        ),
        "seconds": float(np.mean([line["seconds"] for line in lines])),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """What `summarise` found, for people."""
    found = summarise(lines)
    pays = found["switched_where_it_pays"]
    rows = {
        "worlds": f"{found['worlds']}",
        "wrong `switch`": f"{found['wrong_switches']} ({found['wrong_switch_share']:.1%})",
        "worlds where switching pays by more than a tenth of the range": f"{found['paying']}",
        "of these `switch`": "–" if pays is None else f"{pays:.1%}",
        "`undecided`": f"{found['undecided']}",
        "90 % interval of the net gain covers the truth": f"{found['covered_90']:.1%}",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="2000-2499")
    parser.add_argument("--transitions", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/calibration/finite.jsonl"))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    wanted = range(int(first), int(last or first) + 1)
    done = {(line["seed"], line["transitions"]) for line in read_lines(options.out)}
    tasks = [
        Task(seed, options.transitions, options.out)
        for seed in wanted
        if (seed, options.transitions) not in done
    ]
    if not options.summary:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        for place, line in map_tasks(judge_world, tasks, processes=options.processes):
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            if place % KEPT_WORLDS == KEPT_WORLDS - 1:
                jax.clear_caches()
    chosen = [
        line
        for line in read_lines(options.out)
        if line["seed"] in wanted and line["transitions"] == options.transitions
    ]
    print(json.dumps(summarise(chosen), indent=2))


if __name__ == "__main__":
    main()
