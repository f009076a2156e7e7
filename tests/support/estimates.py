"""Estimates and evidence made by hand."""

from __future__ import annotations

import math
from typing import Any

from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.estimators.base import Estimate
from nacre.inference.evidence import Evidence
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.price import Price


def make_estimate(gain: float, error: float = 1.0, penalty: float = 0.0, **given: Any) -> Estimate:
    """An informative estimate."""
    fields: dict[str, Any] = {"estimator": "fitted_q", "basis": "model", "degrees": math.inf}
    return Estimate(**(fields | given), gain=gain, standard_error=error, overlap_penalty=penalty)


def make_price(total: float, error: float = 0.0) -> Price:
    """A learning cost of one unit of mass."""
    return Price(total, 0.0, 1.0, 0.5, error=error)


def make_evidence(*estimates: Estimate, cost: float = 0.0, error: float = 0.0) -> Evidence:
    """One finalist."""
    return Evidence(estimates, make_price(cost, error))


def make_guardrail(estimate: Estimate, worst: float = 1.0) -> GuardrailEvidence:
    """Of one estimator, absolute."""
    return GuardrailEvidence(GuardrailTerms("complaints", worst), (estimate,))


def add_guardrails(document: dict[str, Any], *gains: float) -> None:
    """Put a guardrail into a decision: gains of the first finalist, and of all others.

    One standard error of one, one allowed: it holds far above -1 and is broken far below it.
    """
    for place, entry in enumerate(document["candidates"]):
        gain = gains[min(place, len(gains) - 1)]
        estimate = {"estimator": "a", "gain": gain, "standard_error": 1.0, "low": None}
        estimate |= {"high": None, "basis": "data", "informative": True}
        entry["guardrails"] = [
            {
                "column": "complaints",
                "worst": 1.0,
                "unit": "calls",
                "old_value": 4.0,
                "old_error": 0.1,
                "change": {"mean": -gain, "low": -gain - 2.0, "high": -gain + 2.0},
                "allowed": 1.0,
                "held": gain > 3.0,
                "broken": gain < -5.0,
                "estimates": [estimate],
            }
        ]
