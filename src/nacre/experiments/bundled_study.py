"""What learners reach on the bundled logs and the tour's machine, beside the gain that is there.

A record is an example and a seed: the true net gain of every candidate, finalist or not. Truth is
exact for the machine, and by paired rollouts elsewhere; docs/learners.md shows the table.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy import optimize

from nacre import examples
from nacre.advice.config import suggest_config
from nacre.advice.inputs import read_inputs
from nacre.advice.setting import Setting
from nacre.costs import TransportCost, groups
from nacre.estimators import exact
from nacre.experiments.bundled_worlds import (
    HABIT,
    TROLLEY,
    Clinic,
    Rail,
    Shop,
    as_network,
    make_machine,
)
from nacre.experiments.calibration.simulation import VectorWorld, sample_log, simulate_returns
from nacre.experiments.candidates import TruthOf, describe_candidates, look_at_candidates
from nacre.experiments.records import Record
from nacre.learners.base import LearningProblem
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.policy_iteration import PolicyIteration
from nacre.learners.switch_optimal import switch_optimal
from nacre.logs import read_log
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import LinearPolicy
from nacre.training.progress import NoProgress

WORLDS: dict[str, Callable[[], VectorWorld]] = {
    "cart": Rail,
    "trolley": Rail,
    "treatment": Clinic,
    "offers": Shop,
}
EXAMPLES = ("machine", *WORLDS)
LEARNERS = ("quick", "all")
"""Without Net Actor-Critic, and with it."""
EPISODES = 2000
LARGE_LOG = 40_000
"""Rows of the log that stands for as much as one likes, where nothing is known exactly."""


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about; Net Actor-Critic takes most of the time and can be left out."""
    return [
        {"example": example, "learners": learners, "seed": seed}
        for seed in seeds
        for learners in LEARNERS
        for example in EXAMPLES
        if learners == "quick" or example != "machine"
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Learn as an advice does, and find out what the candidates are truly worth."""
    example, seed = run["example"], run["seed"]
    setting = make_setting(example, seed)
    if run["learners"] == "quick":
        quick = [one for one in setting.config.learners if not isinstance(one, NetActorCritic)]
        config = dataclasses.replace(setting.config, learners=tuple(quick))
        setting = dataclasses.replace(setting, config=config)
    find_gain = find_truth(example, setting.old_policy)
    looked = look_at_candidates(setting, find_gain)
    return {**run, "there": find_best(example, setting, find_gain), **looked}


def make_setting(example: str, seed: int) -> Setting:
    """The log as its owner has it; the machine's is drawn anew for each seed."""
    if example == "machine":
        world, habit = make_machine(), np.array(HABIT)
        log: Any = world.sample_log(habit, 3000, seed=seed, horizon=50)
        policy: Any = TabularPolicy.from_probabilities(habit)
        cost: Any = TransportCost(3.0, 0.2, groups.indices([[0, 1], [2]]))
        discount = world.discount
    else:
        sources = examples.find_sources(example)
        log = read_log(sources.log, columns=sources.columns)
        policy, cost, discount = sources.policy, sources.cost, sources.discount
    given = read_inputs(log, policy, cost, None, (), None, seed)
    return Setting(
        given.log,
        given.old_policy,
        given.cost,
        given.start,
        given.given_start,
        suggest_config(given.log, discount),
        given.uncertainty,
        seed,
    )


def find_truth(example: str, old_policy: Policy) -> TruthOf:
    """The true gain of any policy over the old one."""
    if example == "machine":
        world = make_machine()
        kept = float(exact.start_value(world, np.array(HABIT)))

        def solve(policy: Policy) -> float:
            assert isinstance(policy, TabularPolicy)  # noqa: S101 - tables learn tables
            return float(exact.start_value(world, np.asarray(policy.table))) - kept

        return solve
    simulated = WORLDS[example]()
    old = simulate_returns(simulated, old_policy, n_episodes=EPISODES)

    def simulate(policy: Policy) -> float:
        new = simulate_returns(simulated, policy, n_episodes=EPISODES)
        return float(np.mean(new - old))

    return simulate


def find_best(example: str, setting: Setting, find_gain: TruthOf) -> float:
    """The net gain that is there: exact, or the best that a much larger log led to."""
    if example == "machine":
        return _find_best_of_machine()
    if example in ("cart", "trolley"):
        return _find_best_of_rail(example)
    return _find_best_known(example, setting.old_policy, find_gain)


@functools.cache
def _find_best_of_machine() -> float:
    """The switch-optimal policy, by enumeration and gradient."""
    world, habit = make_machine(), np.array(HABIT)
    setting = make_setting("machine", 0)
    members = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    weights = np.bincount(np.asarray(setting.log.observations), minlength=4) / len(setting.log)

    def charge(old: Any, new: Any) -> Any:
        moved = abs((old - new) @ members).sum(axis=-1) / 2.0
        return weights @ (3.0 * moved + 0.2 * (1.0 - moved))

    best = switch_optimal(world, habit, charge)
    return best.net_value - float(exact.start_value(world, habit))


@functools.cache
def _find_best_of_rail(example: str) -> float:
    """Linear controllers of any gain and noise: values in closed form, costs at the log."""
    setting, world = make_setting(example, 0), Rail().world
    old = TROLLEY if example == "trolley" else examples.as_linear(setting.old_policy)
    kept, found = world.start_value(old), world.optimal_policy()

    def lose(numbers: Any) -> float:
        policy = LinearPolicy(np.array([numbers[:2]]), np.array([np.exp(numbers[2])]))
        made = as_network(policy, setting.old_policy.signature)
        cost = setting.cost.evaluate(setting.old_policy, made, setting.log.observations[::10])
        return cost.total - (world.start_value(policy) - kept)

    begun = [*found.gain[0], np.log(0.05)]
    best = optimize.minimize(lose, begun, method="Nelder-Mead", options={"maxfev": 80})
    return -float(best.fun)


@functools.cache
def _learn_from_much(example: str) -> Policy:
    """By policy iteration from a log that is about ten times as long."""
    setting, world = make_setting(example, 0), WORLDS[example]()
    log = sample_log(world, setting.old_policy, LARGE_LOG, seed=0)
    starts = np.asarray(log.starts)
    problem = LearningProblem(log, setting.old_policy, setting.cost, starts, world.discount)
    learner = PolicyIteration(kl_weights=(1e-4,), iterations=24)
    return learner.learn(jax.random.key(0), problem, NoProgress())[0].policy


def _find_best_known(example: str, old_policy: Policy, find_gain: TruthOf) -> float:
    policy, setting = _learn_from_much(example), make_setting(example, 0)
    cost = setting.cost.evaluate(old_policy, policy, setting.log).total
    return find_gain(policy) - cost


def write_table(records: Sequence[Record]) -> str:
    """Best finalist and best of each learner, as shares of the gain that is there."""
    rows = [
        "| log | learners | gain that is there | best finalist | seeds at 90 % | candidates |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for example, learners in itertools.product(EXAMPLES, LEARNERS):
        same = [
            record
            for record in records
            if (record["example"], record["learners"]) == (example, learners)
        ]
        if not same:
            continue
        there = find_there([record for record in records if record["example"] == example])
        best = [max(one["net_gain"] for one in record["finalists"]) for record in same]
        reached = sum(one >= 0.9 * there for one in best)
        cells = (
            example,
            learners,
            f"{there:.1f}",
            f"{np.mean(best):.1f} (least {min(best):.1f})",
            f"{reached} of {len(best)}",
            describe_candidates(same),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def find_there(records: Sequence[Record]) -> float:
    """What was found to be there, and no less than any candidate reached."""
    reached = [one["net_gain"] for record in records for one in record["candidates"]]
    return float(max(1e-9, *reached, *(record["there"] for record in records)))
