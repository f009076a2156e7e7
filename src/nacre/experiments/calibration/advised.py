"""The advice on a case: the one place that knows how advice is asked for and what it answers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.record import CandidateEntry
from nacre.advice.result import Advice
from nacre.experiments.calibration.case import LEVELS, Problem
from nacre.inference.multiplicity import split_level
from nacre.learners.base import Candidate
from nacre.policies.policy import Policy

Interval = tuple[float, float]
OVERLAP = ("excess", "least", "most", "old_value", "forms")
"""What a line keeps of how far a finalist leaves the log."""


@dataclass(frozen=True)
class Finalist:
    """A candidate that the advice compared on its test part.

    Args:
        name: What it is called.
        policy: What it does.
        net_gain: Estimated, after the cost.
        intervals: Of the net gain, two-sided, by level.
        estimates: What each estimator says, as plain data.
        overlap: How far it leaves the log, as plain data.
    """

    name: str
    policy: Policy
    net_gain: float
    intervals: Mapping[float, Interval]
    estimates: Sequence[Mapping[str, Any]] = ()
    overlap: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came of an advice.

    Args:
        verdict: "switch", "keep" or "undecided"; "refused" where the input was not accepted.
        chosen: Index of the finalist that the verdict is about, or None.
        claim: X of "the net gain is at least X", where there is a switch.
        reason: The sentence given.
        finalists: All that were compared.
        others: Candidates that were learned and not compared, or only a step towards them.
    """

    verdict: str
    chosen: int | None
    claim: float | None
    reason: str
    finalists: Sequence[Finalist] = field(default_factory=tuple)
    others: Sequence[Candidate] = field(default_factory=tuple)


def run_advice(problem: Problem) -> tuple[Advice, list[Finalist]]:
    """Ask for advice on a case.

    Returns:
        The advice, and everything that it compared on the test part.
    """
    config = suggest_config(problem.log, problem.discount)
    if not problem.learns:
        config = dataclasses.replace(config, learners=())
    advice = advise(
        problem.log,
        problem.old_policy,
        problem.cost,
        problem.start,
        config=config,
        candidates=problem.candidates,
        seed=problem.case.seed,
    )
    n = len(advice.finalists)
    finalists = [
        _read_finalist(candidate.policy, entry, n)
        for candidate, entry in zip(advice.finalists, advice.record.candidates, strict=True)
    ]
    return advice, finalists


def read_answer(advice: Advice, finalists: list[Finalist]) -> Answer:
    """The advice in the words of the records."""
    claim = advice.net_gain.low if advice.verdict == "switch" else None
    names = {one.name for one in finalists}
    others = [one for one in advice.learned if not one.problem and one.name not in names]
    return Answer(advice.verdict, advice.index, claim, advice.record.reason, finalists, others)


def _read_finalist(policy: Policy, entry: CandidateEntry, n_finalists: int) -> Finalist:
    """Two-sided intervals by level, simultaneous over the finalists like the one that decides."""
    evidence = entry.as_evidence()
    return Finalist(
        entry.name,
        policy,
        evidence.net_gain,
        {level: evidence.bounds(split_level((1.0 + level) / 2.0, n_finalists)) for level in LEVELS},
        [one.model_dump(mode="json") for one in entry.estimates],
        {name: entry.overlap[name] for name in OVERLAP},
    )


def digest_configuration() -> str:
    """A short name of the default configuration: records of different ones are never mixed."""
    text = json.dumps(AdviceConfig().as_json(), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def plain(number: float | None) -> float | None:
    """The number for JSON, or None where it is infinite, no number or not there."""
    return float(number) if number is not None and math.isfinite(number) else None
