"""The record of a decision: the one schema of `decision.json`, which everything else reads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, ValidationError

from nacre.advice.record_parts import (
    BY_RETURNS,
    Cost,
    EstimateEntry,
    GuardrailEntry,
    Interval,
    Number,
    Part,
    PriceEntry,
    SegmentEntry,
    Value,
    finite,
)
from nacre.errors import InputError
from nacre.files.commit import settle as settle_folder
from nacre.files.documents import parse_json
from nacre.files.manifest import read_checked
from nacre.inference.evidence import Evidence, Verdict
from nacre.logs.checks.problems import show_path

__all__ = [
    "BY_RETURNS",
    "DEEPEST",
    "FILE_NAME",
    "FORMAT",
    "LARGEST_FILE",
    "BreakEvenEntry",
    "CandidateEntry",
    "Cost",
    "DecisionRecord",
    "EstimateEntry",
    "GuardrailEntry",
    "Interval",
    "Part",
    "PriceEntry",
    "SegmentEntry",
    "StartEntry",
    "Value",
    "check_decision",
    "finite",
    "read_decision",
    "settle",
]

FORMAT = 2
FILE_NAME = "decision.json"
LARGEST_FILE = 64_000_000
DEEPEST = 30


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
    guardrails: tuple[GuardrailEntry, ...] = ()
    segments: tuple[SegmentEntry, ...] = ()
    overlap: dict[str, Any] = Field(default_factory=dict)
    break_even: BreakEvenEntry = BreakEvenEntry()
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether all guardrails are proven to hold."""
        return all(one.held for one in self.guardrails)

    @property
    def broken(self) -> tuple[str, ...]:
        """Guardrails that are proven not to hold."""
        return tuple(one.column for one in self.guardrails if one.broken)

    def as_evidence(self) -> Evidence:
        """What the rule sees of it."""
        return Evidence(
            tuple(one.as_estimate() for one in self.estimates),
            self.price.as_price(),
            tuple(one.as_evidence() for one in self.guardrails),
        )


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
    log_checks: dict[str, Any] = Field(default_factory=dict)
    not_applicable: dict[str, str] = Field(default_factory=dict)
    forbidden: str = ""
    confounding: dict[str, Any] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    starts: tuple[StartEntry, ...] = ()
    rule: str = "bounds"
    confidence_level: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.95
    interval_level: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.95
    look: int = 1
    looks: int = 1
    log: dict[str, Any] = Field(default_factory=dict)
    policy: dict[str, Any] = Field(default_factory=dict)
    new_policy: dict[str, Any] = Field(default_factory=dict)
    cost_model: dict[str, Any] = Field(default_factory=dict)
    value: dict[str, Any] = Field(default_factory=dict)
    risk: dict[str, Any] = Field(default_factory=dict)
    names: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] = Field(default_factory=dict)
    seed: int | None = None
    versions: dict[str, Any] = Field(default_factory=dict)
    wall_seconds: Number = None
    execution: dict[str, Any] = Field(default_factory=dict)

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
