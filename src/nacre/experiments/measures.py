"""The published measure of an improvement, from a record.

The published runs evaluate the new policy again, by critics that they refit online, and compare it
with the offline value of the old policy, which nobody refits:

    published style = refitted or simulated value of the new policy - cost - fitted old value.

The true measure has the simulated value of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

SIMULATED = "simulated"
REFITTED = "refitted"


@dataclass(frozen=True)
class PublishedStyle:
    """What the published measure says of one run.

    Args:
        improvement: The number; None where the record lacks a part of it.
        new_value: Where the new policy's value comes from, "refitted" or "simulated".
        old_part: What is added to the true improvement because the old policy's fitted value is
            too low: simulated minus fitted.
        new_part: What is added because the new policy's refitted value is too high: refitted minus
            simulated.
        missing: What the record lacks; empty where it lacks nothing.
    """

    improvement: float | None
    new_value: str | None
    old_part: float | None = None
    new_part: float | None = None
    missing: str = ""

    @classmethod
    def of(cls, record: dict[str, Any]) -> PublishedStyle:
        """Of a record of any configuration; a refitted value is taken before a simulated one."""
        refitted = read_number(record, "new_value", "refitted", "value")
        simulated = read_number(record, "new_value", "true", "mean")
        new = simulated if refitted is None else refitted
        cost = read_number(record, "switching_cost", "evaluation", "total")
        old, true_old = read_fitted(record), read_number(record, "old_value", "true", "mean")
        parts = {
            "value of the new policy": new,
            "cost": cost,
            "fitted value of the old policy": old,
        }
        if new is None or cost is None or old is None:
            absent = [name for name, number in parts.items() if number is None]
            return cls(None, None, missing=f"no {', no '.join(absent)}")
        return cls(
            new - cost - old,
            SIMULATED if refitted is None else REFITTED,
            None if true_old is None else true_old - old,
            None if refitted is None or simulated is None else refitted - simulated,
        )


def read_fitted(record: dict[str, Any]) -> float | None:
    """What fitted critics say of the old policy.

    The paper's decision takes a value, advice a mean with an interval.
    """
    value = read_number(record, "old_value", "fitted", "value")
    return read_number(record, "old_value", "fitted", "mean") if value is None else value


def read_number(record: Any, *names: str) -> float | None:
    """A number inside of a record, or None where there is none."""
    for name in names:
        if not isinstance(record, dict) or name not in record:
            return None
        record = record[name]
    known = isinstance(record, int | float) and not isinstance(record, bool)
    return float(record) if known and math.isfinite(record) else None
