"""What every estimator is given and what it says: the gain of a candidate over the old policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import gymnasium
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.logs.acting import select_own
from nacre.logs.display import format_table
from nacre.policies.policy import Policy

Basis = Literal["data", "model"]
"""What an estimate rests on: the log's own outcomes, or a fitted model of the world."""

Report = Callable[[float], None]
"""Hears which share of an estimator's work is done."""


def report_nothing(share: float) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Problem:
    """The test part of a log and the policy in force: the same for every candidate.

    Args:
        log: Episodes that nothing was learned from: the old policy's, or of several known ones.
        old_policy: The policy in force.
        start: (N, …) states that the next episode starts from.
        discount: γ.
        acting: Further policies that acted in the log; its column `acting_policy` says where.
    """

    log: Log
    old_policy: Policy
    start: NDArray[np.generic]
    discount: float
    acting: tuple[Policy, ...] = ()

    @property
    def own(self) -> Log:
        """The episodes in which the old policy acted: their returns are its own."""
        return select_own(self.log) if self.acting else self.log

    @property
    def behaviours(self) -> tuple[Policy, ...]:
        """All policies that acted in the log, the old one first."""
        return self.old_policy, *self.acting


@dataclass(frozen=True)
class Estimate:
    """Value of a candidate minus value of the old policy at the start, before the cost.

    Args:
        estimator: Who says so.
        gain: V(candidate) - V(old).
        standard_error: Of the gain; infinite where nothing is known. Never zero: no spread among a
            few members or replicates is no proof.
        basis: Whether the log's own outcomes say so, or a model.
        overlap_penalty: How much less the part of the candidate that lies outside of the log may be
            worth; charged in the lower bound.
        overlap_allowance: How much more it may be worth, added to the upper bound; as much as the
            penalty if None.
        informative: Whether the estimate may be used. Decided without looking at the gain.
        reason: One clause for people: why it is not informative, or what it rests on.
        degrees: Degrees of freedom behind the standard error; infinite for a normal error.
        diagnostics: Further numbers by name, for the record.
    """

    estimator: str
    gain: float
    standard_error: float
    basis: Basis
    overlap_penalty: float = 0.0
    informative: bool = True
    reason: str = ""
    degrees: float = float("inf")
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    overlap_allowance: float | None = None

    def _repr_html_(self) -> str:
        """For notebooks."""
        counts = "counts" if self.informative else "does not count"
        rows = [
            ("gain", f"{self.gain:.6g}"),
            ("standard error", f"{self.standard_error:.6g}"),
            ("penalty", f"{self.overlap_penalty:.6g}"),
            ("rests on", self.basis),
            (counts, self.reason),
            *((name, f"{value:.6g}") for name, value in self.diagnostics.items()),
        ]
        return format_table(f"Gain by {self.estimator}, before the cost", rows)

    @property
    def allowance(self) -> float:
        """What is added to the upper bound for what lies outside of the log."""
        return self.overlap_penalty if self.overlap_allowance is None else self.overlap_allowance


def abstain(
    estimator: str, basis: Basis, reason: str, diagnostics: Mapping[str, float] | None = None
) -> Estimate:
    """An estimate that says nothing, and why."""
    return Estimate(
        estimator,
        0.0,
        float("inf"),
        basis,
        informative=False,
        reason=reason,
        diagnostics=diagnostics or {},
    )


def find_exact_kind(problem: Problem) -> str:
    """Why critics need not be fitted to such a log, or nothing."""
    if isinstance(problem.log.observation_space, gymnasium.spaces.Discrete):
        return "discrete states are solved exactly"
    if problem.log.episode_lengths.max() == 1:
        return "episodes of one step are estimated directly"
    return "" if problem.log.n_episodes >= 2 else "one episode cannot be resampled"


@runtime_checkable
class Estimator(Protocol):
    """Anything that estimates a gain from a log. Implementations are frozen dataclasses.

    `prepare` does once what does not depend on the candidate (counts, critics of the old policy, a
    model of the world); `estimate` is then called for each finalist. Both are pure: the same key
    gives the same numbers, and neither the order nor the number of finalists changes them.

    One that also has `several_policies = True` takes logs in which others than the old policy acted
    as well (`Problem.acting`). All others are given the old policy's own episodes alone.
    """

    @property
    def name(self) -> str:
        """What it is called in records and on the page."""

    @property
    def extrapolates(self) -> bool:
        """Whether what lies outside of the log is charged on it; else it does so itself."""

    def applies(self, problem: Problem) -> str:
        """Why it has nothing to say about such a log at all, or nothing."""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Any:
        """What all candidates share."""

    def estimate(
        self, key: PRNGKeyArray, problem: Problem, prepared: Any, candidate: Policy, report: Report
    ) -> Estimate:
        """The gain of one candidate."""
