"""A gain in the user's own terms: its unit, and how many episodes pay the cost back.

The cost is paid once, the gain comes with every episode. Over a horizon of N episodes the net gain
is N · (V(new) - V(old)) - C. Without terms N is one, as in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacre.costs.guardrail_terms import GuardrailTerms, check_columns
from nacre.costs.segment_terms import SegmentTerms
from nacre.errors import InputError

LONGEST_UNIT = 24
NO_SEGMENTS = SegmentTerms()


@dataclass(frozen=True)
class ValueTerms:
    """The table [value] of a cost.toml, and its tables [[guardrail]] and [segments].

    Args:
        unit: Of reward and cost, such as "€"; nothing if not given.
        episodes_per_day: How many episodes a day the policy runs.
        horizon_days: Days over which the switch has to pay.
        guardrails: Further outcomes that the switch must not make worse by much.
        segments: Parts of the episodes whose gains are asked for one by one.
    """

    unit: str = ""
    episodes_per_day: float | None = None
    horizon_days: float | None = None
    guardrails: tuple[GuardrailTerms, ...] = ()
    segments: SegmentTerms = NO_SEGMENTS

    def __post_init__(self) -> None:
        problems = check_columns(self.guardrails)
        given = {"episodes_per_day": self.episodes_per_day, "horizon_days": self.horizon_days}
        for name, number in given.items():
            if number is not None and not 0 < number < math.inf:
                problems.append(f"{name} = {number}: must be a number above 0")
        missing = [name for name, number in given.items() if number is None]
        if len(missing) == 1:
            problems.append(f"{missing[0]} is missing: episodes a day and horizon go together")
        if not problems and not missing and self.episodes < 1:
            problems.append(
                f"episodes_per_day · horizon_days = {self.episodes:g}: must be one episode at least"
            )
        if len(self.unit) > LONGEST_UNIT or not (self.unit == "" or self.unit.isprintable()):
            problems.append(f"unit = {self.unit!r:.60}: at most {LONGEST_UNIT} printable letters")
        if problems:
            raise InputError(problems)

    @property
    def episodes(self) -> float:
        """N: the episodes that share the cost."""
        if self.episodes_per_day is None or self.horizon_days is None:
            return 1.0
        return self.episodes_per_day * self.horizon_days

    def as_json(self) -> dict[str, Any]:
        """The table [value] as the file has it; nothing where nothing was said."""
        others = ("guardrails", "segments")
        table = {name: value for name, value in vars(self).items() if name not in others}
        return {name: value for name, value in table.items() if value not in ("", None)}
