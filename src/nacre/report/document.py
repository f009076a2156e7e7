"""The decision as it is written down: `decision.json`, read and checked."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from nacre.errors import InputError
from nacre.inference.verdict import Verdict
from nacre.logs.checks.problems import show_path

FORMAT = 1
FILE_NAME = "decision.json"
LARGEST_FILE = 64_000_000
DEEPEST = 30

Number = FiniteFloat | None
"""A number, or None where it is not known."""
Mass = Annotated[FiniteFloat, Field(ge=0)]


class _Part(BaseModel):
    """What a later format adds is kept, and shown in the record."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Interval(_Part):
    """A number between two bounds."""

    mean: Number
    low: Number
    high: Number


class Value(Interval):
    """What a policy is worth, and how that was found."""

    method: str = ""


class Cost(_Part):
    """The price of one switch."""

    total: FiniteFloat
    learning: FiniteFloat
    transaction: FiniteFloat
    learning_mass: FiniteFloat
    transaction_mass: FiniteFloat
    standard_error: Number = 0.0
    n_states: int | None = None
    groups: tuple[str, ...] = ()
    flows: tuple[tuple[Mass, ...], ...] | None = None


class Support(_Part):
    """How far a candidate leaves the log's actions."""

    excess: FiniteFloat
    limit: FiniteFloat
    divergence: Number = None
    supported: bool


class SecondEntry(_Part):
    """What weighted episodes say of a candidate."""

    method: str = ""
    gain: Number = None
    standard_error: Number = None
    effective_episodes: Number = None
    usable: bool = False


class BreakEven(_Part):
    """Weights at which the answer turns, the other weight kept."""

    learning_weight: Number = None
    transaction_weight: Number = None
    expected_learning_weight: Number = None
    expected_transaction_weight: Number = None


class CandidateEntry(_Part):
    """One candidate."""

    name: str
    origin: str = ""
    value: Value
    net_gain: Interval
    confidence: FiniteFloat
    differences: tuple[Number, ...]
    doubt: Number = 0.0
    pessimistic: Number = None
    cost: Cost
    cost_error: Number = None
    support: Support
    second_opinion: SecondEntry | None = None
    proof: SecondEntry | None = None
    break_even: BreakEven = BreakEven()
    trusted: bool
    notes: tuple[str, ...] = ()


class BehaviourEntry(_Part):
    """Whose actions the log holds."""

    on_policy: bool
    share: FiniteFloat
    text: str = ""


class StartEntry(_Part):
    """The answer for one start state."""

    state: Any = None
    verdict: Verdict
    confidence: FiniteFloat
    net_gain: Interval


class Decision(_Part):
    """The whole document."""

    format: Literal[1]
    verdict: Verdict
    confidence: FiniteFloat
    reason: str
    more_episodes: int | None = None
    net_gain: Interval
    old_value: Value
    fitted_old_value: Value | None = None
    new_value: Value
    cost: Cost
    break_even: BreakEven = BreakEven()
    chosen: str
    candidates: Annotated[tuple[CandidateEntry, ...], Field(min_length=1)]
    behaviour: BehaviourEntry | None = None
    notes: tuple[str, ...] = ()
    starts: tuple[StartEntry, ...] = ()
    log: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    cost_model: dict[str, Any] = {}
    config: dict[str, Any] = {}
    confidence_level: Annotated[FiniteFloat, Field(gt=0.5, lt=1)] = 0.95
    seed: int | None = None
    versions: dict[str, Any] = {}
    wall_seconds: Number = None

    @property
    def chosen_entry(self) -> CandidateEntry:
        """The candidate that the verdict is about; names may occur twice, costs decide then."""
        named = [one for one in self.candidates if one.name == self.chosen]
        same = [one for one in named if one.net_gain == self.net_gain]
        return (same or named or list(self.candidates))[0]


def read_decision(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The `decision.json` of a folder, or that file itself, as plain data.

    Raises:
        InputError: If it is not there, too large, not JSON, or not a decision.
    """
    path = Path(folder)
    path = path if path.suffix == ".json" else path / FILE_NAME
    shown = show_path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{shown}: larger than {LARGEST_FILE:,} bytes; not a decision of ours")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"{shown}: cannot be read ({error.strerror}); give the folder that "
            "`nacre advise --out` wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{shown}: is not JSON ({error!s:.100}); write it anew") from None
    check_decision(document, shown)
    return dict(document)


def check_decision(document: object, source: str = FILE_NAME) -> Decision:
    """The document with its parts checked.

    Raises:
        InputError: One line for each place that does not hold what it should.
    """
    if not isinstance(document, Mapping):
        raise InputError(f"{source}: holds a {type(document).__name__}; expected a decision")
    if document.get("format") != FORMAT:
        raise InputError(
            f"{source}: format = {document.get('format')!r:.60}; this version reads format {FORMAT}"
        )
    try:
        decision = Decision.model_validate(_settle(document, source))
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise InputError([f"{source}: {_word(detail)}" for detail in details[:20]]) from None
    problems = list(_check_flows(decision))
    if problems:
        raise InputError([f"{source}: {problem}" for problem in problems])
    return decision


def read_number(facts: Mapping[str, Any], key: str, otherwise: float) -> float:
    """A number out of facts whose form is not fixed.

    Raises:
        InputError: If something else stands there.
    """
    found = facts.get(key, otherwise)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise InputError(f"{FILE_NAME}: {key} = {found!r:.60}: expected a finite number")
    return float(found)


def _settle(part: Any, source: str, depth: int = 0) -> Any:
    """The same data without halves of characters, which no file can hold; not nested too deeply."""
    if depth > DEEPEST:
        raise InputError(f"{source}: is nested more than {DEEPEST} deep; not a decision of ours")
    if isinstance(part, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", part)
    if isinstance(part, Mapping):
        return {_settle(k, source): _settle(v, source, depth + 1) for k, v in part.items()}
    if isinstance(part, list | tuple):
        return [_settle(one, source, depth + 1) for one in part]
    return part


def _word(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    return f"{place} = {detail['input']!r:.60}: {detail['msg']}"


def _check_flows(decision: Decision) -> list[str]:
    problems = []
    for index, one in enumerate(decision.candidates):
        flows, n = one.cost.flows, len(one.cost.groups)
        if flows is not None and (len(flows) != n or any(len(row) != n for row in flows)):
            problems.append(
                f"candidates.{index}.cost.flows: has {len(flows)} rows for {n} groups; "
                "expected a square of that size"
            )
    return problems
