"""Live logs of two rooms: units of the old and of the new policy, as a plan assigns them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.advice.record import DecisionRecord
from nacre.logs import Log
from nacre.rollout.design import Design
from nacre.simulators import FiniteWorld
from tests.support.rooms import BEST, DISCOUNT, OLD, WORLD, Table

STEPS = 20
RICHER = FiniteWorld(WORLD.transition, 3.0 * WORLD.reward, DISCOUNT, WORLD.start)
"""The same rooms with three times the reward."""


def play(
    arms: Sequence[bool] | NDArray[np.bool_],
    new: Table = BEST,
    old: Table = OLD,
    world: FiniteWorld = WORLD,
    seed: int = 104,
) -> Log:
    """One episode of 20 steps for each arm, True for the new policy, in this order."""
    flags = np.asarray(arms, bool)
    order = np.empty(len(flags), np.int64)
    parts = []
    first = 0
    for table, chosen in ((old, ~flags), (new, flags)):
        count = int(chosen.sum())
        if not count:
            continue
        parts.append(world.sample_log(table, count * STEPS, seed=seed + first, horizon=STEPS))
        order[chosen] = first + np.arange(count)
        first += count
    return join(parts).select(order)


def join(logs: Sequence[Log]) -> Log:
    """One log after the other."""
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
    arrays = [np.concatenate([getattr(log, name) for log in logs]) for name in names]
    lengths = np.concatenate([log.episode_lengths for log in logs])
    return Log.from_arrays(
        *arrays,
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=Discrete(2),
        action_space=Discrete(2),
    )


def add_columns(log: Log, columns: Mapping[str, Sequence[float] | NDArray[Any]]) -> Log:
    """The same log with one number an episode as further columns."""
    rows = {
        name: np.repeat(np.asarray(values), log.episode_lengths) for name, values in columns.items()
    }
    return Log.from_arrays(
        log.observations,
        log.actions,
        log.rewards,
        log.terminated,
        log.truncated,
        log.next_observations,
        offsets=log.offsets,
        observation_space=log.observation_space,
        action_space=log.action_space,
        columns={**log.columns, **rows},
    )


def drop_column(log: Log, name: str) -> Log:
    """The same log without a column."""
    columns = {key: value for key, value in log.columns.items() if key != name}
    return dataclasses.replace(log, columns=columns)


def play_design(design: Design, n_units: int, **options: Any) -> Log:
    """A live log that follows the design, with its units and arms."""
    arms = np.repeat(design.draw(n_units), design.episodes_per_unit)
    units = np.repeat(np.arange(n_units), design.episodes_per_unit)
    return add_columns(play(arms, **options), {"unit": units, "arm": arms.astype(int)})


def make_record(**changes: Any) -> DecisionRecord:
    """A decision about two rooms: the best policy gains 2.8 and costs 0.5."""
    cost = {"total": 0.48, "learning": 0.48, "transaction": 0.0}
    masses = {"learning_mass": 0.48, "transaction_mass": 0.52}
    net = {"mean": 2.32, "low": 2.2, "high": 2.44}
    candidate = {
        "name": "best",
        "value": {"mean": 3.9, "low": 3.8, "high": 4.0},
        "net_gain": net,
        "probability": 0.99,
        "cost": cost | masses,
        "price": {"learning_weight": 1.0, "transaction_weight": 0.0} | masses,
    }
    document = {
        "verdict": "switch",
        "probability": 0.99,
        "reason": "the net gain is at least 2.2 with 95 % confidence",
        "net_gain": net,
        "old_value": {"mean": 0.9, "low": 0.8, "high": 1.0},
        "new_value": candidate["value"],
        "cost": cost | masses,
        "chosen": "best",
        "candidates": [candidate],
        "cost_model": {"kind": "transport", "link": "identity"},
        "config": {"discount": 0.8},
        "seed": 0,
    }
    return DecisionRecord.model_validate(document | changes)
