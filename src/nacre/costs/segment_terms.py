"""Segments: parts of the episodes whose gains are asked for one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacre.costs.guardrail_terms import LONGEST_TEXT
from nacre.errors import InputError


@dataclass(frozen=True)
class SegmentTerms:
    """The table [segments] of a cost.toml. Nothing is asked for where nothing is said.

    Args:
        column: Of the log, with few values; that of an episode's first row is its segment.
        start_states: Whether each start state is a segment, where states are numbered.
    """

    column: str = ""
    start_states: bool = False

    def __post_init__(self) -> None:
        text = self.column
        if len(text) > LONGEST_TEXT or not (text == "" or text.isprintable()):
            raise InputError(f"column = {text!r:.70}: at most {LONGEST_TEXT} printable letters")

    def as_json(self) -> dict[str, Any]:
        """The table as the file has it; nothing where nothing was said."""
        return {name: value for name, value in vars(self).items() if value}
