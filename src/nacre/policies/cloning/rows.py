"""Rows that a clone is fitted to, in arrays of sizes that compiled loops share."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nacre.policies.sizes import round_up


class Rows(NamedTuple):
    """Observations and targets, of which the first `n_rows` count; others fill the arrays up."""

    observations: Array
    targets: Array
    n_rows: Int[Array, ""]

    @classmethod
    def fill_up(cls, observations: np.ndarray, targets: np.ndarray) -> Rows:
        """With rows that are there, to a size that is compiled once."""
        places = np.resize(np.arange(len(observations)), round_up(len(observations)))
        return cls(
            jnp.asarray(observations[places]),
            jnp.asarray(targets[places]),
            jnp.asarray(len(observations)),
        )

    @property
    def weights(self) -> Float[Array, " rows"]:
        """One share for each row that counts, zero for the others."""
        counts = jnp.arange(len(self.observations)) < self.n_rows
        return counts / self.n_rows
