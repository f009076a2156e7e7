"""Episodes of online training: simulations side by side, and what was earned in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.simulators.registry import Simulator, World


class Episodes:
    """Episodes that run side by side, a new one wherever one ends.

    Returns are kept of episodes that began early enough to be whole whatever becomes of them: of
    the later ones only the short would be.
    """

    def __init__(
        self,
        world: World,
        simulators: Sequence[Simulator],
        n_steps: int,
        seeds: np.random.SeedSequence,
        discount: float,
    ) -> None:
        self._simulators = simulators
        self._length = world.episode_length
        self._latest_start = n_steps - world.episode_length
        self._rng = np.random.default_rng(seeds)
        self._discount = discount
        self.n = len(simulators)
        self.observations = np.stack([self._reset(one) for one in simulators])
        self._ages = np.zeros(self.n, np.int64)
        self._sums = np.zeros(self.n)
        self._step = 0
        self.returns: list[float] = []

    def act(self, actions: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """One step of every simulation; its transitions as rows."""
        outcomes = [one.step(action) for one, action in zip(self._simulators, actions, strict=True)]
        rewards = np.array([outcome[1] for outcome in outcomes])
        rows = {
            "observations": self.observations,
            "actions": actions,
            "rewards": rewards,
            "next_observations": np.stack([outcome[0] for outcome in outcomes]),
            "terminated": np.array([outcome[2] for outcome in outcomes]),
        }
        self._sums += self._discount**self._ages * rewards
        self._ages += 1
        self._step += 1
        self.observations = rows["next_observations"].copy()
        for i in np.flatnonzero(rows["terminated"] | (self._ages >= self._length)).tolist():
            if self._step - self._ages[i] <= self._latest_start:
                self.returns.append(float(self._sums[i]))
            self.observations[i] = self._reset(self._simulators[i])
            self._ages[i], self._sums[i] = 0, 0.0
        return rows

    def _reset(self, simulator: Simulator) -> NDArray[Any]:
        return simulator.reset(int(self._rng.integers(2**31 - 1)))
