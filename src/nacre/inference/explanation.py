"""A decision in plain words, and what would settle one that is open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nacre.estimators.base import Estimate
from nacre.inference.evidence import Circumstances, Evidence, Verdict
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.intervals import bound_below, find_quantile, list_informative

LARGEST_FACTOR = 100.0
"""More than this many times the log is no advice to collect more."""


def explain(
    verdict: Verdict, evidence: Evidence, level: float, circumstances: Circumstances
) -> tuple[str, str, int | None]:
    """Reason, remedy and further episodes, in plain words."""
    low, high = evidence.bounds(level)
    confidence, unit = f"{100 * circumstances.confidence:g} % confidence", circumstances.unit
    if verdict == "switch":
        return f"the net gain is at least {_write(low, unit)} with {confidence}", "", None
    if verdict == "keep":
        most = f"the best gains at most {_write(high, unit)} with {confidence}"
        return f"no tested candidate gains: {most}", "", None
    usable = list_informative(evidence.estimates)
    if not usable:
        reasons = "; ".join(f"{one.estimator}: {one.reason}" for one in evidence.estimates)
        return (
            f"this log cannot tell: no estimator is informative ({reasons})",
            "log episodes with more exploration, or try a smaller step",
            None,
        )
    penalty = max(one.overlap_penalty for one in usable)
    spare = min(bound_below(one, 0.5) for one in usable) - evidence.price.total
    if spare <= 0 < spare + penalty:
        return (
            "this log cannot tell: too much of what the candidate does lies outside of the log",
            "log episodes that explore the missing states and actions, or try a smaller step",
            None,
        )
    mean = evidence.net_gain
    if mean <= 0:
        reason = f"no gain is proven and none is expected: {_write(mean, unit)} after the cost"
        return reason, "keep the old policy for now", None
    more = count_more_episodes(evidence, level, circumstances.n_episodes)
    reason = f"a net gain of {_write(mean, unit)} is expected but not proven"
    if more is None:
        return reason, "more of the same log would hardly settle it; try a smaller step", None
    return reason, f"about {more:,} further episodes could settle it", more


def explain_unproven(
    guardrails: Sequence[GuardrailEvidence], level: float, n_episodes: int
) -> tuple[str, str, int | None]:
    """The same for a finalist that only guardrails stand in the way of."""
    reasons = "; ".join(state_unproven(one, level) for one in guardrails)
    counts = []
    for one in guardrails:
        allowed = one.allowed(level)[0]
        counts.append(_count_until(one.estimates, -allowed, level, n_episodes))
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return reasons, "try a smaller step, or one that changes these outcomes less", None
    more = max(known)
    return reasons, f"about {more:,} further episodes could settle it", more


def state_unproven(guardrail: GuardrailEvidence, level: float) -> str:
    """Why a guardrail is not proven to hold, in one clause."""
    terms, (low, _) = guardrail.terms, guardrail.gain_bounds(level)
    start = f"the guardrail {terms.column} is not proven to hold"
    if not math.isfinite(low):
        said = "; ".join(f"{one.estimator}: {one.reason}" for one in guardrail.estimates)
        return f"{start}: no estimator is informative ({said or 'none applies'})"
    return f"{start}: it may {_word_change(guardrail, 'by up to', -low, level)}"


def state_broken(guardrail: GuardrailEvidence, level: float) -> str:
    """What a guardrail that is proven not to hold says, in one clause."""
    _, high = guardrail.gain_bounds(level)
    words = _word_change(guardrail, "by at least", -high, level)
    return f"the guardrail {guardrail.terms.column} does not hold: it would {words}"


def _word_change(guardrail: GuardrailEvidence, how: str, harm: float, level: float) -> str:
    """Such as: rise by up to 0.021 an episode, where 0.005 is allowed."""
    terms, (least, most) = guardrail.terms, guardrail.allowed(level)
    verb = "rise" if terms.better == "lower" else "fall"
    allowed = _write(least if how == "by up to" else most, terms.unit)
    return f"{verb} {how} {_write(harm, terms.unit)} an episode, where {allowed} is allowed"


def _write(number: float, unit: str) -> str:
    return f"{number:.4g} {unit}".rstrip()


def count_more_episodes(evidence: Evidence, level: float, n_episodes: int) -> int | None:
    """Further episodes after which the lower bound would be above zero, if nothing else changes.

    Standard errors shrink with the square root of the number of episodes; penalties and the cost's
    error do not.
    """
    fixed = evidence.price.total + find_quantile(level) * evidence.price.error
    return _count_until(evidence.estimates, fixed, level, n_episodes)


def _count_until(
    estimates: Sequence[Estimate], threshold: float, level: float, n_episodes: int
) -> int | None:
    usable = list_informative(estimates)
    factors = []
    for one in usable:
        spare = one.gain - one.overlap_penalty - threshold
        reach = find_quantile(level, one.degrees) * one.standard_error
        ratio = reach / spare if spare > 0 else math.inf
        # A product overflows to infinity, where a power would raise.
        factors.append(ratio * ratio)
    factor = max(factors, default=math.inf)
    if not factor <= LARGEST_FACTOR:
        return None
    return max(1, math.ceil((factor - 1.0) * n_episodes))
