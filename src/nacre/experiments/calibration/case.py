"""A case of a calibration suite: fully determined by world, kind of old policy and seed."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.learners.base import Candidate
from nacre.logs import Log
from nacre.policies.policy import Policy

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels at which intervals are recorded."""
ORACLE_LEVEL = 0.9
"""Level of the interval whose width is compared with the oracle's."""


@dataclass(frozen=True, order=True)
class Case:
    """One decision: a world, a kind of old policy and a seed. Everything follows from these.

    Args:
        suite: "finite", "control" or "robots".
        world: Name of the family of worlds.
        kind: Kind of old policy.
        seed: Draws the parameters of the world, the old policy, the log, candidates and the price.
    """

    suite: str
    world: str
    kind: str
    seed: int

    @property
    def name(self) -> str:
        """Unique among all cases of all suites."""
        return f"{self.suite}/{self.world}/{self.kind}/{self.seed}"

    def generator(self, purpose: str) -> np.random.Generator:
        """A stream of random numbers of this case; one for each purpose."""
        return np.random.default_rng([zlib.crc32(f"{self.name}/{purpose}".encode()), self.seed])

    def take_turn(self, names: Sequence[str]) -> str:
        """One of the names: they take turns with the seeds, in an order of each world and kind."""
        order = dataclasses.replace(self, seed=0).generator("turns").permutation(len(names))
        return names[int(order[self.seed % len(names)])]


@dataclass(frozen=True)
class Truth:
    """The true gain of a policy over the old one, before the switching cost.

    Args:
        gain: V(policy) - V(old policy) at the start.
        standard_error: Zero where it is exact; of the paired difference where it is simulated.
        deviation: Standard deviation of the policy's discounted returns over episodes.
    """

    gain: float
    standard_error: float
    deviation: float


@dataclass(frozen=True)
class Problem:
    """A case made real: what an advice is given, and what only the simulator knows.

    Args:
        case: Which one.
        log: Episodes of the old policy.
        old_policy: The policy in force.
        cost: The switching cost.
        candidates: Policies that the user gives.
        start: States that the next episode starts from, or None for the log's own.
        discount: γ.
        find_truth: The true gain of any policy.
        old_value: True value of the old policy.
        value_range: Least and largest value that is known to be possible at the start.
        learns: Whether candidates may be learned; off where only given ones are to be compared.
        facts: What else describes the case, for the record.
    """

    case: Case
    log: Log
    old_policy: Policy
    cost: SwitchingCost
    candidates: tuple[Candidate, ...]
    start: NDArray[Any] | None
    discount: float
    find_truth: Callable[[Policy], Truth]
    old_value: float
    value_range: tuple[float, float]
    learns: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    def find_cost(self, policy: Policy) -> float:
        """The switching cost of a policy, as the user's own cost model says."""
        breakdown = self.cost.evaluate(
            self.old_policy, policy, self.log, seed=self.case.seed % 2**31
        )
        return float(breakdown.total)

    @property
    def width(self) -> float:
        """Of the value range."""
        low, high = self.value_range
        return high - low


def can_show(log: Log, *, varies: bool) -> bool:
    """Whether a log can show a gain at all: its policy varies its actions, and outcomes vary.

    Known before any advice. A log without a single reward or end that differs says of all policies
    the same; one of a policy without noise says nothing of what other actions lead to.
    """
    ends = log.terminated[log.offsets[1:] - 1]
    return varies and bool(np.ptp(log.rewards) > 0.0 or ends.any() != ends.all())


def draw_rows(rng: np.random.Generator, fewest: int, most: int) -> int:
    """A number of rows between two, uniform on a logarithmic scale, in whole hundreds."""
    drawn = np.exp(rng.uniform(np.log(fewest), np.log(most)))
    return int(np.clip(round(float(drawn), -2), fewest, most))


PRICE_SHARES = (0.0, 0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
"""Switching cost of the best policy known as a share of its gain: from free to beyond the gain."""


def draw_price(rng: np.random.Generator) -> float:
    """One of the shares."""
    return float(rng.choice(PRICE_SHARES))
