"""What a rule sees: of each finalist its estimates and its cost, and the circumstances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nacre.estimators.base import Estimate
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.intervals import find_centre, find_hull, find_quantile, list_informative
from nacre.inference.multiplicity import split_level
from nacre.inference.price import Price

Verdict = Literal["switch", "keep", "undecided"]


@dataclass(frozen=True)
class Evidence:
    """All that the rule sees of one finalist.

    Args:
        estimates: What estimators say of its gain.
        price: Its cost.
        guardrails: What is known of further outcomes that it must not make worse.
    """

    estimates: tuple[Estimate, ...]
    price: Price
    guardrails: tuple[GuardrailEvidence, ...] = ()

    def gain_bounds(self, level: float) -> tuple[float, float]:
        """Bounds of the gain before the cost, each at this one-sided level at least.

        A finalist is proven only if its gain and all guardrails are: each may use the whole level.
        It is ruled out by any one of them: what rules out shares the level.
        """
        low, _ = find_hull(self.estimates, level)
        _, high = find_hull(self.estimates, self.share_level(level))
        return low, high

    def bounds(self, level: float) -> tuple[float, float]:
        """Bounds of the net gain, each at this one-sided level at least."""
        low, high = self.gain_bounds(level)
        error = find_quantile(level) * self.price.error
        return low - self.price.total - error, high - self.price.total + error

    def find_unproven(self, level: float) -> list[GuardrailEvidence]:
        """Guardrails that are not proven to hold."""
        return [one for one in self.guardrails if not one.bounds(level)[0] > 0]

    def find_broken(self, level: float) -> list[GuardrailEvidence]:
        """Guardrails that are proven not to hold."""
        level = self.share_level(level)
        return [one for one in self.guardrails if one.bounds(level)[1] < 0]

    def share_level(self, level: float) -> float:
        """The level of each bound that could rule the finalist out alone."""
        return 1.0 - (1.0 - level) / (1 + len(self.guardrails))

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
        n_finalists: That share the level, where a rule is shown only some of them.
        unit: Of gains and costs, for sentences.
    """

    confidence: float = 0.95
    n_episodes: int = 0
    forbidden: str = ""
    remedy: str = ""
    look: int = 1
    looks: int = 1
    n_finalists: int = 0
    unit: str = ""

    def find_level(self, n_finalists: int) -> float:
        """The one-sided level of each finalist's bounds."""
        n = max(n_finalists, self.n_finalists)
        return split_level(self.confidence, n, self.look, self.looks)
