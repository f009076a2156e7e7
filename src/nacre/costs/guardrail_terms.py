"""A guardrail: a further outcome of the log that a switch must not make worse by much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from nacre.errors import InputError

LONGEST_TEXT = 60
Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class GuardrailTerms:
    """The table [[guardrail]] of a cost.toml.

    Args:
        column: Of the log: its sum over an episode, discounted like the reward.
        worst: How much worse than under the old policy one episode may be.
        relative: Whether `worst` is a share of what it is under the old policy.
        better: Which way is better.
        unit: Of the column, such as "complaints"; nothing if not given.
    """

    column: str
    worst: float = 0.0
    relative: bool = False
    better: Better = "lower"
    unit: str = ""

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.worst < math.inf:
            problems.append(f"worst = {self.worst}: must be 0 or a number above it")
        if self.better not in get_args(Better):
            problems.append(f"better = {self.better!r:.60}: must be lower or higher")
        for name in ("column", "unit"):
            text = getattr(self, name)
            if len(text) > LONGEST_TEXT or not (text == "" or text.isprintable()):
                problems.append(f"{name} = {text!r:.70}: at most {LONGEST_TEXT} printable letters")
        if not self.column:
            problems.append('column = "": name a column of the log')
        if problems:
            raise InputError(problems)

    @property
    def sign(self) -> float:
        """What turns the outcome into something of which more is better."""
        return 1.0 if self.better == "higher" else -1.0

    def as_json(self) -> dict[str, Any]:
        """The table as the file has it."""
        plain = {"column": self.column, "worst": self.worst, "relative": self.relative}
        unit = {"unit": self.unit} if self.unit else {}
        return plain | {"better": self.better} | unit


def check_columns(guardrails: tuple[GuardrailTerms, ...]) -> list[str]:
    """Problems of several: two of the same column contradict each other or say it twice."""
    columns = [one.column for one in guardrails]
    return [
        f"guardrail: the column {column!r:.70} is there twice; keep one of the two"
        for column in dict.fromkeys(columns)
        if columns.count(column) > 1
    ]
