"""The plan as a file: the one schema of `plan.json`, which `nacre watch` and the page read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat, ValidationError

from nacre.advice.record_parts import Interval, Number, Part
from nacre.errors import InputError
from nacre.files.documents import parse_json
from nacre.files.manifest import digest_json
from nacre.logs.checks.problems import show_path
from nacre.rollout.design import Design, UnitKind

FILE_NAME = "plan.json"
LARGEST_FILE = 16_000_000
MOST_UNITS = 100_000
"""Of a set: as many sites as a plan may have."""
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Stage(Part):
    """One stage: who runs what, what it costs, what it has to show.

    `cost` is paid in all once the stage runs, `step_cost` is what it adds to the stage before,
    `step_back_cost` what it takes to return to the old policy from here. `break_even` is the gain
    of an episode above which going all the way pays; `best_at` the number of sets at which bounds
    are tightest; `loss_budget` what a loss of the size of the promised gain costs until it is
    found, in 95 % of cases.
    """

    number: Positive
    share: Share
    policy: str
    set_size: Annotated[int, Field(ge=1, le=MOST_UNITS)]
    new_per_set: Positive
    cost: FiniteFloat
    step_cost: FiniteFloat
    step_back_cost: FiniteFloat
    break_even: FiniteFloat
    best_at: Positive
    sets: Number = None
    episodes: int | None = None
    episodes_late: int | None = None
    fixed_size_episodes: int | None = None
    proven: Number = None
    loss_budget: Number = None
    score_variance: Number = None
    note: str = ""


class OldReturns(Part):
    """What the log says of the old policy's returns; `error` counts what neighbours share."""

    mean: FiniteFloat
    variance: Annotated[FiniteFloat, Field(ge=0)]
    error: Annotated[FiniteFloat, Field(ge=0)]
    episodes: Positive


class NextStep(Part):
    """Something that would settle an open verdict, with its price."""

    name: str
    what: str
    price: Number = None
    episodes: int | None = None
    proven: bool | None = None


class PolicyFile(Part):
    """A policy by its file, relative to the plan, and the SHA-256 of its content.

    `epsilon` is the share of uniform exploration on top of it, which its file does not hold.
    """

    file: str | None = None
    sha256: str | None = None
    epsilon: Share | None = None


class CurvePoint(Part):
    """One partial switch: its cost, its gain by the estimators, its net gain with the band.

    `file` is its policy, relative to the plan, where it was written.
    """

    name: str
    share: Share
    cost: FiniteFloat
    net_gain: Interval
    proven: bool
    informative: bool = True
    file: str | None = None

    @property
    def is_region(self) -> bool:
        """Whether it is a switch by region, and no mixture."""
        return self.name.startswith("where ")


class Plan(Part):
    """The whole document."""

    format: Literal[1] = 1
    verdict: str
    candidate: str
    unit: UnitKind
    episodes_per_unit: Positive = 1
    gap: Count = 0
    sites: int | None = None
    seed: Count = 0
    discount: Annotated[FiniteFloat, Field(ge=0, lt=1)]
    risk: Annotated[FiniteFloat, Field(gt=0, lt=0.5)]
    power: Annotated[FiniteFloat, Field(gt=0, lt=1)]
    promised: Interval
    seen_share: Annotated[FiniteFloat, Field(gt=0, le=1)] = 1.0
    cost: FiniteFloat
    old_returns: OldReturns
    return_bounds: tuple[FiniteFloat, FiniteFloat] | None = None
    guardrails: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    value: dict[str, Any] = Field(default_factory=dict)
    old_policy: PolicyFile = PolicyFile()
    new_policy: PolicyFile = PolicyFile()
    notes: tuple[str, ...] = ()
    advice: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, Any] = Field(default_factory=dict)

    def find_stage(self, number: int) -> Stage:
        """The stage of this number.

        Raises:
            InputError: If there is none.
        """
        for stage in self.stages:
            if stage.number == number:
                return stage
        there = f"stages 1 to {len(self.stages)}" if self.stages else "no stages"
        raise InputError(f"--stage {number}: the plan has {there}")

    def design(self, stage: Stage) -> Design:
        """Who runs what in a stage."""
        return Design(
            self.unit,
            stage.set_size,
            stage.new_per_set,
            self.episodes_per_unit,
            self.gap,
            self.seed,
            stage.number,
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the file holds it."""
        document: dict[str, Any] = self.model_dump(mode="json")
        for name in ("old_policy", "new_policy"):
            if document[name]["epsilon"] is None:
                del document[name]["epsilon"]
        return document

    def fingerprint(self) -> str:
        """SHA-256 of its content: looks of one stage are of one plan."""
        return digest_json(self.as_json())


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan of a folder or file.

    Raises:
        InputError: If it is not there, not JSON, or not a plan.
    """
    source = Path(path)
    source = source / FILE_NAME if source.is_dir() else source
    shown = show_path(source)
    try:
        if source.stat().st_size > LARGEST_FILE or not source.is_file():
            raise InputError(
                f"{shown}: larger than {LARGEST_FILE:,} bytes or no file; not a plan of ours"
            )
        document = parse_json(source.read_bytes(), largest=LARGEST_FILE)
    except OSError as error:
        raise InputError(
            f"{shown}: cannot be read ({error.strerror}); give the file that `nacre plan --out` "
            "wrote"
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{shown}: is not JSON ({error!s:.100}); write it anew") from None
    return check_plan(document, shown)


def check_plan(document: object, source: str = FILE_NAME) -> Plan:
    """The document with its parts checked.

    Raises:
        InputError: One line for each place that does not hold what it should.
    """
    if not isinstance(document, dict) or "stages" not in document:
        raise InputError(f"{source}: is no plan; give the file that `nacre plan --out` wrote")
    try:
        plan = Plan.model_validate(document)
    except ValidationError as error:
        details = error.errors(include_url=False)[:20]
        lines = [
            f"{source}: {'.'.join(map(str, one['loc']))} = {one['input']!r:.60}: {one['msg']}"
            for one in details
        ]
        raise InputError(lines) from None
    numbers = [stage.number for stage in plan.stages]
    shares = [stage.share for stage in plan.stages]
    if numbers != list(range(1, len(numbers) + 1)) or shares != sorted(shares):
        raise InputError(
            f"{source}: stages {numbers} with shares {shares}: expected numbers from 1 on and "
            "growing shares"
        )
    problems = [f"{source}: {one}" for stage in plan.stages for one in _find_edits(plan, stage)]
    if problems:
        raise InputError(problems)
    return plan


def _find_edits(plan: Plan, stage: Stage) -> Iterator[str]:
    """Figures of a stage that do not follow from the others: somebody changed them by hand."""
    remedy = "it was changed by hand; make the plan anew with nacre plan"
    share = plan.design(stage).share
    if not math.isclose(stage.share, share, abs_tol=1e-9):
        yield (
            f"stage {stage.number}: share = {stage.share:g}, but {stage.new_per_set} of "
            f"{stage.set_size} units are new; {remedy}"
        )
        return
    left = max(0.0, plan.cost - stage.cost) * plan.seen_share
    pays = 0.0 if share >= 1 else left / (1.0 - share)
    if not math.isclose(stage.break_even, pays, rel_tol=1e-6, abs_tol=1e-9):
        yield (
            f"stage {stage.number}: break_even = {stage.break_even:g}, by its costs it is "
            f"{pays:g}; {remedy}"
        )
