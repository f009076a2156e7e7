"""Numbers that break things: the verdict does not depend on the unit of the reward.

    python scripts/campaigns/reward_scale.py --out results/faults

Fifty small logs, most of them finite or of one step, are advised on with their rewards and costs in
their own unit and in others, from 1e-9 to 1e9 of it and beyond. The verdict must be the same, and
the bounds but for rounding. Then logs whose numbers are at the edge: constant, huge, subnormal, one
state, four episodes. There nothing may be raised but a clear refusal, and no switch may come from
nothing. Rewards are stored as 32-bit numbers, which ends what can be scaled. Lines that are there
are not made again.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.costs import TransportCost, groups
from nacre.errors import InputError
from nacre.estimators.exact import optimal_policy
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.experiments.records import append_line, read_lines
from nacre.learners.base import Candidate
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.policies import Policy, TabularPolicy
from nacre.simulators import random_policy, random_world
from nacre.versions import find_commit

SCALES = (1.0, 1e-9, 1e-4, 1e4, 1e9, 1e30)
TOLERANCE = 1e-4
"""Of a bound, as a share of the interval's width."""
NO_LIMIT = 9e9
"""Where one of two bounds is infinite; JSON has no infinity."""
CONFIG = AdviceConfig(
    discount=0.9, learners=(ScaleNoise(),), estimators=(Tabular(replicates=100), OneStep())
)
Rewards = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A log in its own unit, with what an advice needs."""

    log: Log
    old: Policy
    other: Policy
    weights: tuple[float, float]


def make_case(number: int) -> Case:
    """The first thirty-five have several states and steps, the others one step."""
    rng = np.random.default_rng([100, number])
    states, actions = int(rng.integers(2, 7)), int(rng.integers(2, 4))
    world = random_world(100 + number, states, actions, discount=0.9)
    table = random_policy(100 + number, world, concentration=2.0)
    # Every third candidate is random, the others are on the way to the best policy.
    target = optimal_policy(world) if number % 3 else random_policy(150 + number, world)
    several = number < 35
    log = world.sample_log(table, 2000, seed=100 + number, horizon=25 if several else 1)
    if not several:
        log = change_log(log, np.asarray(log.rewards, np.float64), ends=True)
    old, other = (TabularPolicy.from_probabilities(one) for one in (table, (table + target) / 2))
    spread = float(np.std(log.rewards))
    cost = float(rng.uniform(0.0, 12.0 if several else 3.0)) * spread
    return Case(log, old, other, (cost, cost * float(rng.uniform(0.0, 1.0))))


def change_log(log: Log, rewards: Rewards, *, ends: bool = False) -> Log:
    """The same log with other rewards, and perhaps with the end of the world after each step."""
    everywhere = np.ones(log.n_transitions, bool)
    return Log.from_arrays(
        log.observations,
        log.actions,
        rewards,
        everywhere if ends else log.terminated,
        ~everywhere if ends else log.truncated,
        log.next_observations,
        offsets=log.offsets,
        observation_space=log.observation_space,
        action_space=log.action_space,
    )


def ask(case: Case, rewards: Rewards, scale: float) -> dict[str, Any]:
    """The verdict, and bounds in the log's own unit."""
    changed = change_log(case.log, rewards * scale)
    spaces = case.old.signature.action_size
    halves = groups.indices([[0], list(range(1, spaces))])
    cost = TransportCost(case.weights[0] * scale, case.weights[1] * scale, halves)
    candidates = [Candidate("other", case.other, "given")]
    found = advise(changed, case.old, cost, candidates=candidates, config=CONFIG).record
    bounds = (found.net_gain.low, found.net_gain.high)
    return {"verdict": found.verdict, "bounds": [_in_unit(bound, scale) for bound in bounds]}


def _in_unit(bound: float | None, scale: float) -> float | None:
    return None if bound is None or not math.isfinite(bound) else bound / scale


def compare(number: int) -> dict[str, Any]:
    """One log in all units."""
    case = make_case(number)
    rewards = np.asarray(case.log.rewards, np.float64)
    answers = {f"{scale:g}": ask(case, rewards, scale) for scale in SCALES}
    own = answers["1"]
    same = all(one["verdict"] == own["verdict"] for one in answers.values())
    return {
        "log": number,
        "verdict": own["verdict"],
        "same_verdict": same,
        "largest_difference": max(_differ(own, one) for one in answers.values()),
        "clean": same and all(_differ(own, one) <= TOLERANCE for one in answers.values()),
        "answers": answers,
    }


