"""From estimates to an answer: switch, keep, or undecided."""

from nacre.inference.paper_rule import Choice, decide

__all__ = ["Choice", "decide"]
