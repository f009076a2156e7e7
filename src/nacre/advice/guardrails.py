"""Guardrails of one advice: a further outcome in the reward's place, for the same estimators."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nacre.advice.old_value import value_own_episodes
from nacre.advice.setting import Setting, Split
from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.diagnostics.log_checks import LogChecks
from nacre.diagnostics.overlap import Overlap, continue_returns
from nacre.estimators.base import Estimate
from nacre.inference.guardrails import GuardrailEvidence
from nacre.logs import Log
from nacre.logs.acting import find_acting

LEAST_EVENTS = 5


@dataclass(frozen=True, kw_only=True)
class Outcome(Split):
    """The split with a guardrail's outcome in place of the test part's reward, more is better.

    Args:
        terms: The guardrail.
        least: Least of the discounted sums to go, or 0, and
        most: the largest of them, or 0.
        value: Their mean at the starts of the old policy's episodes.
        events: Episodes whose outcome is not the most common one.
        old_mean: The outcome under the old policy, in its own sign; NaN where it is not known.
        old_error: Its standard error; infinite where it is not known.
    """

    terms: GuardrailTerms
    least: float
    most: float
    value: float
    events: int
    old_mean: float
    old_error: float

    def __reduce__(self) -> Any:
        # Its test part is not a part of the log: it has another reward.
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return partial(Outcome, **fields), ()

    def adapt(self, overlap: Overlap) -> Overlap:
        """The same excess, with what leaving the log may be worth in this outcome.

        By all that the log has seen, without its quantiles: a guardrail is about rare outcomes.
        """
        return dataclasses.replace(overlap, least=self.least, most=self.most, old_value=self.value)

    def as_evidence(self, estimates: Iterable[Estimate]) -> GuardrailEvidence:
        """What the rule sees of one finalist.

        The error of a rare outcome rests on the few episodes that have it, so that it has no more
        degrees of freedom than they have.
        """
        rest = [self._limit(one) for one in estimates]
        return GuardrailEvidence(self.terms, tuple(rest), self.old_mean, self.old_error)

    def _limit(self, estimate: Estimate) -> Estimate:
        if self.events < LEAST_EVENTS:
            reason = f"{self.events} episodes have another outcome than most, {LEAST_EVENTS} needed"
            return dataclasses.replace(estimate, informative=False, reason=reason)
        return dataclasses.replace(estimate, degrees=min(estimate.degrees, self.events - 1.0))


def open_outcome(
    setting: Setting, terms: GuardrailTerms, *, split: Split, checks: LogChecks, report: Any
) -> Outcome:
    """One guardrail's outcome: what estimators are given, and what it is under the old policy.

    That is known from the old policy's own episodes, where the next one starts like them.
    """
    own = value_own_episodes(setting, checks, take_outcome(setting.log, terms.column))
    test = take_outcome(split.test, terms.column, terms.sign)
    to_go = continue_returns(test, setting.config.discount)
    return Outcome(
        split.learning,
        test,
        split.old_policy,
        terms=terms,
        least=min(0.0, float(to_go.min())),
        most=max(0.0, float(to_go.max())),
        value=float(to_go[test.offsets[:-1]][find_acting(test) == 0].mean()),
        events=_count_events(test, setting.config.discount),
        old_mean=math.nan if own is None else own.mean,
        old_error=math.inf if own is None else own.standard_error,
    )


def take_outcome(log: Log, column: str, sign: float = 1.0) -> Log:
    """The log with a further column in the reward's place."""
    values = sign * np.asarray(log.columns[column], np.float64)
    return dataclasses.replace(log, rewards=values.astype(np.float32))


def _count_events(log: Log, discount: float) -> int:
    """Episodes whose outcome is not the most common one."""
    _, counts = np.unique(log.returns(discount), return_counts=True)
    return int(log.n_episodes - counts.max())
