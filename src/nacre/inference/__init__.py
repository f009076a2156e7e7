"""From estimates to an answer: switch, keep, or undecided."""

from nacre.inference.paper_rule import Choice, decide
from nacre.inference.rule import Decision, Rule
from nacre.plugins.registry import Registry

RULES: Registry[type[Rule]] = Registry(
    "nacre.rules",
    "rule",
    {
        "bounds": "nacre.inference.rule:BoundsRule",
        "paper": "nacre.inference.paper_rule:PaperRule",
    },
)
"""From evidence to a decision, by the name that `--rule` takes."""

__all__ = ["RULES", "Choice", "Decision", "Rule", "decide"]
