"""The finite suite: structured and random tables, old policies of eight kinds, exact truth."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from nacre.costs import FiniteStates, LogStates, TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.estimators import exact
from nacre.experiments.calibration import chains, choices, grids
from nacre.experiments.calibration.case import Case, Problem, Truth, can_show, draw_price, draw_rows
from nacre.experiments.calibration.offers import offer_tables
from nacre.experiments.calibration.tables import find_best, find_range, make_old_table
from nacre.learners.base import Candidate
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table

SUITE = "finite"
HORIZON = 200
"""Steps after which the log cuts an episode; the truth does not."""
ROWS = (5_000, 100_000)

WORLDS: dict[str, Callable[[np.random.Generator], FiniteWorld]] = {
    "river_swim": chains.river_swim,
    "corridor": chains.corridor,
    "admission": chains.admission,
    "inventory": chains.inventory,
    "maintenance": chains.maintenance,
    "gambler": chains.gambler,
    "ring": chains.ring,
    "cliff_walking": grids.cliff_walking,
    "sparse_goal": grids.sparse_goal,
    "frozen_lake": grids.frozen_lake,
    "taxi": grids.taxi,
    "treatment": choices.treatment,
    "two_arms": choices.two_arms,
    "contexts": choices.contexts,
    "catastrophe": choices.catastrophe,
    "random": choices.random_worlds,
}
"""Families of worlds; each draws its parameters."""


def make_world(case: Case) -> FiniteWorld:
    """The world of a case; the same for all kinds of old policies of a seed."""
    shared = dataclasses.replace(case, kind="any")
    return WORLDS[case.world](shared.generator("world"))


def build(case: Case) -> Problem:
    """World, old policy, log, price and candidates of a case."""
    world = make_world(case)
    old = make_old_table(world, case.kind, case.generator("old policy"))
    rng = case.generator("design")
    rows, share = draw_rows(rng, *ROWS), draw_price(rng)
    low, high = find_range(world)
    offer, offered = offer_tables(world, old, case)
    cost = _make_cost(world, old, share, rng)
    old_policy = TabularPolicy.from_probabilities(old)
    log = world.sample_log(old, rows, seed=case.seed, horizon=HORIZON)
    return Problem(
        case=case,
        log=log,
        old_policy=old_policy,
        cost=cost,
        candidates=tuple(
            Candidate(name, TabularPolicy.from_probabilities(table), "given")
            for name, table in offered.items()
        ),
        start=_single_start(world),
        discount=world.discount,
        find_truth=TabularTruth(world, read_table(old_policy, world.n_states)),
        old_value=float(exact.start_value(world, old)),
        value_range=(low, high),
        # Where nothing but equal policies is offered, learners would make it another question.
        learns=offer not in ("same", "equal"),
        facts={
            "rows": rows,
            "episodes": log.n_episodes,
            "states": world.n_states,
            "actions": world.n_actions,
            "discount": world.discount,
            "price_share": share,
            "offer": offer,
            "can_show": can_show(log, varies=bool(np.any(old.max(axis=-1) < 1.0))),
        },
    )


def _single_start(world: FiniteWorld) -> np.ndarray[Any, Any] | None:
    """The start state where there is one; else the log's own starts stand for it."""
    states = np.flatnonzero(world.start)
    return states if len(states) == 1 else None


def _make_cost(
    world: FiniteWorld, old: Table, share: float, rng: np.random.Generator
) -> SwitchingCost:
    """A transport cost at which the optimal policy costs about this share of its gain."""
    best = find_best(world)
    low, high = find_range(world)
    gain = max(high - float(exact.start_value(world, old)), 0.05 * (high - low))
    single = bool(rng.integers(2))
    grouping = (
        groups.indices([[action] for action in range(world.n_actions)])
        if single
        else groups.halves()
    )
    members = grouping.membership(world.n_actions)
    moved = np.maximum(old @ members - best @ members, 0.0).sum(axis=-1)
    weight = share * gain / max(float(moved.mean()), 0.05)
    transaction = 0.1 * weight if rng.random() < 0.25 else 0.0
    measure = FiniteStates() if rng.integers(2) else LogStates()
    return TransportCost(weight, transaction, grouping, state_measure=measure)


@dataclasses.dataclass(frozen=True, eq=False)
class TabularTruth:
    """The exact gain of any policy of a finite world over the old one."""

    world: FiniteWorld
    old: Table

    def __call__(self, policy: Policy) -> Truth:
        """Gain, no error, and the exact standard deviation of the returns."""
        table = read_table(policy, self.world.n_states)
        value = float(exact.start_value(self.world, table))
        gain = value - float(exact.start_value(self.world, self.old))
        return Truth(gain, 0.0, return_deviation(self.world, table))


def read_table(policy: Policy, n_states: int) -> Table:
    """What any policy of numbered states does, as a table (S, A) in double precision."""
    said: Any = policy(jnp.arange(n_states))
    rows = np.asarray(said.probabilities, np.float64)
    table: Table = rows / rows.sum(axis=-1, keepdims=True)
    return table


def return_deviation(world: FiniteWorld, table: Table) -> float:
    """Standard deviation of the discounted return from the start.

    The second moment M solves M(s) = Σ_a π(a|s) [r² + σ² + 2 r γ E V(s') + γ² E M(s')], σ the noise
    of the rewards.
    """
    ahead = exact.values(world, table)
    expected = world.continuation @ ahead
    known = world.reward**2 + world.reward_noise**2
    known = known + 2.0 * world.reward * world.discount * expected
    moves = np.einsum("sa,sat->st", table, world.continuation)
    matrix = np.eye(world.n_states) - world.discount**2 * moves
    second = np.linalg.solve(matrix, (table * known).sum(axis=-1))
    variance = float(world.start @ second - (world.start @ ahead) ** 2)
    return float(np.sqrt(max(variance, 0.0)))
