"""Bandit logs: a cross-fitted, doubly robust gain from episodes of one step.

The score of an episode with context x, action a and reward r is

    m(x, π_new) - m(x, π_old) + (ρ - 1) (r - m(x, a)),    ρ = π_new(a|x) / π_old(a|x),

m being a model of the reward fitted to other episodes. Its mean is the gain whatever m is, as long
as the old policy's probabilities are right; the scores are independent, so their spread gives the
error. Where the probabilities are those of the taken actions only, or estimated, the old policy's
side is the reward itself: m(x, π_new) - m(x, a) + (ρ - 1) (r - m(x, a)).

Where further known policies acted in the log, ratios are those to the mixture that made it, and the
old policy has one as well: (ρ - ρ_old) (r - m(x, a)).

Large weights are clipped at a limit τ. What clipping leaves to m, the candidate's mass beyond
τ π_old, may be wrong by the range of rewards: it is charged as the overlap penalty. The limit is
the one with the shortest interval, found from weights alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.base import Basis, Estimate, Problem, Report, abstain
from nacre.estimators.behaviour import mix_behaviours
from nacre.estimators.misfit import bound_misfit
from nacre.estimators.outcome_model import OutcomeModel, fit_outcomes
from nacre.estimators.policy_ratios import (
    PolicyAnswers,
    PolicyRatios,
    compare,
    compare_three,
    is_same_point,
    read_answers,
)
from nacre.estimators.scores import Scores, choose_limit, count_effective, find_spread, mean_square
from nacre.estimators.start_weights import weigh_starts
from nacre.policies.policy import Policy

Floats = NDArray[np.float64]
Propensities = Literal["known", "logged", "estimated"]

ROUNDING = 1e-6
"""Share of the reward's size below which nothing is known: policies are asked in float32."""
MISFIT = 5.0
"""Standard errors of the mean weight beyond which the probabilities are not the log's."""
LEAST_MISFIT = 0.05


@dataclass(frozen=True)
class Prepared:
    """What all candidates share.

    Args:
        outcomes: The model of the reward.
        old: What the old policy says at the log's contexts; of the actions taken, the log's own
            column where it is used.
        behaviour: The same of what made the log; None where that is the old policy alone.
        predicted: (n,) m(x, a) of the actions taken.
        old_value: (n,) m(x, π_old), or m(x, a) where only the taken action's probability is sure.
        contexts: (n,) weight of each context: its frequency at the start over that in the log.
        unseen: Share of the start's contexts that the log never had.
        misfit: Root mean square error of the reward model, at most, where probabilities are not
            sure.
        draw_key: Of the actions drawn: all policies get the same noise, so that equal ones differ
            by nothing.
    """

    outcomes: OutcomeModel
    old: PolicyAnswers
    behaviour: PolicyAnswers | None
    predicted: Floats
    old_value: Floats
    contexts: Floats
    unseen: float
    misfit: float
    draw_key: PRNGKeyArray


