"""Small simulations that tests share: a counter with known rewards, and small policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
from numpy.typing import NDArray

from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.simulators.registry import World

COUNTER = Signature(
    gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32),
    gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32),
)


class Counter:
    """Observes (seed of the reset, steps since); earns its count; ends after `life` steps."""

    def __init__(self, life: int) -> None:
        self.life = life
        self.resets: list[tuple[int, bool]] = []
        self.actions: list[float] = []

    def reset(self, seed: int, *, nominal: bool = False) -> NDArray[np.float32]:
        self.resets.append((seed, nominal))
        self.count = 0
        return self._observe()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool]:
        self.count += 1
        self.actions.append(float(action[0]))
        return self._observe(), float(self.count), self.count == self.life

    def draw(self) -> NDArray[np.uint8]:
        raise NotImplementedError

    def watch(self, see: Callable[[], None]) -> float:
        raise NotImplementedError

    def close(self) -> None:
        pass

    def _observe(self) -> NDArray[np.float32]:
        # Seeds are below 2**31; float32 would round them.
        return np.array([self.resets[-1][0] % 1000, self.count], np.float32)


def choose_step(observations: np.ndarray, step: int) -> NDArray[np.float32]:
    """The number of the step as the action of everyone."""
    return np.full((len(observations), 1), step, np.float32)


def small_policy(world: World, seed: int = 0) -> MLPPolicy:
    """A random policy with few units."""
    return MLPPolicy.init(jax.random.key(seed), world.signature, hidden=(8,))
