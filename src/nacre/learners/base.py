"""What every learner is given and what comes of it: candidates for a switch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.costs.family import SwitchingCost
from nacre.errors import check_arguments
from nacre.logs import Log
from nacre.policies.cloning.full_support import find_start
from nacre.policies.policy import Policy
from nacre.training.progress import Progress

CLONED_ROWS = 50_000
"""Rows of the log that a clone or a softened policy is fitted to at most."""
COPY_DIVERGENCE = 0.1
"""Learning starts from a small copy of the old policy that is no further from it, in nats."""
_ONE_COPY = threading.Lock()


@check_arguments
@dataclass(frozen=True)
class Candidate:
    """A policy that could replace the old one, and where it comes from.

    Args:
        name: What it is called.
        policy: What it does.
        origin: How it came about, for people.
        curve: Net values after each epoch of learning, where it was learned in epochs.
        stop_reason: Why learning ended there.
        problem: Why it is not proposed: one sentence for people, nothing if it is sound.
    """

    name: str
    policy: Policy
    origin: str
    curve: tuple[float, ...] = ()
    stop_reason: str = ""
    problem: str = ""


@dataclass(frozen=True)
class LearningProblem:
    """The learning part of a log, the policy in force, and what leaving it costs.

    Args:
        log: Episodes that nothing is tested on: the old policy's, or of several known ones.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: (N, …) states that the next episode starts from.
        discount: γ.
        seed: Of the copy of the old policy that learners start from.
        acting: Further policies that acted in the log; its column `acting_policy` says where.
    """

    log: Log
    old_policy: Policy
    cost: SwitchingCost
    start: NDArray[np.generic]
    discount: float
    seed: int = 0
    acting: tuple[Policy, ...] = ()

    @property
    def first_policy(self) -> Policy | None:
        """A small copy of the old policy that learning can start from, made once for all learners.

        None where there is none: tables, and policies of kinds that learners open themselves.
        """
        with _ONE_COPY:
            return self._first_policy

    @cached_property
    def _first_policy(self) -> Policy | None:
        rows, key = self.log.observations[:CLONED_ROWS], jax.random.key(self.seed)
        return find_start(self.old_policy, rows, key, None, COPY_DIVERGENCE)


@runtime_checkable
class Learner(Protocol):
    """Anything that makes candidates from a log. Implementations are frozen dataclasses.

    `learn` is pure: the same key gives the same candidates. What broke down on the way is not
    proposed: no candidate is a fine answer, and one with a `problem` says why.
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
