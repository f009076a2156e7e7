"""What one stage of a roll-out costs, what going on and going back cost, and where to stop."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.advice.record import CandidateEntry

CLOSED_FORM = ("transport",)
"""Kinds of cost of which a mixture's is known from the whole switch's alone."""


@dataclass(frozen=True)
class CostCurve:
    """The switching cost of a mixture π_λ = (1 - λ) π_o + λ π_n, as a function of λ.

    Moved mass is linear in λ: the groups of π_λ hold (1 - λ) a + λ b, so that

        𝓛(λ) = λ 𝓛(1)   and   𝓣(λ) = 𝓣(1) + (1 - λ) 𝓛(1),

    and C(λ) = c_l 𝓛(λ) + c_t 𝓣(λ) for λ > 0, C(0) = 0. Where the cost is not of that form, all of
    it is charged at the first step: that is never too little.

    Args:
        learning_weight: c_l.
        transaction_weight: c_t.
        learning_mass: 𝓛(1), in units of the cost.
        transaction_mass: 𝓣(1).
        whole: C(1).
        linear: Whether the closed form holds.
    """

    learning_weight: float
    transaction_weight: float
    learning_mass: float
    transaction_mass: float
    whole: float
    linear: bool

    @classmethod
    def of(cls, candidate: CandidateEntry, cost_model: dict[str, object]) -> CostCurve:
        """The curve of a finalist of a recorded advice."""
        price = candidate.price
        linear = (
            cost_model.get("kind") in CLOSED_FORM
            and cost_model.get("link", "identity") == "identity"
            and price.fixed == 0
        )
        return cls(
            price.learning_weight,
            price.transaction_weight,
            price.learning_mass,
            price.transaction_mass,
            candidate.cost.total,
            linear,
        )

    def at(self, share: float) -> float:
        """C(λ)."""
        if share <= 0:
            return 0.0
        if not self.linear or share >= 1:
            return self.whole
        learning = share * self.learning_mass
        kept = self.transaction_mass + (1.0 - share) * self.learning_mass
        return self.learning_weight * learning + self.transaction_weight * kept

    def between(self, first: float, second: float) -> float:
        """What the way from one share to a larger one costs; what is paid is paid."""
        return max(0.0, self.at(second) - self.at(first))

    def break_even(self, share: float) -> float:
        """The gain an episode above which going all the way from here pays: ΔC / Δλ."""
        return 0.0 if share >= 1 else self.between(share, 1.0) / (1.0 - share)
