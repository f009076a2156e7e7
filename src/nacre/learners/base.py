"""What every learner is given and what comes of it: candidates for a switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.training.progress import Progress


@dataclass(frozen=True)
class Candidate:
    """A policy that could replace the old one, and where it comes from.

    Args:
        name: What it is called.
        policy: What it does.
        origin: How it came about, for people.
        curve: Net values after each epoch of learning, where it was learned in epochs.
        stop_reason: Why learning ended there.
    """

    name: str
    policy: Policy
    origin: str
    curve: tuple[float, ...] = ()
    stop_reason: str = ""


@dataclass(frozen=True)
class LearningProblem:
    """The learning part of a log, the policy in force, and what leaving it costs.

    Args:
        log: Episodes of the old policy that nothing is tested on.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: (N, …) states that the next episode starts from.
        discount: γ.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    start: NDArray[np.generic]
    discount: float


@runtime_checkable
class Learner(Protocol):
    """Anything that makes candidates from a log. Implementations are frozen dataclasses.

    `learn` is pure: the same key gives the same candidates. What broke down on the way is not
    proposed: no candidate is a fine answer.
    """

    @property
    def name(self) -> str:
        """What it is called in records and on the page."""

    def applies(self, problem: LearningProblem) -> str:
        """Why it has nothing to propose for such a log at all, or nothing."""

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """Candidates, found on the learning part only."""
