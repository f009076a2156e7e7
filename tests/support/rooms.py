"""Two rooms: a finite world whose answers are known, and advice on its logs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.advice.setting import Setting
from nacre.costs import SwitchingCost, TransportCost, groups
from nacre.estimators import exact
from nacre.estimators.tabular import Tabular
from nacre.learners.base import Candidate
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import FiniteWorld

Table = NDArray[np.float64]

DISCOUNT = 0.8
# The first action stays where one is, the second changes rooms; only staying in the second room
# pays. It starts in the first.
WORLD = FiniteWorld(
    transition=np.stack([np.eye(2), np.eye(2)[::-1]], axis=1),
    reward=np.array([[0.0, 0.0], [1.0, 0.0]]),
    discount=DISCOUNT,
    start=np.array([1.0, 0.0]),
)
OLD: Table = np.full((2, 2), 0.5)
BEST: Table = np.array([[0.02, 0.98], [0.98, 0.02]])
BETTER: Table = np.array([[0.3, 0.7], [0.7, 0.3]])
WORSE: Table = np.array([[0.999, 0.001], [0.001, 0.999]])
NAMES = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
LOW_PRICE, HIGH_PRICE = 0.1, 50.0
# Nothing is learned by gradients here: only what is given competes, and the old policy with less
# noise, which in an even choice is the old policy itself.
CONFIG = AdviceConfig(
    learners=(ScaleNoise(),), estimators=(Tabular(replicates=100),), discount=DISCOUNT
)
GIVEN_ALONE = AdviceConfig(learners=(), estimators=CONFIG.estimators, discount=DISCOUNT)


def make_cost(weight: Any) -> SwitchingCost:
    """Each action a group of its own."""
    return TransportCost(weight, 0.0, groups.indices([[0], [1]]))


def make_policy(table: Table) -> TabularPolicy:
    """The policy of a table of probabilities."""
    return TabularPolicy.from_probabilities(table)


def make_candidate(name: str, table: Table) -> Candidate:
    """A policy that somebody gives."""
    return Candidate(name, make_policy(table), "by hand")


def sample_rooms(table: Table = OLD, world: FiniteWorld = WORLD, seed: int = 101) -> Log:
    """Thirty episodes of fifty steps."""
    return world.sample_log(table, 1500, seed=seed, horizon=50)


@functools.cache
def make_rooms_log() -> Log:
    """Of the old policy."""
    return sample_rooms()


def find_value(table: Table, start: int = 0) -> float:
    """The truth by linear solves."""
    return float(exact.start_value(WORLD.starting_at(start), table))


def make_setting(config: AdviceConfig = CONFIG, weight: float = LOW_PRICE, **given: Any) -> Setting:
    """What every task of an advice on two rooms knows."""
    log = given.pop("log", make_rooms_log())
    parts: dict[str, Any] = {"uncertainty": 0.0, "seed": 103} | given
    return Setting(log, make_policy(OLD), make_cost(weight), log.starts, False, config, **parts)


def ask_about_rooms(weight: Any = LOW_PRICE, log: Log | None = None, **options: Any) -> Advice:
    """Advice; without candidates of its own about the best policy."""
    given: dict[str, Any] = {
        "config": CONFIG,
        "seed": 103,
        "candidates": [make_candidate("best", BEST)],
    }
    data = make_rooms_log() if log is None else log
    return advise(data, make_policy(OLD), make_cost(weight), **(given | options))


@functools.cache
def find_rooms_advice(weight: float = LOW_PRICE) -> Advice:
    """The same, found once."""
    return ask_about_rooms(weight)
