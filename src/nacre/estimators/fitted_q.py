"""Fitted Q-evaluation: a critic ensemble on resampled episodes, paired by member."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.diagnostics.overlap import measure_value_range
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain, find_exact_kind
from nacre.policies.policy import Policy
from nacre.training.backup import CriticConfig
from nacre.training.evaluation_config import EvaluationConfig
from nacre.training.fitted_evaluation import (
    EpochReport,
    Evaluation,
    Preparation,
    evaluate_policy,
    prepare_evaluation,
)
from nacre.training.returns import value_from_returns

Numbers = NDArray[np.float64]
NORMAL = 1.4826
"""Times the median absolute deviation of a normal sample is its standard deviation."""
LARGEST_SPREAD = 0.1
"""Share of the range of returns-to-go that members may differ by and still say something."""
LARGEST_LEVEL_ERROR = 0.1
"""Share of that range by which the old policy's own value may be missed."""
SETTLING = 3
"""Epochs whose mean is compared with that of as many before them."""
LEAST_SPREAD = 1e-3
"""Share of that range below which no spread is believed: members of one log err together."""


def default_evaluation() -> EvaluationConfig:
    """Eight members, each on its own resample of the episodes, from the log's returns on."""
    return EvaluationConfig(
        critics=CriticConfig.normalised(8, hidden=(64, 64), polyak=0.95, backup="own"),
        epochs=40,
        steps_per_epoch=400,
        prefit_steps=1000,
        combine="mean",
        averaged=True,
        bootstrap=True,
        asked_once=True,
        clip_targets=True,
    )


def brief_evaluation() -> EvaluationConfig:
    """The same with three members and few epochs: enough to put candidates in order."""
    whole = default_evaluation()
    return dataclasses.replace(
        whole, critics=dataclasses.replace(whole.critics, n_critics=3), epochs=2 * SETTLING
    )


@dataclass(frozen=True)
class Fitted:
    """What all candidates share: prepared critics, and what they say of the old policy."""

    preparation: Preparation
    old: Evaluation
    value_range: float
    returns_mean: float
    seed: int


@dataclass(frozen=True)
class FittedQ:
    """V(candidate) - V(old) by the same networks, batches and resamples for both.

    Args:
        evaluation: The critics and how long they are fitted.
    """

    evaluation: EvaluationConfig = field(default_factory=default_evaluation)
    name: str = "fitted_q"
    extrapolates: bool = True
    basis: Basis = "model"

    def applies(self, problem: Problem) -> str:
        """To vector states and episodes of several steps: others have exact estimators."""
        return find_exact_kind(problem)

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Fitted:
        """Fit the old policy's critics."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        preparation = prepare_evaluation(
            problem.log,
            problem.old_policy.signature,
            self.evaluation,
            discount=problem.discount,
            seed=seed,
        )
        old = self._fit(problem, problem.old_policy, preparation, seed, report)
        scale = measure_value_range(problem.log, problem.discount)
        returns = value_from_returns(problem.log, problem.discount, seed=seed)
        return Fitted(preparation, old, scale, returns.mean, seed)

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Fitted,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """Paired differences of the members, by robust centre and spread."""
        new = self._fit(problem, candidate, prepared.preparation, prepared.seed, report)
        differences = np.asarray(new.per_critic, float) - np.asarray(prepared.old.per_critic, float)
        centre, spread = describe_robustly(differences)
        scale = prepared.value_range
        drift = find_drift(new, prepared.old)
        diagnostics = {
            "old_value": float(np.median(prepared.old.per_critic)),
            "new_value": float(np.median(new.per_critic)),
            "member_spread": spread,
            "drift": drift,
            "value_range": scale,
            "level_error": abs(float(np.median(prepared.old.per_critic)) - prepared.returns_mean),
        }
        reason = self._find_fault(new, prepared.old, diagnostics)
        if reason:
            return abstain(self.name, self.basis, reason, diagnostics)
        k = len(differences)
        error = math.hypot(spread, drift, LEAST_SPREAD * scale) * math.sqrt(1.0 + 1.0 / k)
        return Estimate(
            self.name,
            centre,
            max(error, np.finfo(float).tiny),
            self.basis,
            reason=f"{k} members, each on its own resample of the test episodes",
            degrees=float(k - 1),
            diagnostics=diagnostics,
        )

    def _fit(
        self,
        problem: Problem,
        policy: Policy,
        preparation: Preparation,
        seed: int,
        report: Report,
    ) -> Evaluation:
        def hear(epoch: EpochReport) -> None:
            report((epoch.epoch + 1) / epoch.epochs)

        return evaluate_policy(
            policy,
            problem.log,
            problem.start,
            self.evaluation,
            discount=problem.discount,
            seed=seed,
            prepared=preparation,
            on_epoch=hear,
            until=has_settled,
        )

    def _find_fault(self, new: Evaluation, old: Evaluation, found: dict[str, float]) -> str:
        """Why it says nothing; nothing here looks at the gain."""
        for one in (old, new):
            if not one.healthy:
                return one.reason
        scale = found["value_range"]
        if not found["member_spread"] <= LARGEST_SPREAD * scale:
            return "its members differ by more than a tenth of the range of returns"
        if not found["level_error"] <= LARGEST_LEVEL_ERROR * scale:
            return "it misses the old policy's own value by more than a tenth of the range"
        if not found["drift"] <= LARGEST_SPREAD * scale:
            return "its value had not settled when it ended"
        return ""


def describe_robustly(members: Numbers) -> tuple[float, float]:
    """Median, and standard deviation by the median absolute deviation: one outlier moves neither.

    Few members make the latter small by chance: it is no less than half of the ordinary one.
    """
    centre = float(np.median(members))
    robust = NORMAL * float(np.median(np.abs(members - centre)))
    return centre, max(robust, 0.5 * float(np.std(members, ddof=1)))


def has_settled(curves: Numbers) -> bool:
    """Whether the last epochs moved by less than a quarter of the members' own spread.

    Args:
        curves: (epochs, members) values after each epoch.
    """
    if len(curves) < 2 * SETTLING:
        return False
    centres = np.median(curves, axis=1)
    moved = abs(float(np.mean(centres[-SETTLING:]) - np.mean(centres[-2 * SETTLING : -SETTLING])))
    return moved <= 0.25 * describe_robustly(curves[-1])[1]


def find_drift(new: Evaluation, old: Evaluation) -> float:
    """How far both values still moved in the last epochs, together."""
    moved = []
    for one in (new, old):
        centres = np.median(one.member_curves, axis=1)
        if len(centres) < 2 * SETTLING:
            return math.inf
        moved.append(np.mean(centres[-SETTLING:]) - np.mean(centres[-2 * SETTLING : -SETTLING]))
    return abs(float(moved[0] - moved[1]))