@dataclass(frozen=True)
class OneStep:
    """Doubly robust estimate for logs whose episodes are all one step long.

    Args:
        folds: Parts of the log for cross-fitting.
        propensities: Where the old policy's probabilities come from: the given policy (known), a
            column of the log with that of the action taken (logged), or a clone (estimated).
        column: That column's name.
        uncertainty: Of estimated propensities: share of the probability that may lie on the wrong
            actions, as `nacre.policies.find_uncertainty` says.
        least_episodes: Fewer say nothing.
        least_effective: Effective episodes, fewer say nothing.
        most_outside: Share of what the candidate does differently that may be left to the model.
        unseen_events: Extreme rewards that the spread allows for although the log may have none:
            keeps rare events from looking certain.
    """

    folds: int = 5
    propensities: Propensities = "known"
    column: str = "propensity"
    uncertainty: float = 0.0
    least_episodes: int = 50
    least_effective: float = 30.0
    most_outside: float = 0.5
    unseen_events: float = 0.5
    name: str = "one_step"
    extrapolates: bool = False  # it bounds what lies outside of the log itself
    basis: Basis = "data"

    def __post_init__(self) -> None:
        problems = []
        if self.folds < 2:
            problems.append(f"folds {self.folds}: give at least 2")
        if self.propensities not in get_args(Propensities):
            known = ", ".join(get_args(Propensities))
            problems.append(f"propensities {self.propensities!r}: give one of {known}")
        if self.least_episodes < 2 * self.folds:
            problems.append(
                f"least_episodes {self.least_episodes}: give at least two for each fold, "
                f"{2 * self.folds}"
            )
        for name in ("uncertainty", "most_outside"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                problems.append(f"{name} {getattr(self, name)}: give a share between 0 and 1")
        if problems:
            raise InputError(problems)

    @property
    def several_policies(self) -> bool:
        """Whether it takes logs in which others acted too: where it knows the old policy."""
        return self.propensities == "known"

    def applies(self, problem: Problem) -> str:
        """Why it has nothing to say about such a log at all, or nothing."""
        log = problem.log
        longer = int(np.sum(log.episode_lengths > 1))
        if longer:
            return f"{longer:,} of {log.n_episodes:,} episodes have more than one step"
        cut = int(np.sum(log.truncated & ~log.terminated))
        if cut:
            return f"{cut:,} of {log.n_episodes:,} episodes were cut off after one step, not ended"
        if log.n_episodes < self.least_episodes:
            return f"{log.n_episodes} episodes are fewer than {self.least_episodes}"
        if float(np.ptp(log.rewards)) <= 0.0:
            return "all rewards of the log are the same"
        if self.propensities == "logged" and self.column not in log.columns:
            return f"the log has no column {self.column!r} with the probability of the action taken"
        if problem.acting and self.propensities != "known":
            return (
                "several policies acted in the log: the old policy itself is needed, not a clone "
                "or a column"
            )
        return weigh_starts(log, problem.start).problem

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> Prepared:
        """Fit the reward model and ask the old policy."""
        log = problem.log
        fit_key, draw_key = jax.random.split(key)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(fit_key)))
        folds = rng.permutation(np.arange(len(log)) % self.folds)
        outcomes = fit_outcomes(rng, log, folds, self.folds)
        report(0.6)
        old = read_answers(draw_key, log, problem.old_policy)
        predicted = outcomes.predict(log.actions)
        exact = self.propensities == "known"
        starts = weigh_starts(log, problem.start)
        residuals = np.asarray(log.rewards, np.float64) - predicted
        misfit = bound_misfit(rng, log, folds, residuals) if self.uncertainty else 0.0
        report(1.0)
        return Prepared(
            outcomes,
            self._replace_taken(problem, old),
            read_answers(draw_key, log, mix_behaviours(problem)) if problem.acting else None,
            predicted,
            _value(outcomes, old) if exact else predicted,
            starts.weights,
            starts.unseen,
            misfit,
            draw_key,
        )

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: Prepared,
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """The gain of one candidate, with Student's t on the scores."""
        new = read_answers(prepared.draw_key, problem.log, candidate)
        size = _reward_size(problem)
        if is_same_point(prepared.old, new):
            return Estimate(self.name, 0.0, ROUNDING * size, self.basis, reason="same actions")
        ratios = _compare(prepared, new)
        if ratios is None:
            side = "old policy" if prepared.old.taken is None else "candidate"
            return abstain(self.name, self.basis, f"the {side} is deterministic: it has no weights")
        scores = self._score(problem, prepared, new, ratios)
        report(1.0)
        # Of what the candidate does otherwise than the old policy, whoever acted in the log.
        apart = ratios if prepared.behaviour is None else compare(prepared.old, new) or ratios
        differs = float(np.average(apart.excess(1.0), weights=prepared.contexts))
        return self._summarise(problem, prepared, ratios, scores, differs)

    def score(self, problem: Problem, prepared: Prepared, candidate: Policy) -> Scores | None:
        """Scores of one candidate, for further analysis; none where there are no weights."""
        new = read_answers(prepared.draw_key, problem.log, candidate)
        ratios = _compare(prepared, new)
        return None if ratios is None else self._score(problem, prepared, new, ratios)

    def _replace_taken(self, problem: Problem, old: PolicyAnswers) -> PolicyAnswers:
        """The log's own probabilities of the actions taken, where they are to be used."""
        if self.propensities != "logged":
            return old
        logged = np.asarray(problem.log.columns[self.column], np.float64)
        wrong = np.flatnonzero(~(np.isfinite(logged) & (logged > 0)))
        if logged.ndim != 1 or len(wrong):
            row = int(wrong[0]) if len(wrong) else 0
            raise InputError(
                f"log: column {self.column!r}, row {row}: {logged[row]}; give the positive "
                "probability, or density, of the action taken in each row"
            )
        return PolicyAnswers(old.distribution, old.points, old.masses, np.log(logged))

    def _score(
        self, problem: Problem, prepared: Prepared, new: PolicyAnswers, ratios: PolicyRatios
    ) -> Scores:
        residuals = np.asarray(problem.log.rewards, np.float64) - prepared.predicted
        reach = float(np.ptp(problem.log.rewards))
        limit, outside = choose_limit(
            ratios, prepared.contexts, residuals, reach, self.unseen_events
        )
        weights = np.minimum(ratios.ratios, limit)
        if not math.isinf(limit) or self.propensities != "known":
            # Clipped or uncertain weights are scaled to the mean that they have to have.
            mean = float(np.average(weights, weights=prepared.contexts))
            weights = weights * ((1.0 - outside) / mean) if mean > 0 else weights
        baselines = _value(prepared.outcomes, new) - prepared.old_value
        old_weights = 1.0 if ratios.old is None else ratios.old.taken
        values = prepared.contexts * (baselines + (weights - old_weights) * residuals)
        acted = prepared.behaviour or prepared.old
        taken = acted.taken if acted.masses is not None else None
        return Scores(
            values,
            weights,
            residuals,
            baselines,
            prepared.contexts,
            limit,
            outside,
            mean_square(ratios, prepared.contexts, limit),
            np.zeros(len(values)) if taken is None else np.minimum(np.exp(taken), 1.0),
            old_weights,
        )

    def _find_problem(self, diagnostics: Mapping[str, float], misfit_error: float) -> str:
        """Why an estimate may not be used, from its weights alone; or nothing."""
        differs, outside = diagnostics["policy_distance"], diagnostics["outside"]
        if differs > ROUNDING and outside > self.most_outside * differs:
            return (
                f"{min(1.0, outside / differs):.0%} of what the candidate does differently was "
                "never or hardly tried in the log"
            )
        effective = diagnostics["effective_episodes"]
        if effective < self.least_effective:
            return f"only {effective:.0f} effective episodes"
        misfit = diagnostics["mean_weight_error"]
        if misfit > MISFIT * misfit_error + LEAST_MISFIT:
            return (
                "the old policy's probabilities do not fit the actions of the log: the mean weight "
                f"is off by {misfit:.2f}"
            )
        return ""

    def _summarise(
        self,
        problem: Problem,
        prepared: Prepared,
        ratios: PolicyRatios,
        scores: Scores,
        differs: float,
    ) -> Estimate:
        n, reach = len(scores.values), float(np.ptp(problem.log.rewards))
        weights = prepared.contexts * np.minimum(ratios.ratios, scores.limit)
        effective = count_effective(weights)
        error, degrees = find_spread(scores, reach, self.unseen_events)
        penalty = (scores.outside + prepared.unseen) * reach
        # Cauchy and Schwarz: errors of the probabilities meet those of the reward model.
        penalty += 2.0 * self.uncertainty * math.sqrt(float(np.mean(weights**2))) * prepared.misfit
        expected = (1.0 - scores.outside) * float(prepared.contexts.mean())
        misfit = abs(float(np.mean(weights)) - expected)
        misfit_error = float(np.std(weights)) / math.sqrt(n)
        diagnostics = {
            "effective_episodes": effective,
            "largest_weight": float(ratios.ratios.max()),
            "outside": scores.outside,
            "policy_distance": differs,
            "mean_weight_error": misfit,
            "residual_spread": float(np.std(scores.residuals)),
            "reward_range": reach,
            "misfit": prepared.misfit,
        }
        if not math.isinf(scores.limit):
            diagnostics["clipping_limit"] = scores.limit
        problem_found = self._find_problem(diagnostics, misfit_error)
        if problem_found:
            return abstain(self.name, self.basis, problem_found, diagnostics)
        return Estimate(
            self.name,
            float(np.mean(scores.values)),
            max(error, ROUNDING * _reward_size(problem)),
            self.basis,
            overlap_penalty=penalty,
            reason=f"{effective:,.0f} effective episodes of {n:,}",
            degrees=degrees,
            diagnostics=diagnostics,
        )


def _compare(prepared: Prepared, new: PolicyAnswers) -> PolicyRatios | None:
    """Ratios of a candidate to what made the log."""
    if prepared.behaviour is None:
        return compare(prepared.old, new)
    return compare_three(prepared.behaviour, prepared.old, new)


def _value(outcomes: OutcomeModel, answers: PolicyAnswers) -> Floats:
    """(n,) m(x, π): mean of the predictions over the policy's actions."""
    if answers.masses is not None:
        return np.asarray(np.sum(answers.masses * outcomes.coefficients, axis=1))
    assert answers.points is not None  # noqa: S101 - action vectors are drawn
    return np.asarray(outcomes.predict(answers.points).mean(axis=0))


def _reward_size(problem: Problem) -> float:
    return float(np.max(np.abs(problem.log.rewards)))
