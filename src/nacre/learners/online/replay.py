"""Everything that happened during online training, to learn from again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.policies.policy import Signature
from nacre.training.batches import Batch


class Replay:
    """A memory of plain arrays with room for all transitions of a training.

    Args:
        signature: The spaces of the transitions.
        capacity: Most rows there will ever be.
    """

    def __init__(self, signature: Signature, capacity: int) -> None:
        self.columns: dict[str, NDArray[Any]] = {
            "observations": _make_column(signature.observation_space, capacity),
            "actions": _make_column(signature.action_space, capacity),
            "rewards": np.zeros(capacity, np.float32),
            "next_observations": _make_column(signature.observation_space, capacity),
            "terminated": np.zeros(capacity, np.float32),
        }
        self.size = 0

    @property
    def rewards(self) -> NDArray[np.float32]:
        """Rewards of all rows so far."""
        return self.columns["rewards"][: self.size]

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Append rows, each column (rows, …)."""
        end = self.size + len(rows["rewards"])
        for name, column in self.columns.items():
            column[self.size : end] = rows[name]
        self.size = end

    def restore(self, columns: Mapping[str, Any], size: int) -> None:
        """Take over the columns of a checkpoint, of which the first `size` rows count."""
        self.columns = {name: np.array(columns[name]) for name in self.columns}
        self.size = size

    def sample(self, rng: np.random.Generator, n_batches: int, batch_size: int) -> Batch:
        """Mini-batches (n_batches, batch_size, …), rows drawn with replacement."""
        rows = rng.integers(self.size, size=(n_batches, batch_size))
        taken: dict[str, Any] = {name: column[rows] for name, column in self.columns.items()}
        weights: Any = np.ones(rows.shape, np.float32)
        return Batch(**taken, weights=weights)


def _make_column(space: gymnasium.Space[Any], capacity: int) -> NDArray[Any]:
    if isinstance(space, gymnasium.spaces.Discrete):
        return np.zeros(capacity, np.int32)
    return np.zeros((capacity, *(space.shape or ())), np.float32)
