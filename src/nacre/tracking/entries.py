"""What is tracked of a run, as names and values that every tracker takes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nacre.advice.result import Advice
from nacre.training.progress import ProgressEvent

LONGEST_NAME = 120
"""Of a part of a name; names become those of files in some stores."""


def clean_name(name: str) -> str:
    """A name that is no path, whatever it was: letters, digits, dots, dashes and underscores.

    Two names that differ stay different: one that had to be changed, spaces aside, carries a digest
    of what it was.
    """
    spaced = name.replace(" ", "_")
    cleaned = re.sub(r"[^A-Za-z0-9_.-]|^[.-]+|\.\.+", "_", spaced)[:LONGEST_NAME]
    if cleaned == spaced and cleaned:
        return cleaned
    return f"{cleaned}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}"


def read_tick(event: ProgressEvent) -> dict[str, float]:
    """The numbers of an epoch by name; those that are none leave a gap in the curve."""
    stage = clean_name(event.stage)
    return _keep_finite({f"{stage}/loss": event.loss, f"{stage}/estimate": event.estimate})


def read_decision(advice: Advice) -> dict[str, float]:
    """The numbers of a decision by name."""
    chosen = advice.chosen
    estimates = {
        "net_gain": advice.net_gain,
        "old_value": advice.record.old_value,
        "new_value": chosen.value,
    }
    found: dict[str, float | None] = {"decision/probability": advice.probability}
    for name, estimate in estimates.items():
        found |= {f"decision/{name}": estimate.mean}
        found |= {f"decision/{name}_{end}": getattr(estimate, end) for end in ("low", "high")}
    found |= {
        "decision/cost": chosen.cost.total,
        "decision/learning_cost": chosen.cost.learning,
        "decision/transaction_cost": chosen.cost.transaction,
        "decision/break_even_learning_weight": chosen.break_even.learning_weight,
        "decision/break_even_transaction_weight": chosen.break_even.transaction_weight,
    }
    return _keep_finite(found)


def describe_decision(advice: Advice) -> dict[str, str]:
    """The words of a decision by name."""
    record = advice.record
    found = {
        "verdict": advice.verdict,
        "reason": record.reason,
        "chosen": record.chosen,
        "origin": advice.chosen.origin,
    }
    for name, facts in (("log", record.log), ("policy", record.policy)):
        digest = facts.get("sha256")
        if digest is not None:
            found[f"{name}_sha256"] = str(digest)
    version = record.versions.get("nacre")
    return found if version is None else found | {"version": str(version)}


def flatten(values: Mapping[str, Any]) -> dict[str, str]:
    """Nested settings as texts by dotted names."""
    return dict(_walk("", values))


def _walk(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            part = clean_name(str(name))
            yield from _walk(f"{prefix}.{part}" if prefix else part, inner)
    elif isinstance(value, str):
        yield prefix, value
    elif isinstance(value, Mapping | Sequence) or value is None:
        yield prefix, json.dumps(value, default=str)
    else:
        yield prefix, str(value)


def _keep_finite(numbers: Mapping[str, float | None]) -> dict[str, float]:
    return {
        name: float(number)
        for name, number in numbers.items()
        if number is not None and math.isfinite(number)
    }
