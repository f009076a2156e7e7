"""The advice on a case: the one place that knows how advice is asked for and what it answers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.advice import Advice, Assessment
from nacre.advice_config import AdviceConfig, suggest_config
from nacre.advisor import advise
from nacre.experiments.calibration.case import LEVELS, Problem
from nacre.policies.policy import Policy

Interval = tuple[float, float]


@dataclass(frozen=True)
class Finalist:
    """A candidate that the advice compared on its test part.

    Args:
        name: What it is called.
        policy: What it does.
        net_gain: Estimated, after the cost.
        intervals: Of the net gain, two-sided, by level.
        estimates: What each estimator says, as plain data.
    """

    name: str
    policy: Policy
    net_gain: float
    intervals: Mapping[float, Interval]
    estimates: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Answer:
    """What came of an advice.

    Args:
        verdict: "switch", "keep" or "undecided"; "refused" where the input was not accepted.
        chosen: Index of the finalist that the verdict is about, or None.
        claim: X of "the net gain is at least X", where there is a switch.
        reason: The sentence given.
        finalists: All that were compared.
    """

    verdict: str
    chosen: int | None
    claim: float | None
    reason: str
    finalists: Sequence[Finalist] = field(default_factory=tuple)


def run_advice(problem: Problem) -> tuple[Advice, list[Finalist]]:
    """Ask for advice on a case.

    Returns:
        The advice, and everything that it compared on the test part.
    """
    config = suggest_config(problem.log, problem.discount)
    if not problem.learns:
        config = dataclasses.replace(config, behaviour_weights=(), calm_factors=(), thrift=None)
    advice = advise(
        problem.log,
        problem.old_policy,
        problem.cost,
        problem.start,
        config=config,
        candidates=problem.candidates,
        seed=problem.case.seed,
    )
    return advice, [_read_finalist(assessment) for assessment in advice.assessments]


def read_answer(advice: Advice, finalists: list[Finalist]) -> Answer:
    """The advice in the words of the records."""
    chosen = advice.judgement.chosen
    switches = advice.verdict == "switch"
    claim = advice.chosen.gain.bound(advice.confidence_level) if switches else None
    return Answer(advice.verdict, chosen, claim, advice.judgement.reason, finalists)


def _read_finalist(assessment: Assessment) -> Finalist:
    gain = assessment.gain
    second = assessment.second
    estimates: list[dict[str, Any]] = [
        {"estimator": "fitted_q", "gain": gain.mean + gain.cost, "standard_error": gain.spread}
    ]
    if second is not None:
        estimates.append({"estimator": "second_opinion", **second.as_json()})
    return Finalist(
        assessment.candidate.name,
        assessment.candidate.policy,
        gain.mean,
        {level: gain.interval(level) for level in LEVELS},
        estimates,
    )


def digest_configuration() -> str:
    """A short name of the default configuration: records of different ones are never mixed."""
    text = json.dumps(AdviceConfig().as_json(), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def plain(number: float | None) -> float | None:
    """The number for JSON, or None where it is infinite, no number or not there."""
    return float(number) if number is not None and math.isfinite(number) else None
