"""What a rule sees: of each finalist its estimates and its cost, and the circumstances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nacre.estimators.base import Estimate
from nacre.inference.intervals import find_centre, find_hull, find_quantile, list_informative
from nacre.inference.multiplicity import split_level
from nacre.inference.price import Price

Verdict = Literal["switch", "keep", "undecided"]


@dataclass(frozen=True)
class Evidence:
    """All that the rule sees of one finalist: what estimators say of its gain, and its cost."""

    estimates: tuple[Estimate, ...]
    price: Price

    def bounds(self, level: float) -> tuple[float, float]:
        """Bounds of the net gain, each at this one-sided level."""
        low, high = find_hull(self.estimates, level)
        error = find_quantile(level) * self.price.error
        return low - self.price.total - error, high - self.price.total + error

    @property
    def net_gain(self) -> float:
        """The net gain in one number."""
        return find_centre(self.estimates) - self.price.total

    @property
    def basis(self) -> tuple[str, ...]:
        """The estimators that count, each with what it rests on."""
        return tuple(f"{one.estimator} ({one.basis})" for one in list_informative(self.estimates))


@dataclass(frozen=True)
class Circumstances:
    """What a decision depends on besides the finalists.

    Args:
        confidence: Of the whole decision.
        n_episodes: Episodes of the test part.
        forbidden: Why the log allows no switch at all, or nothing; holds for every rule.
        remedy: What would mend such a log.
        look: Which look at a growing log this is.
        looks: 1 if there is no other look.
    """

    confidence: float = 0.95
    n_episodes: int = 0
    forbidden: str = ""
    remedy: str = ""
    look: int = 1
    looks: int = 1

    def find_level(self, n_finalists: int) -> float:
        """The one-sided level of each finalist's bounds."""
        return split_level(self.confidence, n_finalists, self.look, self.looks)
