"""What every task of one advice knows, and the two parts that the log is split into."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.advice.config import AdviceConfig
from nacre.costs.family import SwitchingCost
from nacre.logs import Log
from nacre.logs.acting import select_own
from nacre.policies.policy import Policy


@dataclass(frozen=True)
class Setting:
    """What every task of one advice knows.

    Args:
        log: The whole log.
        old_policy: The policy in force, as given.
        cost: What leaving it costs.
        start: (N, …) states that the next episode starts from: as given, or the log's own.
        given_start: Whether the user named them.
        config: How advice is found.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions.
        seed: Everything random follows from it.
        undiscounted: Whether the discount stands for γ = 1.
        acting: Further policies that acted in the log; its column `acting_policy` says where.
        earlier: Episodes at the log's beginning that an earlier advice was about: they are divided
            as they were then, so that nothing is tested on what it was learned from.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    start: NDArray[np.generic]
    given_start: bool
    config: AdviceConfig
    uncertainty: float
    seed: int
    undiscounted: bool = False
    acting: tuple[Policy, ...] = ()
    earlier: int = 0

    @property
    def own(self) -> Log:
        """The episodes in which the old policy acted."""
        return select_own(self.log)

    def find_start(self, part: Log) -> NDArray[np.generic]:
        """The start for a part of the log: as given, or the first states of the part's episodes."""
        return self.start if self.given_start else np.asarray(part.starts)

    def key(self, name: str) -> PRNGKeyArray:
        """The key of a task: it follows from the seed and the task's name alone."""
        return jax.random.fold_in(jax.random.key(self.seed), zlib.crc32(name.encode()) >> 1)


@dataclass(frozen=True)
class Split:
    """The episodes to learn from, those to test on, and the policy that made both.

    Args:
        learning: Nothing is tested on these.
        test: Nothing is learned from these.
        old_policy: The policy in force, with the exploration that the log shows on top of it.
        log: The whole log, where the parts were taken from one.
        episodes: Which of its episodes each part has. A split of a log travels as these numbers.
    """

    learning: Log
    test: Log
    old_policy: Policy
    log: Log | None = None
    episodes: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @classmethod
    def take(
        cls, log: Log, episodes: tuple[NDArray[np.int64], NDArray[np.int64]], old_policy: Policy
    ) -> Split:
        """The parts of a log that hold the given episodes."""
        learning, test = (log.select(some) for some in episodes)
        return cls(learning, test, old_policy, log, episodes)

    def __reduce__(self) -> Any:
        if self.log is None or self.episodes is None:
            return Split, (self.learning, self.test, self.old_policy)
        return Split.take, (self.log, self.episodes, self.old_policy)
