"""The level of a decision: how often it switches where no candidate is better, by simulation.

All candidates are worth exactly what the old policy is, and a switch costs nothing: every switch is
a false one. With several candidates, and with several looks at a growing log, the share of runs
with any switch must not exceed the nominal level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from nacre.errors import InputError
from nacre.estimators import exact
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table, random_world

EPISODES = 60
"""Episodes that each look at the log adds."""
HORIZON = 8


@dataclass(frozen=True)
class Trial:
    """What a decision is given.

    Args:
        log: Episodes of the old policy so far.
        old_policy: The policy in force.
        candidates: Policies that are all worth the same as it.
        start: The start state.
        discount: γ.
        look: Which look at the log this is, from 1, of
        looks: all that are planned.
        seed: Everything random of the decision should follow from it.
    """

    log: Log
    old_policy: TabularPolicy
    candidates: tuple[TabularPolicy, ...]
    start: int
    discount: float
    look: int
    looks: int
    seed: int


Decide = Callable[[Trial], bool]
"""Whether to switch to any of the candidates."""


@dataclass(frozen=True)
class Level:
    """How often a decision was wrong.

    Args:
        runs: Simulated logs.
        switches: Those with a switch at any look.
        low: Lower end of the exact 95 % interval of the share, and
        high: the upper one.
    """

    runs: int
    switches: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Switches by runs."""
        return self.switches / self.runs

    def holds(self, nominal: float) -> bool:
        """Whether the simulation does not contradict this nominal level."""
        return self.low <= nominal


def simulate_level(
    decide: Decide, *, candidates: int = 1, looks: int = 1, runs: int = 2000, seed: int = 0
) -> Level:
    """Let a decision look at logs where nothing is to be gained.

    Args:
        decide: The decision.
        candidates: Equal policies that it may choose from.
        looks: Times that it is asked, each time with more episodes; the first switch counts.
        runs: Logs.
        seed: Of worlds, candidates and logs.
    """
    if min(candidates, looks, runs) < 1:
        raise InputError(
            f"{runs} runs, {candidates} candidates, {looks} looks: give at least 1 of each"
        )
    world, old, equal = make_equals(candidates, seed)
    old_policy = TabularPolicy.from_probabilities(old)
    policies = tuple(TabularPolicy.from_probabilities(table) for table in equal)
    switches = 0
    for run in range(runs):
        whole = world.sample_log(
            old, looks * EPISODES * HORIZON, seed=seed * 1_000_003 + run, horizon=HORIZON
        )
        share = np.linspace(0, whole.n_episodes, looks + 1).astype(int)[1:]
        trials = (
            Trial(
                whole if seen == whole.n_episodes else whole.select(np.arange(seen)),
                old_policy,
                policies,
                int(np.argmax(world.start)),
                world.discount,
                look,
                looks,
                run,
            )
            for look, seen in enumerate(share, start=1)
        )
        switches += any(decide(trial) for trial in trials)
    return measure(runs, switches)


def measure(runs: int, switches: int) -> Level:
    """The level with its exact (Clopper-Pearson) interval."""
    low = stats.beta.ppf(0.025, switches, runs - switches + 1) if switches else 0.0
    high = stats.beta.ppf(0.975, switches + 1, runs - switches) if switches < runs else 1.0
    return Level(runs, switches, float(low), float(high))


def make_equals(n: int, seed: int) -> tuple[FiniteWorld, Table, Sequence[Table]]:
    """A small world, an old policy, and other policies of exactly the same value.

    Each lies on the way from a worse to a better policy, where the value is the old one's.
    """
    rng = np.random.default_rng(seed)
    world = random_world(seed, 4, 3, discount=0.8, terminating=True)
    old = 0.5 * rng.dirichlet(np.ones(3), 4) + 0.5 / 3
    known = float(exact.start_value(world, old))
    found: list[Table] = []
    while len(found) < n:
        first, second = (0.7 * rng.dirichlet(np.full(3, 0.5), 4) + 0.3 * old for _ in range(2))
        ends = [float(exact.start_value(world, table)) - known for table in (first, second)]
        if ends[0] * ends[1] >= 0:
            continue

        def excess(share: float, first: Table = first, second: Table = second) -> float:
            return float(exact.start_value(world, (1 - share) * first + share * second)) - known

        share = float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-14))
        found.append((1 - share) * first + share * second)
    return world, old, found
