"""The robots suite: MuJoCo's robots and traffic lights with the published old policies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.estimators.simulation import simulate_value
from nacre.experiments.calibration.case import Case, Problem, Truth, can_show
from nacre.experiments.run import published_cost
from nacre.experiments.shared import TRUTH_SEED, Shared, make_old_policy
from nacre.experiments.tables import TABLES, Row
from nacre.learners.base import Candidate
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.simulators.registry import World, find_world

SUITE = "robots"
ROWS = 200_000
DISCOUNT = 0.99
N_EPISODES = 200
WORLDS = {
    "hopper": ("gymnasium", "hopper"),
    "halfcheetah": ("gymnasium", "halfcheetah"),
    "ant": ("gymnasium", "ant"),
    "traffic": ("sumo", "sumo-cl5-ct0.1"),
}
"""Worlds, and the rows of the paper's tables that they stand for."""
KINDS = {"weak": "suboptimal", "optimal": "optimal"}
"""Kinds of old policies, and how rows are called that have them."""
OFFERS = ("nothing", "other", "same")
"""What the user gives: nothing, the other published policy, or the old one; by the seed."""
PRICE_FACTORS = (1.0, 0.0, 4.0)
"""Times the published weights; by the seed."""


def find_case_row(case: Case) -> Row:
    """The row of the paper's tables that a case is like."""
    table, beginning = WORLDS[case.world]
    ending = KINDS[case.kind]
    rows = [row for row in TABLES[table] if row.name.startswith(beginning)]
    return next(row for row in rows if row.name.endswith(f"-{ending}"))


def build(case: Case, old_policies: Path | None, cache: Path) -> Problem:
    """World, published old policy, collected log, published cost.

    Args:
        case: Which one.
        old_policies: Folder of the published policies; None for those of the package.
        cache: Folder that collected logs are kept in.
    """
    row = find_case_row(case)
    world = find_world(row.world)
    old_policy = make_old_policy(row, world, old_policies, case.seed)
    name = f"{case.world}-{fingerprint(old_policy)[:12]}-{case.seed}"
    shared = Shared(cache / name, world, old_policy, case.seed)
    log = shared.log(ROWS)
    other = _find_other(case, world, old_policies)
    simulate = Simulation(world, case.seed)
    old_returns, other_returns = simulate.returns(old_policy), simulate.returns(other)
    values = float(old_returns.mean()), float(other_returns.mean())
    offer = OFFERS[case.seed % len(OFFERS)]
    offered = {"other": other, "same": old_policy}.get(offer)
    factor = PRICE_FACTORS[(case.seed // len(OFFERS)) % len(PRICE_FACTORS)]
    return Problem(
        case=case,
        log=log,
        old_policy=old_policy,
        cost=scale_cost(published_cost(row, world), factor),
        candidates=() if offered is None else (Candidate(offer, offered, "given"),),
        start=None,
        discount=DISCOUNT,
        find_truth=PairedTruth(simulate, old_returns),
        old_value=values[0],
        value_range=(min(values), max(values)),
        learns=True,
        facts={
            "rows": ROWS,
            "episodes": log.n_episodes,
            "discount": DISCOUNT,
            "price_factor": factor,
            "offer": offer,
            "can_show": can_show(log, varies=True),
        },
    )


def scale_cost(cost: SwitchingCost, factor: float) -> SwitchingCost:
    """The same cost at other prices."""
    learning, transaction = (factor * weight for weight in cost.prices)
    return dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction)


def _find_other(case: Case, world: World, old_policies: Path | None) -> Policy:
    """The published policy of the other kind: the good one for the weak, a weak one for it."""
    kind = "optimal" if case.kind == "weak" else "weak"
    row = find_case_row(dataclasses.replace(case, kind=kind))
    return make_old_policy(row, world, old_policies, case.seed)


@dataclass(frozen=True)
class Simulation:
    """Rollouts in a simulator, with the same draws for every policy of a seed."""

    world: World
    seed: int

    def returns(self, policy: Policy) -> NDArray[np.float64]:
        """Discounted returns (N,)."""
        return simulate_value(
            self.world,
            policy,
            discount=DISCOUNT,
            n_episodes=N_EPISODES,
            seed=TRUTH_SEED + self.seed,
        ).returns


@dataclass(frozen=True, eq=False)
class PairedTruth:
    """The gain of any policy over the old one, by rollouts from the same starts."""

    simulation: Simulation
    old_returns: NDArray[np.float64]

    def __call__(self, policy: Policy) -> Truth:
        """Mean and standard error of the paired differences."""
        returns = self.simulation.returns(policy)
        paired = returns - self.old_returns
        error = float(paired.std(ddof=1) / np.sqrt(len(paired)))
        return Truth(float(paired.mean()), error, float(returns.std(ddof=1)))
