"""What a policy says along a whole log, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies.distributions.interface import ActionDistribution
from nacre.policies.policy import Policy, ask

BLOCK = 65_536
"""Rows that a policy is asked at once."""


class Block(NamedTuple):
    """Some rows of a log, and what the policy says there.

    `said` and `actions` may have more rows than `rows`: the last block is filled up, so that all
    have one shape and are compiled once.
    """

    rows: NDArray[np.int64]
    said: ActionDistribution
    actions: NDArray[Any]


def ask_along(log: Log, policy: Policy) -> Iterator[Block]:
    """All rows of the log in order."""
    for first in range(0, len(log), BLOCK):
        rows = np.arange(first, min(first + BLOCK, len(log)))
        filled = np.resize(rows, min(BLOCK, len(log)))
        said = ask(policy, jnp.asarray(log.observations[filled]))
        yield Block(rows, said, np.asarray(log.actions[filled]))
