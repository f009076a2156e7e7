"""A rule: more than half of the informative estimators have to prove a gain.

Weaker than the default, under which all of them have to. If one of three estimators is wrong, this
rule may still be right; if two of three are wrong in the same way, it is not.

Registered in this package's `pyproject.toml`:

    [project.entry-points."nacre.rules"]
    majority = "nacre_example.rule:MajorityRule"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.intervals import bound_above, bound_below, find_quantile, list_informative
from nacre.inference.rule import BoundsRule, Decision


@dataclass(frozen=True)
class MajorityEvidence(Evidence):
    """The same estimates, with the bounds that more than half of them agree on."""

    def bounds(self, level: float) -> tuple[float, float]:
        """Where k is more than half of n: the k-th largest lower, the k-th smallest upper bound."""
        usable = list_informative(self.estimates)
        if not usable:
            return super().bounds(level)
        place = len(usable) // 2
        low = sorted((bound_below(one, level) for one in usable), reverse=True)[place]
        high = sorted(bound_above(one, level) for one in usable)[place]
        error = find_quantile(level) * self.price.error
        return low - self.price.total - error, high - self.price.total + error


@dataclass(frozen=True)
class MajorityRule:
    """Decides as the default does, by the bounds of the majority."""

    name: str = "majority"

    def __call__(self, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
        """Decide by what the majority says. What a log forbids is added to every rule."""
        majority = [MajorityEvidence(one.estimates, one.price) for one in evidence]
        return BoundsRule()(majority, circumstances)
