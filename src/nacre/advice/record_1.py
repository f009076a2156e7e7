"""Records of format 1 in today's form: there one ensemble of critics evaluated every candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NONLINEAR_KINDS = ("global",)
LINEAR_LINKS = ("identity", "times_states")
REPLACED = (
    "confidence",
    "differences",
    "doubt",
    "pessimistic",
    "cost_error",
    "support",
    "second_opinion",
    "proof",
    "trusted",
)
"""What format 1 says of a candidate in other words."""


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same decision in format 2.

    Where a part is missing or of a wrong type it is left out: the schema then names it.
    """
    kept = {
        name: value
        for name, value in document.items()
        if name not in ("format", "confidence", "candidates", "starts", "behaviour", "cost_model")
    }
    model = document.get("cost_model")
    model = model if isinstance(model, Mapping) else {}
    config = document.get("config")
    scale = _number(config.get("spread_scale"), 1.0) if isinstance(config, Mapping) else 1.0
    upgraded = {
        **kept,
        "format": 2,
        "probability": document.get("confidence"),
        "cost_model": dict(model),
        "candidates": [
            _upgrade_candidate(one, model, scale) for one in _list(document, "candidates")
        ],
        "starts": [_rename(one) for one in _list(document, "starts")],
    }
    behaviour = document.get("behaviour")
    if isinstance(behaviour, Mapping):
        upgraded["log_checks"] = {"on_policy": dict(behaviour)}
        if behaviour.get("on_policy") is False:
            upgraded["forbidden"] = str(behaviour.get("text", ""))
    return upgraded


def _upgrade_candidate(entry: Any, model: Mapping[str, Any], scale: float) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    kept = {name: value for name, value in entry.items() if name not in REPLACED}
    cost = entry.get("cost")
    cost = cost if isinstance(cost, Mapping) else {}
    support = entry.get("support")
    return {
        **kept,
        "probability": entry.get("confidence"),
        "price": _find_price(cost, model, entry.get("cost_error")),
        "estimates": _find_estimates(entry, scale),
        "overlap": dict(support) if isinstance(support, Mapping) else {},
    }


def _find_estimates(entry: Mapping[str, Any], scale: float) -> list[dict[str, Any]]:
    """The critics' differences, widened by what was then called doubt."""
    given = entry.get("differences")
    numbers = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    members = [one for one in numbers if isinstance(one, int | float) and math.isfinite(one)]
    if len(members) < 2:
        return []
    k = len(members)
    gain, spread = float(np.mean(members)), float(np.std(members, ddof=1)) * scale
    penalty = _number(entry.get("doubt"), 0.0)
    pessimistic = entry.get("pessimistic")
    if isinstance(pessimistic, int | float) and math.isfinite(pessimistic):
        penalty = max(penalty, gain - float(pessimistic))
    return [
        {
            "estimator": "fitted_q",
            "gain": gain,
            "standard_error": max(spread * math.sqrt(1.0 + 1.0 / k), 1e-12),
            "low": None,
            "high": None,
            "overlap_penalty": penalty,
            "basis": "model",
            "informative": bool(entry.get("trusted", True)) and len(members) == len(numbers),
            "degrees": float(k - 1),
        }
    ]


def _find_price(cost: Mapping[str, Any], model: Mapping[str, Any], error: Any) -> dict[str, Any]:
    """The cost as a linear function of its weights.

    Mass is what the plain transport cost charges for. Others charge for distances: there the units
    follow from the recorded parts, as far as their weight is not zero.
    """
    learning = _number(model.get("learning_weight"), _number(model.get("weight"), 1.0))
    transaction = _number(model.get("transaction_weight"), 0.0)
    masses = [_number(cost.get(name), 0.0) for name in ("learning_mass", "transaction_mass")]
    total, link = _number(cost.get("total"), 0.0), model.get("link", "identity")
    fixed = 0.0
    if link not in LINEAR_LINKS or model.get("kind") in NONLINEAR_KINDS:
        masses, fixed = [0.0, 0.0], total
    elif model.get("kind", "transport") != "transport" or link != "identity":
        parts = [_number(cost.get(name), 0.0) for name in ("learning", "transaction")]
        factor = total / sum(parts) if sum(parts) else 1.0
        masses = [
            factor * part / weight if weight else 0.0
            for part, weight in zip(parts, (learning, transaction), strict=True)
        ]
    return {
        "learning_weight": learning,
        "transaction_weight": transaction,
        "learning_mass": masses[0],
        "transaction_mass": masses[1],
        "fixed": fixed,
        "error": cost.get("standard_error") if error is None else error,
    }


def _rename(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    kept = {name: value for name, value in entry.items() if name != "confidence"}
    return {**kept, "probability": entry.get("confidence")}


def _list(document: Mapping[str, Any], name: str) -> Any:
    found = document.get(name, ())
    return found if isinstance(found, list | tuple) else [found]


def _number(value: Any, otherwise: float) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else otherwise