def _differ(one: dict[str, Any], other: dict[str, Any]) -> float:
    """The largest difference of the bounds, as a share of the width."""
    if None in one["bounds"]:
        return 0.0 if one["bounds"] == other["bounds"] else NO_LIMIT
    if None in other["bounds"]:
        return NO_LIMIT
    width = one["bounds"][1] - one["bounds"][0]
    pairs = zip(one["bounds"], other["bounds"], strict=True)
    return float(max(abs(a - b) for a, b in pairs) / max(width, 1e-300))


def _spike(rewards: Rewards, size: float, place: float = 0.5) -> Rewards:
    spiked = rewards.copy()
    spiked[int(place * len(rewards))] = size
    return spiked


EDGES: dict[str, Callable[[Rewards], Rewards]] = {
    "zero": lambda rewards: 0.0 * rewards,
    "constant": lambda rewards: 0.0 * rewards + 3.0,
    "constant 1e30": lambda rewards: 0.0 * rewards + 1e30,
    "constant subnormal": lambda rewards: 0.0 * rewards + 1e-41,
    "plus and minus 1e30": lambda rewards: np.where(np.arange(len(rewards)) % 2, 1e30, -1e30),
    "largest": lambda rewards: np.sign(rewards - rewards.mean()) * 1e38,
    "subnormal": lambda rewards: rewards * 1e-41,
    "smallest normal": lambda rewards: rewards * 1e-37,
    "one of 1e30": lambda rewards: _spike(rewards, 1e30),
    "one of 1e30, early": lambda rewards: _spike(rewards, 1e30, 0.1),
    "one of 1e30, late": lambda rewards: _spike(rewards, 1e30, 0.8),
    "one of -1e30, early": lambda rewards: _spike(rewards, -1e30, 0.1),
    "one of -1e30, late": lambda rewards: _spike(rewards, -1e30, 0.8),
    "one of -1e30": lambda rewards: _spike(rewards, -1e30),
    "one subnormal": lambda rewards: _spike(0.0 * rewards, 1e-41),
    "from 1e-30 to 1e30": lambda rewards: 10.0 ** np.linspace(-30, 30, len(rewards)),
    "shifted by 1e6": lambda rewards: rewards + 1e6,
}
NOTHING = {"zero", "constant", "constant 1e30", "constant subnormal"}
"""Rewards of which no candidate can gain anything in an endless world."""


def list_edges() -> Iterator[tuple[str, Case, Callable[[Rewards], Rewards]]]:
    """Numbers at the edge on a finite log, on one of one step, with one state, of four episodes."""
    shapes = {"finite": make_case(1), "one step": make_case(40)}
    few = shapes["finite"]
    shapes["four episodes"] = Case(few.log.select(np.arange(4)), few.old, few.other, few.weights)
    world = random_world(100, 1, 2, discount=0.9)
    table, best = random_policy(100, world), optimal_policy(world)
    old, other = (TabularPolicy.from_probabilities(one) for one in (table, (table + best) / 2))
    log = world.sample_log(table, 2000, seed=100, horizon=25)
    shapes["one state"] = Case(log, old, other, (0.1, 0.0))
    for shape, case in shapes.items():
        yield f"{shape}, own rewards", case, lambda rewards: rewards
        for name, change in EDGES.items():
            yield f"{shape}, {name}", case, change


def try_edge(name: str, case: Case, change: Callable[[Rewards], Rewards]) -> dict[str, Any]:
    """What an advice on such numbers says; with a cost of nothing, which tempts most."""
    rewards = change(np.asarray(case.log.rewards, np.float64))
    told = ""
    try:
        free = Case(case.log, case.old, case.other, (0.0, 0.0))
        verdict = ask(free, rewards, 1.0)["verdict"]
    except InputError as error:
        verdict, told = "refused", error.problems[0]
    except Exception as error:
        verdict, told = "raised", f"{type(error).__name__}: {error}"
    wrong = verdict == "switch" and name.partition(", ")[2] in NOTHING
    return {
        "edge": name,
        "verdict": verdict,
        "told": told,
        "clean": verdict != "raised" and not wrong,
    }


def main() -> None:
    """All logs and edges that have no line yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--logs", type=int, default=50)
    options = parser.parse_args()
    file, commit = options.out / "reward_scale.jsonl", find_commit()
    done = {record.get("edge", record.get("log")) for record in read_lines(file)}

    def keep(record: dict[str, Any], began: float) -> None:
        seconds = round(time.process_time() - began, 1)
        append_line(file, record | {"processor_seconds": seconds, "commit": commit})
        shown = {name: value for name, value in record.items() if name != "answers"}
        print(*shown.values(), seconds, flush=True)

    for name, case, change in list_edges():
        if name not in done:
            began = time.process_time()
            keep(try_edge(name, case, change), began)
    for number in range(options.logs):
        if number not in done:
            began = time.process_time()
            keep(compare(number), began)


if __name__ == "__main__":
    main()
