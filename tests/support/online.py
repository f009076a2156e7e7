"""Worlds of a few lines that policies are trained in online."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.learners.online.soft_actor_critic import OnlineConfig
from nacre.policies.policy import Signature
from nacre.simulators.registry import Simulator, View, World
from nacre.training.backup import CriticConfig

BOX = gymnasium.spaces.Box
DISCRETE = gymnasium.spaces.Discrete
CRITICS = CriticConfig(
    hidden=(16,), layer_norm=True, scale_returns=True, learning_rate=0.01, polyak=0.9, batch_size=32
)
CONFIG = OnlineConfig(
    discount=0.8,
    critics=CRITICS,
    hidden=(16,),
    actor_learning_rate=0.01,
    temperature_learning_rate=0.01,
    epochs=4,
    epoch_steps=100,
    round_steps=20,
    updates_per_step=1.0,
)


class Unseen:
    """Nothing to look at."""

    def draw(self) -> NDArray[np.uint8]:
        raise NotImplementedError

    def watch(self, see: Callable[[], None]) -> float:
        raise NotImplementedError


class Line(Unseen):
    """A point on a line that had better stay near the middle; it ends beyond ±2."""

    def reset(self, seed: int, *, nominal: bool = False) -> NDArray[np.float32]:
        self.x = 1.0 if nominal else float(np.random.default_rng(seed).uniform(-1.5, 1.5))
        return np.array([self.x], np.float32)

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool]:
        self.x += 0.5 * float(action[0])
        return np.array([self.x], np.float32), 1.0 - abs(self.x), abs(self.x) > 2.0

    def close(self) -> None:
        self.x = math.nan


class Ring(Unseen):
    """Three places in a ring; action 1 goes on, action 0 stays; place 2 pays, and never ends."""

    def reset(self, seed: int, *, nominal: bool = False) -> np.ndarray:
        self.place = 0 if nominal else int(np.random.default_rng(seed).integers(3))
        return np.asarray(self.place, np.int32)

    def step(self, action: np.integer[Any]) -> tuple[np.ndarray, float, bool]:
        self.place = (self.place + int(action)) % 3
        return np.asarray(self.place, np.int32), float(self.place == 2), False

    def close(self) -> None:
        self.place = -1


@dataclasses.dataclass(frozen=True)
class LineWorld(World):
    def make(self, *, view: View | None = None) -> Simulator:
        return Line()


@dataclasses.dataclass(frozen=True)
class RingWorld(World):
    def make(self, *, view: View | None = None) -> Simulator:
        return Ring()


def make_line(high: float = 1.0, side_by_side: int = 2) -> LineWorld:
    signature = Signature(BOX(-9.0, 9.0, (1,), np.float32), BOX(-high, high, (1,), np.float32))
    return LineWorld("line", signature, np.ones(1, np.float32), 10, 60, side_by_side)


def make_ring() -> RingWorld:
    signature = Signature(DISCRETE(3), DISCRETE(2))
    start: np.ndarray = np.asarray(0, np.int32)
    return RingWorld("ring", signature, start, 10, 60, 2)
