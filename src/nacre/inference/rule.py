"""The rule: switch where every informative estimate proves that the gain exceeds the cost.

For each finalist i and each informative estimator e, at the one-sided level 1 - α/m,

    low_i  = min_e (gain_ie - penalty_ie - t·se_ie) - cost_i - t·error_i
    high_i = max_e (gain_ie + penalty_ie + t·se_ie) - cost_i + t·error_i

switch if some low_i > 0; keep if every high_i < 0; undecided otherwise.

Rules see estimates and costs. What guardrails and the log forbid whatever they say is added in one
place, `apply_rule`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from nacre.inference.evidence import Circumstances, Evidence, Verdict
from nacre.inference.explanation import explain, explain_unproven, state_broken, state_unproven
from nacre.inference.intervals import find_error


@dataclass(frozen=True)
class Decision:
    """The answer.

    Args:
        verdict: What to do; undecided means keep for now.
        chosen: Index of the finalist that the answer is about.
        net_gain: Its gain minus its cost, in one number.
        low: Lower bound of the net gain, at `level`.
        high: Upper bound, at `level`.
        level: One-sided level of each bound; `confidence` split over finalists and looks.
        probability: Confidence at which the answer would just be a switch: above the asked one
            exactly where it is. See `find_probability`.
        basis: Estimators that count for the chosen finalist.
        reason: One sentence for people.
        remedy: What would settle an answer that is not a switch; nothing where nothing would.
        more_episodes: About how many further episodes would, or None.
    """

    verdict: Verdict
    chosen: int
    net_gain: float
    low: float
    high: float
    level: float
    probability: float
    basis: tuple[str, ...]
    reason: str
    remedy: str = ""
    more_episodes: int | None = None


@runtime_checkable
class Rule(Protocol):
    """From evidence to a decision. Implementations are frozen dataclasses."""

    @property
    def name(self) -> str:
        """What it is called in records and on the command line."""

    def __call__(self, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
        """Decide about all finalists; what the log forbids need not be looked at."""


@dataclass(frozen=True)
class BoundsRule:
    """Every informative estimate has to prove it."""

    name: str = "bounds"

    def __call__(self, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
        """Switch where the lower bound is above zero, keep where every upper bound is below.

        The answer is about the finalist that gains most: of the proven ones, where there are any.
        """
        level = circumstances.find_level(len(evidence))
        bounds = [one.bounds(level) for one in evidence]
        proven = [index for index, (low, _) in enumerate(bounds) if low > 0]
        chosen = max(proven or range(len(evidence)), key=lambda i: _order(evidence[i].net_gain))
        verdict: Verdict = "undecided"
        if proven:
            verdict = "switch"
        elif all(high < 0 for _, high in bounds):
            verdict = "keep"
        reason, remedy, more = explain(verdict, evidence[chosen], level, circumstances)
        return Decision(
            verdict,
            chosen,
            evidence[chosen].net_gain,
            *bounds[chosen],
            level,
            find_probability(evidence[chosen], circumstances.confidence, level),
            evidence[chosen].basis,
            reason,
            remedy,
            more,
        )


def apply_rule(rule: Rule, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
    """What a rule decides, as far as guardrails and the log allow it.

    A log that forbids a switch forbids it under every rule, and the reason why it does so is the
    reason for every answer but `keep`.
    """
    decision = _guard(rule, evidence, circumstances)
    if decision.verdict == "keep" or not circumstances.forbidden:
        return decision
    return _answer(decision, "undecided", circumstances.forbidden, circumstances.remedy)


def _guard(rule: Rule, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
    """Switch only to a finalist whose guardrails are all proven; one that breaks any is ruled out.

    An intersection-union test: a switch to a finalist that breaks a guardrail is an error of that
    guardrail's own test, so that each of them may use the whole level.
    """
    if not any(one.guardrails for one in evidence):
        return rule(evidence, circumstances)
    level = circumstances.find_level(len(evidence))
    circumstances = dataclasses.replace(circumstances, n_finalists=len(evidence))

    def decide(places: Sequence[int]) -> Decision:
        decision = rule([evidence[place] for place in places], circumstances)
        return dataclasses.replace(decision, chosen=places[decision.chosen])

    every = range(len(evidence))
    held = [place for place in every if not evidence[place].find_unproven(level)]
    left = [place for place in every if not evidence[place].find_broken(level)]
    decision = decide(held) if held else None
    if decision is not None and decision.verdict == "switch":
        return dataclasses.replace(decision, reason=f"{decision.reason}; all guardrails hold")
    decision = decide(left or every)
    chosen = evidence[decision.chosen]
    if not left:
        shared = chosen.share_level(level)
        reason = "; ".join(state_broken(one, shared) for one in chosen.find_broken(level))
        return _answer(decision, "keep", f"no tested candidate keeps to the guardrails: {reason}")
    unproven = chosen.find_unproven(level)
    if decision.verdict == "switch":
        found = explain_unproven(unproven, level, circumstances.n_episodes)
        return _answer(decision, "undecided", *found)
    reason, remedy, more = decision.reason, decision.remedy, decision.more_episodes
    if decision.verdict == "keep" and len(left) < len(evidence):
        reason += "; those that break a guardrail are ruled out"
    if decision.verdict == "undecided" and unproven:
        # Episodes enough to prove the gain need not be enough for the guardrail.
        reason = f"{reason}; {state_unproven(unproven[0], level)}"
        remedy, more = remedy if more is None else "", None
    return _answer(decision, decision.verdict, reason, remedy, more)


def _answer(
    decision: Decision, verdict: Verdict, reason: str, remedy: str = "", more: int | None = None
) -> Decision:
    return dataclasses.replace(
        decision, verdict=verdict, reason=reason, remedy=remedy, more_episodes=more
    )


def find_probability(evidence: Evidence, confidence: float, level: float) -> float:
    """The confidence at which the lower bound, or else the upper one, reaches zero.

    Continuous, and above the confidence asked for exactly where the lower bound is above zero. One
    half where the penalty alone spans zero: then the log says nothing about the sign. Not above the
    confidence at which all guardrails are proven.
    """
    price = evidence.price
    # A bound at level 1 - e·share belongs to a decision with confidence 1 - e.
    share = (1.0 - level) / (1.0 - confidence)
    error = find_error(evidence.estimates, price.total, price.error, share)
    proven = [one.find_probability(share) for one in evidence.guardrails]
    return min(1.0 - error if error > 0 else -error, *proven, 1.0)


def _order(number: float) -> float:
    return -math.inf if math.isnan(number) else number
