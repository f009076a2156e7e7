"""The decision in the user's own terms: gains of all episodes of the horizon, and payback time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from nacre.advice.record import Interval, Value
from nacre.costs.value_terms import ValueTerms
from nacre.estimators.base import Estimate
from nacre.inference.evidence import Evidence
from nacre.inference.intervals import find_centre


def scale_estimate(estimate: Estimate, episodes: float) -> Estimate:
    """What an estimate of one episode's gain says of so many episodes; diagnostics stay."""
    if episodes == 1.0:
        return estimate
    allowance = estimate.overlap_allowance
    return dataclasses.replace(
        estimate,
        gain=episodes * estimate.gain,
        standard_error=episodes * estimate.standard_error,
        overlap_penalty=episodes * estimate.overlap_penalty,
        overlap_allowance=None if allowance is None else episodes * allowance,
    )


def scale_value(value: Value, episodes: float) -> Value:
    """What a policy is worth over so many episodes."""
    if episodes == 1.0:
        return value
    numbers = (value.mean, value.low, value.high)
    scaled = (None if one is None else episodes * one for one in numbers)
    return Value.of(*scaled, method=value.method)


def describe_value(terms: ValueTerms, evidence: Evidence, level: float) -> dict[str, Any]:
    """The terms with one episode's gain and the payback time of a finalist; nothing without terms.

    The payback time is C / (gain of a day). It has no end where the gain may be nothing.
    """
    described = terms.as_json()
    if not described:
        return {}
    low, high = evidence.gain_bounds(level)
    gains = (find_centre(evidence.estimates), low, high)
    described["episodes"] = terms.episodes
    described["gain_per_episode"] = _as_json([one / terms.episodes for one in gains])
    if terms.episodes_per_day is not None:
        days = [_pay_back(evidence.price.total, one, terms) for one in (gains[0], high, low)]
        described["payback_days"] = _as_json(days)
    return described


def _pay_back(cost: float, gain: float, terms: ValueTerms) -> float | None:
    if not gain > 0 or terms.horizon_days is None:
        return None
    return cost / gain * terms.horizon_days


def _as_json(numbers: Sequence[float | None]) -> dict[str, Any]:
    return Interval.of(*numbers).model_dump(mode="json")
