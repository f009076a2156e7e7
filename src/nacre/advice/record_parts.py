"""The small parts of a decision's record: intervals, costs, prices, estimates, guardrails."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from nacre.costs.guardrail_terms import LONGEST_TEXT, Better, GuardrailTerms
from nacre.estimators.base import Basis, Estimate
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.intervals import find_hull
from nacre.inference.price import Price

Number = FiniteFloat | None
"""A number, or None where it is not known."""
BY_RETURNS = "returns of the log"
"""How a value was found that is read off the returns of a policy's own episodes."""
Mass = Annotated[FiniteFloat, Field(ge=0)]


class Part(BaseModel):
    """What a later format adds is kept, and shown in the record."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Interval(Part):
    """A number between two bounds."""

    mean: Number
    low: Number
    high: Number

    @classmethod
    def of(
        cls,
        mean: float | None = None,
        low: float | None = None,
        high: float | None = None,
        **further: Any,
    ) -> Self:
        """The same of any numbers: what is not there or not finite is not known."""
        return cls(mean=finite(mean), low=finite(low), high=finite(high), **further)


class Value(Interval):
    """What a policy is worth, and how that was found."""

    method: str = ""


class Cost(Part):
    """The cost of one switch."""

    total: FiniteFloat
    learning: FiniteFloat
    transaction: FiniteFloat
    learning_mass: FiniteFloat
    transaction_mass: FiniteFloat
    standard_error: Number = 0.0
    n_states: int | None = None
    groups: tuple[str, ...] = ()
    flows: tuple[tuple[Mass, ...], ...] | None = None


class PriceEntry(Part):
    """The cost as a function of its weights: fixed + c_l · learning + c_t · transaction."""

    learning_weight: FiniteFloat
    transaction_weight: FiniteFloat
    learning_mass: FiniteFloat
    transaction_mass: FiniteFloat
    fixed: FiniteFloat = 0.0
    error: Number = 0.0

    @classmethod
    def from_price(cls, price: Price) -> PriceEntry:
        """The same for the record."""
        facts = dataclasses.asdict(price)
        return cls.model_validate(facts | {"error": finite(price.error)})

    def as_price(self) -> Price:
        """The same for the rule; an error that is not known is infinite."""
        return Price(
            self.learning_weight,
            self.transaction_weight,
            self.learning_mass,
            self.transaction_mass,
            self.fixed,
            math.inf if self.error is None else self.error,
        )


class EstimateEntry(Part):
    """What one estimator says of one candidate's gain, before the cost.

    `low` and `high` are its bounds at the level that decides.
    """

    estimator: str
    gain: Number
    standard_error: Number
    low: Number
    high: Number
    overlap_penalty: Number = 0.0
    overlap_allowance: Number = None
    basis: Basis
    informative: bool
    reason: str = ""
    degrees: Number = None
    diagnostics: dict[str, Number] = {}

    def as_estimate(self) -> Estimate:
        """The same for the rule."""
        return Estimate(
            self.estimator,
            math.nan if self.gain is None else self.gain,
            math.inf if self.standard_error is None else self.standard_error,
            self.basis,
            math.inf if self.overlap_penalty is None else self.overlap_penalty,
            self.informative,
            self.reason,
            math.inf if self.degrees is None else self.degrees,
            {name: math.nan if one is None else one for name, one in self.diagnostics.items()},
            self.overlap_allowance,
        )

    @classmethod
    def from_estimate(cls, estimate: Estimate, level: float) -> EstimateEntry:
        """An estimate with its bounds at a level."""
        low, high = find_hull([estimate], level)
        return cls(
            estimator=estimate.estimator,
            gain=finite(estimate.gain),
            standard_error=finite(estimate.standard_error),
            low=finite(low),
            high=finite(high),
            overlap_penalty=finite(estimate.overlap_penalty),
            overlap_allowance=finite(estimate.overlap_allowance),
            basis=estimate.basis,
            informative=estimate.informative,
            reason=estimate.reason,
            degrees=finite(estimate.degrees),
            diagnostics={name: finite(one) for name, one in estimate.diagnostics.items()},
        )


class GuardrailEntry(Part):
    """What one finalist does to a further outcome, in one episode.

    `change` is the outcome's, in its own sign; its bounds are at the level that decides. `allowed`
    is what it may get worse by at least. `estimates` are those of its gain, more is better.
    """

    column: str
    worst: Mass = 0.0
    relative: bool = False
    better: Better = "lower"
    unit: str = ""
    old_value: Number = None
    old_error: Number = None
    change: Interval
    allowed: Number = None
    held: bool
    broken: bool
    estimates: tuple[EstimateEntry, ...] = ()

    def as_evidence(self) -> GuardrailEvidence:
        """The same for the rule; a name that no guardrail may have does not matter there."""
        name = "".join(filter(str.isprintable, self.column))[:LONGEST_TEXT] or "outcome"
        return GuardrailEvidence(
            GuardrailTerms(name, self.worst, self.relative, self.better),
            tuple(one.as_estimate() for one in self.estimates),
            math.nan if self.old_value is None else self.old_value,
            math.inf if self.old_error is None else self.old_error,
        )


class SegmentEntry(Part):
    """What one finalist gains in a part of the episodes, before the cost, in one episode.

    `column` is empty for start states. `gain` has bounds that hold for all segments together;
    `share` is that of the log's episodes. `reason` says why nothing is known.
    """

    column: str = ""
    label: str
    episodes: int
    share: FiniteFloat
    gain: Interval
    basis: tuple[str, ...] = ()
    reason: str = ""

    @property
    def answer(self) -> str:
        """Better, worse, or not known: zero lies within the bounds."""
        if self.gain.low is not None and self.gain.low > 0:
            return "better"
        worse = self.gain.high is not None and self.gain.high < 0
        return "worse" if worse else "not known"


def finite(number: float | None) -> float | None:
    """The number, or None where there is none or JSON has none for it."""
    return float(number) if number is not None and math.isfinite(number) else None
