"""Critics that are a table of values, for tests of what corrects them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.estimators import exact
from nacre.policies.policy import Policy
from nacre.simulators import FiniteWorld

Table = NDArray[np.float64]


@dataclass(frozen=True)
class TableCritics:
    """Q(s, a) by a table (S, A)."""

    table: Table

    @classmethod
    def of(cls, world: FiniteWorld, policy: Table, shift: float = 0.0) -> TableCritics:
        """The exact values of a policy, but for a shift."""
        return cls(exact.state_action_values(world, policy) + shift)

    def read(
        self, states: NDArray[Any], actions: NDArray[Any], policy: Policy
    ) -> tuple[Table, Table]:
        """Q at the given actions, and V of the policy."""
        rows = self.table[np.asarray(states)]
        said: Any = policy(jnp.asarray(states))
        chances = np.asarray(said.probabilities, np.float64)
        return rows[np.arange(len(rows)), np.asarray(actions)], (chances * rows).sum(axis=-1)
