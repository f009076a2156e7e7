"""An attack: what is done to a log, what an advice is then given, and what is true."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nacre.costs import TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.experiments.calibration.case import Truth
from nacre.experiments.calibration.finite import TabularTruth, read_table
from nacre.learners.base import Candidate
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table

Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Situation:
    """What an advice is given, and what only the simulator knows.

    Args:
        log: The log after the attack.
        old_policy: The policy that the user says is in force.
        cost: The switching cost.
        candidates: Policies that the user gives.
        discount: γ.
        find_truth: The true gain of any policy over the one that really is in force, in the world
            that the next episode meets.
        learns: Whether candidates are learned, too.
        epsilon: Exploration that the user says there is; None lets the log tell.
        tolerance: Net gain up to which two policies are worth the same: what rounding leaves.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    candidates: tuple[Candidate, ...]
    discount: float
    find_truth: Callable[[Policy], Truth]
    learns: bool = False
    epsilon: float | None = None
    tolerance: float = 0.0


@dataclass(frozen=True, eq=False)
class Attack:
    """One way to mislead.

    Args:
        name: Unique among all attacks.
        kind: What it aims at.
        what: What was done to the log, in one plain sentence.
        make: Makes it real from random numbers.
        hidden: Whether the cause is in no column and no row of the log: a hidden variable, episodes
            that were deleted, an event that is still to come.
        same_as: Name of the attack whose answer this one has to repeat; it gets the same random
            numbers.
    """

    name: str
    kind: str
    what: str
    make: Callable[[Generator], Situation]
    hidden: bool = False
    same_as: str = ""

    def build(self, seed: int) -> Situation:
        """The situation of a seed."""
        stream = zlib.crc32((self.same_as or self.name).encode())
        return self.make(np.random.default_rng([stream, seed]))


def pose(
    world: FiniteWorld,
    old: Table,
    log: Log,
    tables: Mapping[str, Table],
    *,
    acting: Table | None = None,
    weight: float = 0.0,
    learns: bool = False,
    epsilon: float | None = None,
    tolerance: float = 0.0,
) -> Situation:
    """A situation of a finite world, its truth by linear solves.

    Args:
        world: The world that the next episode meets.
        old: (S, A) the policy that the user gives.
        log: The log.
        tables: (S, A) candidates by name.
        acting: (S, A) what really is in force; the given policy if not said.
        weight: Learning weight of the transport cost between actions; free by default.
        learns: Whether candidates are learned, too.
        epsilon: Exploration that the user says there is.
        tolerance: Net gain up to which two policies are worth the same.
    """
    n_states, n_actions = old.shape
    grouping = groups.indices([[action] for action in range(n_actions)])
    in_force = TabularPolicy.from_probabilities(old if acting is None else acting)
    return Situation(
        log=log,
        old_policy=TabularPolicy.from_probabilities(old),
        cost=TransportCost(weight, 0.0, grouping),
        candidates=tuple(
            Candidate(name, TabularPolicy.from_probabilities(table), "given")
            for name, table in tables.items()
        ),
        discount=world.discount,
        find_truth=TabularTruth(world, read_table(in_force, n_states)),
        learns=learns,
        epsilon=epsilon,
        tolerance=tolerance,
    )
