"""The doubly robust estimate of a gain: cross-fitted critics, weighted episodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.diagnostics.overlap import measure_value_range
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain, find_exact_kind
from nacre.estimators.weighting import Weighted, Weights, find_weights, weigh_episodes
from nacre.logs import Log
from nacre.policies.distributions import Deterministic
from nacre.policies.policy import Policy, ask
from nacre.training.linear_critics import LinearCritics, Sums, add_up, fit_critics
from nacre.training.state_action_features import StateActionFeatures

LEAST_EFFECTIVE = 10.0
"""Episodes that carry the weight in each fold, at the step where they are fewest."""
LARGEST_UNSUPPORTED = 0.01
"""Share of the candidate's actions that the old policy may never take."""
NEVER = 1e-6
"""Probability below which an action is never taken."""
N_STATES = 2000
"""States of the log at which that is looked at."""
LEAST_SPREAD = 0.005
"""Share of the range of returns-to-go below which no standard error is believed."""


@dataclass(frozen=True)
class Fold:
    """Half of the episodes, and the old policy's critics fitted to the other half."""

    scored: Log
    fitted: Log
    sums: tuple[Sums, ...]
    old_critics: LinearCritics
    seed: int


@dataclass(frozen=True)
class DoublyRobust:
    """V(candidate) - V(old) by weighted episodes and critics that were fitted to others.

    Args:
        sets: Draws of the features that critics are linear in.
        size: Number of features.
        ridge: Penalty of their weights for each row.
        by_state: Weigh episodes by where they are instead of by the way they came, where the latter
            leaves too few of them.
    """

    sets: int = 2
    size: int = 256
    ridge: float = 1e-4
    by_state: bool = True
    name: str = "doubly_robust"
    extrapolates: bool = False
    basis: Basis = "data"
    several_policies: ClassVar[bool] = True

    def applies(self, problem: Problem) -> str:
        """To logs with episodes for two folds that begin where the next one does."""
        reason = find_exact_kind(problem)
        if reason or problem.log.n_episodes < 4:
            return reason or "too few episodes for two folds"
        if not starts_alike(problem.start, problem.log.starts):
            return "weighted episodes begin at the log's own starts, not at the given one"
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> tuple[Fold, ...]:
        """Two folds, each with critics of the old policy that were fitted to the other."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        halves = problem.log.split(0.5, seed=seed)
        rng = np.random.default_rng(seed)
        folds = []
        for number, (scored, fitted) in enumerate((halves, halves[::-1])):
            signature = problem.old_policy.signature
            together = np.zeros(fitted.n_episodes, np.int64)
            sums = tuple(
                add_up(
                    StateActionFeatures.draw(fitted, signature, self.size, rng), fitted, together
                )
                for _ in range(self.sets)
            )
            critics = self._fit(problem, problem.old_policy, fitted, sums)
            folds.append(Fold(scored, fitted, sums, critics, seed))
            report((number + 1) / len(halves))
        return tuple(folds)

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: tuple[Fold, ...],
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """Mean of both folds; nothing is fitted where there are few effective episodes."""
        unsupported = find_unsupported(problem, candidate)
        if not unsupported <= LARGEST_UNSUPPORTED:
            reason = (
                f"the old policy never takes {unsupported:.0%} of what the candidate does"
                if unsupported < 1.0
                else "the old policy does not vary its actions: nothing can be weighted"
            )
            return abstain(self.name, self.basis, reason, {"unsupported": unsupported})
        weights = [self._weigh(problem, fold, candidate) for fold in prepared]
        effective = min(one.effective for one in weights)
        diagnostics = {"effective_episodes": effective}
        if not effective >= LEAST_EFFECTIVE:
            reason = f"{effective:.1f} effective episodes, {LEAST_EFFECTIVE:g} are needed"
            return abstain(self.name, self.basis, reason, diagnostics)
        found: list[Weighted] = []
        for number, (fold, weight) in enumerate(zip(prepared, weights, strict=True)):
            critics = self._fit(problem, candidate, fold.fitted, fold.sums)
            found.append(
                weigh_episodes(
                    weight,
                    problem.old_policy,
                    candidate,
                    fold.old_critics,
                    critics,
                    discount=problem.discount,
                    seed=fold.seed,
                )
            )
            report((number + 1) / len(prepared))
        gain = float(np.mean([one.gain for one in found]))
        error = math.hypot(
            math.hypot(*(one.standard_error for one in found)) / len(found),
            float(np.std([one.gain for one in found])),
            LEAST_SPREAD * measure_value_range(problem.log, problem.discount),
        )
        if not (math.isfinite(gain) and 0 < error < math.inf):
            return abstain(self.name, self.basis, "its weights give no finite number", diagnostics)
        return Estimate(
            self.name,
            gain,
            error,
            self.basis,
            reason=f"at least {effective:.0f} effective episodes at every step",
            degrees=max(1.0, effective - 1.0),
            diagnostics=diagnostics,
        )

    def _weigh(self, problem: Problem, fold: Fold, candidate: Policy) -> Weights:
        weights = find_weights(
            fold.scored,
            problem.behaviours,
            candidate,
            discount=problem.discount,
            seed=fold.seed,
        )
        if weights.effective >= LEAST_EFFECTIVE or not self.by_state:
            return weights
        return find_weights(
            fold.scored,
            problem.behaviours,
            candidate,
            discount=problem.discount,
            seed=fold.seed,
            by_state=True,
        )

    def _fit(
        self, problem: Problem, policy: Policy, log: Log, sums: tuple[Sums, ...]
    ) -> LinearCritics:
        return fit_critics(sums, log, policy, problem.discount, self.ridge)


def find_unsupported(problem: Problem, candidate: Policy) -> float:
    """Share of the candidate's actions, at the log's states, that nobody takes who made the log.

    One where a policy has a part without noise: weights of episodes mean nothing without densities.
    """
    log = problem.log
    rows = np.linspace(0, len(log) - 1, min(len(log), N_STATES)).astype(np.int64)
    states = jnp.asarray(log.observations[rows])
    acted, wanted = [ask(one, states) for one in problem.behaviours], ask(candidate, states)
    if not problem.old_policy.signature.discrete_actions:
        try:
            for said in (*acted, wanted):
                said.log_prob(jnp.asarray(log.actions[rows]))
        except TypeError:
            # A part without noise has no density.
            return 1.0
        return 1.0 if any(isinstance(said, Deterministic) for said in acted) else 0.0
    *known, new = (np.asarray(said.probabilities) for said in (*acted, wanted))  # type: ignore[attr-defined]
    return float(np.where(np.max(known, axis=0) < NEVER, new, 0.0).sum(axis=-1).mean())


def starts_alike(start: np.ndarray, starts: np.ndarray) -> bool:
    """Whether a start is made of a log's own first states: all of them are among those."""
    return bool(np.isin(_as_keys(start), _as_keys(starts)).all())


def _as_keys(rows: np.ndarray) -> np.ndarray:
    """One comparable value a row."""
    table = np.ascontiguousarray(np.asarray(rows, np.float64).reshape(len(rows), -1))
    return table.view([("", table.dtype)] * table.shape[1]).ravel()
