"""Estimates and evidence made by hand."""

from __future__ import annotations

import math
from typing import Any

from nacre.estimators.base import Estimate
from nacre.inference.evidence import Evidence
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
