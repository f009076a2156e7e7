"""The record of a decision: the one schema of `decision.json`, which everything else reads."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from nacre.errors import InputError
from nacre.estimators.base import Basis, Estimate
from nacre.files.commit import settle as settle_folder
from nacre.files.documents import parse_json
from nacre.files.manifest import read_checked
from nacre.inference.evidence import Evidence, Verdict
from nacre.inference.intervals import find_hull
from nacre.inference.price import Price
from nacre.logs.checks.problems import show_path

FORMAT = 2
FILE_NAME = "decision.json"
LARGEST_FILE = 64_000_000
DEEPEST = 30

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


class BreakEvenEntry(Part):
    """Weights at which the answer changes, the other weight kept."""

    learning_weight: Number = None
    transaction_weight: Number = None
    expected_learning_weight: Number = None
    expected_transaction_weight: Number = None


class CandidateEntry(Part):
    """One finalist."""

    name: str
    origin: str = ""
    value: Value
    net_gain: Interval
    probability: FiniteFloat
    cost: Cost
    price: PriceEntry
    estimates: tuple[EstimateEntry, ...] = ()
    overlap: dict[str, Any] = {}
    break_even: BreakEvenEntry = BreakEvenEntry()
    notes: tuple[str, ...] = ()

    def as_evidence(self) -> Evidence:
        """What the rule sees of it."""
        estimates = tuple(one.as_estimate() for one in self.estimates)
        return Evidence(estimates, self.price.as_price())


class StartEntry(Part):
    """The answer for one start state."""

    state: Any = None
    verdict: Verdict
    probability: FiniteFloat
    net_gain: Interval


class DecisionRecord(Part):
    """The whole document."""

    format: Literal[2] = 2
    verdict: Verdict
    probability: FiniteFloat
    reason: str
    remedy: str = ""
    more_episodes: int | None = None
    net_gain: Interval
    old_value: Value
    new_value: Value
    cost: Cost
    break_even: BreakEvenEntry = BreakEvenEntry()
    chosen: str
    basis: tuple[str, ...] = ()
    candidates: Annotated[tuple[CandidateEntry, ...], Field(min_length=1)]
    log_checks: dict[str, Any] = {}
    not_applicable: dict[str, str] = {}
    forbidden: str = ""
    confounding: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    starts: tuple[StartEntry, ...] = ()
    rule: str = "bounds"
    confidence_level: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.95
    interval_level: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.95
    look: int = 1
    looks: int = 1
    log: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    new_policy: dict[str, Any] = {}
    cost_model: dict[str, Any] = {}
    value: dict[str, Any] = {}
    risk: dict[str, Any] = {}
    names: dict[str, Any] = {}
    config: dict[str, Any] = {}
    seed: int | None = None
    versions: dict[str, Any] = {}
    wall_seconds: Number = None
    execution: dict[str, Any] = {}

    @property
    def chosen_entry(self) -> CandidateEntry:
        """The finalist that the verdict is about; names may occur twice, gains decide then."""
        named = [one for one in self.candidates if one.name == self.chosen]
        same = [one for one in named if one.net_gain == self.net_gain]
        return (same or named or list(self.candidates))[0]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the file holds it."""
        document: dict[str, Any] = self.model_dump(mode="json")
        return document


def read_decision(folder: str | os.PathLike[str]) -> DecisionRecord:
    """The `decision.json` of a folder, or that file itself.

    Raises:
        InputError: If it is not there, too large, not JSON, or not a decision.
    """
    path = Path(folder)
    path = path if path.suffix == ".json" else path / FILE_NAME
    shown = show_path(path)
    try:
        settle_folder(path.parent)
        document = parse_json(read_checked(path, LARGEST_FILE), largest=LARGEST_FILE)
    except OSError as error:
        raise InputError(
            f"{shown}: cannot be read ({error.strerror}); give the folder that "
            "`nacre advise --out` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{shown}: is not JSON ({error!s:.100}); write it anew") from None
    return check_decision(document, shown)


def check_decision(document: object, source: str = FILE_NAME) -> DecisionRecord:
    """The document with its parts checked; format 1 is turned into today's form.

    Raises:
        InputError: One line for each place that does not hold what it should.
    """
    from nacre.advice.record_1 import upgrade

    if isinstance(document, DecisionRecord):
        return document
    if not isinstance(document, Mapping):
        raise InputError(f"{source}: holds a {type(document).__name__}; expected a decision")
    if document.get("format") not in (1, FORMAT):
        raise InputError(
            f"{source}: format = {document.get('format')!r:.60}; this version reads formats 1 and "
            f"{FORMAT}"
        )
    settled = settle(document, source)
    try:
        record = DecisionRecord.model_validate(
            upgrade(settled) if settled["format"] == 1 else settled
        )
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise InputError([f"{source}: {_word(detail)}" for detail in details[:20]]) from None
    problems = list(_check_flows(record))
    if problems:
        raise InputError([f"{source}: {problem}" for problem in problems])
    return record


def finite(number: float | None) -> float | None:
    """The number, or None where there is none or JSON has none for it."""
    return float(number) if number is not None and math.isfinite(number) else None


def settle(part: Any, source: str, depth: int = 0) -> Any:
    """The same data without halves of characters, which no file can hold; not nested too deeply."""
    if depth > DEEPEST:
        raise InputError(f"{source}: is nested more than {DEEPEST} deep; not a decision of ours")
    if isinstance(part, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", part)
    if isinstance(part, Mapping):
        return {settle(k, source): settle(v, source, depth + 1) for k, v in part.items()}
    if isinstance(part, list | tuple):
        return [settle(one, source, depth + 1) for one in part]
    return part


def _word(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    return f"{place} = {detail['input']!r:.60}: {detail['msg']}"


def _check_flows(record: DecisionRecord) -> list[str]:
    problems = []
    for index, one in enumerate(record.candidates):
        flows, n = one.cost.flows, len(one.cost.groups)
        if flows is not None and (len(flows) != n or any(len(row) != n for row in flows)):
            problems.append(
                f"candidates.{index}.cost.flows: has {len(flows)} rows for {n} groups; "
                "expected a square of that size"
            )
    return problems
