"""The tables of a cost.toml as strict models: [groups], [states], [importance] and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WrapValidator
from pydantic_core import PydanticCustomError

from nacre.costs import groups as action_groups
from nacre.costs.groups import ActionGroups
from nacre.costs.guardrail_terms import Better, GuardrailTerms
from nacre.costs.importance import Rule, RuleImportance, StateImportance, TableImportance
from nacre.costs.measures import FiniteStates, LogStates, StateMeasure, UniformBox, WeightedStates
from nacre.costs.segment_terms import SegmentTerms
from nacre.costs.value_terms import ValueTerms
from nacre.costs.weights import read_weight
from nacre.errors import InputError

Coordinate: TypeAlias = Annotated[int, Field(ge=0)]
Weight: TypeAlias = Annotated[float, Field(ge=0)]


def _read_price(value: Any, read_number: Callable[[Any], Any]) -> Any:
    """A number as ever; a range or a distribution as what is believed of the price."""
    if not isinstance(value, list | dict):
        return read_number(value)
    try:
        return read_weight("it", value)
    except InputError as error:
        text = error.problems[0].rpartition(": ")[2]
        raise PydanticCustomError("price", "{text}", {"text": text}) from None


Price: TypeAlias = Annotated[float, WrapValidator(_read_price)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Bound: TypeAlias = Annotated[float, Field(allow_inf_nan=True)]


class Form(BaseModel):
    """A table of the file; numbers are not taken for strings, nor unknown keys for comments."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ValueForm(Form):
    """Unit, and over how many episodes the switch has to pay."""

    unit: str = ""
    episodes_per_day: float | None = None
    horizon_days: float | None = None

    def build(self) -> ValueTerms:
        """The terms."""
        return ValueTerms(**self.model_dump())


class GuardrailForm(Form):
    """A further outcome that must not get worse by much."""

    column: str
    worst: Weight = 0.0
    relative: bool = False
    better: Better = "lower"
    unit: str = ""

    def build(self) -> GuardrailTerms:
        """The guardrail."""
        return GuardrailTerms(**self.model_dump())


class SegmentForm(Form):
    """Parts of the episodes whose gains are asked for one by one."""

    column: str = ""
    start_states: bool = False

    def build(self) -> SegmentTerms:
        """The segments."""
        return SegmentTerms(**self.model_dump())


class GroupForm(Form):
    """What every kind of groups may have: names for people."""

    names: Annotated[list[str], Field(min_length=2)] | None = None


class SignGroups(GroupForm):
    """A coordinate ≤ 0, and > 0."""

    kind: Literal["sign"]
    coordinate: Coordinate = 0

    def build(self) -> ActionGroups:
        """The two groups."""
        return action_groups.sign(self.coordinate)


class Cut(Form):
    """Thresholds on one coordinate."""

    coordinate: Coordinate
    at: Annotated[list[float], Field(min_length=1)]


class ThresholdGroups(GroupForm):
    """Every cell of a grid of thresholds."""

    kind: Literal["thresholds"]
    cuts: Annotated[list[Cut], Field(min_length=1)]

    def build(self) -> ActionGroups:
        """One group a cell."""
        coordinates = [cut.coordinate for cut in self.cuts]
        for coordinate in coordinates:
            if coordinates.count(coordinate) > 1:
                raise InputError(
                    f"groups.cuts: coordinate {coordinate} is cut twice; join the two lists"
                )
        return action_groups.thresholds({cut.coordinate: cut.at for cut in self.cuts})


class Interval(Form):
    """above < coordinate ≤ up_to; a bound that is absent does not bind."""

    coordinate: Coordinate
    above: Bound = -math.inf
    up_to: Bound = math.inf


class BoxGroups(GroupForm):
    """One list of intervals a group."""

    kind: Literal["boxes"]
    boxes: list[list[Interval]]

    def build(self) -> ActionGroups:
        """One group a box."""
        for i, box in enumerate(self.boxes):
            coordinates = [interval.coordinate for interval in box]
            for coordinate in coordinates:
                if coordinates.count(coordinate) > 1:
                    raise InputError(
                        f"groups.boxes[{i}]: coordinate {coordinate} has two intervals; keep one"
                    )
        return action_groups.boxes(
            [{side.coordinate: (side.above, side.up_to) for side in box} for box in self.boxes]
        )


class IndexGroups(GroupForm):
    """Sets of discrete actions."""

    kind: Literal["indices"]
    sets: list[list[Coordinate]]

    def build(self) -> ActionGroups:
        """One group a set."""
        return action_groups.indices(self.sets)


class HalfGroups(GroupForm):
    """The first and the second half of the discrete actions."""

    kind: Literal["halves"]

    def build(self) -> ActionGroups:
        """The two halves."""
        return action_groups.halves()


class LogForm(Form):
    """The log's states: all, or n of them."""

    measure: Literal["log"]
    n: Count | None = None

    def build(self) -> StateMeasure:
        """The measure."""
        return LogStates(self.n)


class BoxForm(Form):
    """Uniform on the observation box."""

    measure: Literal["box"]
    limit: Annotated[float, Field(gt=0)] = UniformBox.limit
    n: Count = UniformBox.n

    def build(self) -> StateMeasure:
        """The measure."""
        return UniformBox(self.limit, self.n)


class FiniteForm(Form):
    """All states of a discrete observation space."""

    measure: Literal["finite"]
    weights: list[Weight] | None = None

    def build(self) -> StateMeasure:
        """The measure."""
        return FiniteStates(None if self.weights is None else tuple(self.weights))


class GivenForm(Form):
    """States written in the file: vectors, or numbers of discrete states."""

    measure: Literal["given"]
    states: Annotated[
        Annotated[list[list[float]], Tag("vectors")] | Annotated[list[Coordinate], Tag("numbers")],
        Discriminator(lambda rows: "vectors" if _holds_lists(rows) else "numbers"),
    ]
    weights: list[Weight] | None = None

    def build(self) -> StateMeasure:
        """The measure."""
        vectors = [row for row in self.states if isinstance(row, list)]
        if vectors and len({len(row) for row in vectors}) > 1:
            raise InputError("states.states: the states differ in length; make them equally long")
        states = np.asarray(self.states, np.float32 if vectors else np.int32)
        return WeightedStates(states, None if self.weights is None else np.asarray(self.weights))


class RuleForm(Form):
    """The weight of states with a coordinate above, below or between bounds."""

    coordinate: Coordinate
    above: float | None = None
    below: float | None = None
    weight: Weight


class ImportanceForm(Form):
    """Rules, the first that holds counts, or one weight for each discrete state."""

    default: Weight | None = None
    rules: list[RuleForm] = Field(default_factory=list)
    weights: list[Weight] | None = None

    def build(self) -> StateImportance:
        """The importance as a function of states."""
        if self.weights is not None:
            if self.rules or self.default is not None:
                raise InputError(
                    "importance: weights is for discrete states, default and rules are for "
                    "vectors; keep one of the two"
                )
            return TableImportance(tuple(self.weights))
        rules = tuple(
            Rule(rule.coordinate, rule.weight, rule.above, rule.below) for rule in self.rules
        )
        return RuleImportance(rules, 1.0 if self.default is None else self.default)


Ground: TypeAlias = Annotated[
    Annotated[Literal["l2", "squared_l2", "one"], Tag("name")]
    | Annotated[list[list[Weight]], Tag("matrix")]
    | Annotated[list[list[list[Weight]]], Tag("matrices")],
    Discriminator(lambda ground: _name_ground(ground)),
]


class PlanForm(Form):
    """Ground costs between actions and how the plans couple them."""

    learning_ground: Ground = "l2"
    transaction_ground: Ground = "l2"
    coupling: Literal["independent", "optimal"] = "independent"
    n_samples: Count = 16


Groups: TypeAlias = Annotated[
    SignGroups | ThresholdGroups | BoxGroups | IndexGroups | HalfGroups, Discriminator("kind")
]
States: TypeAlias = Annotated[LogForm | BoxForm | FiniteForm | GivenForm, Discriminator("measure")]


def _name_ground(ground: object) -> str:
    """A name, a matrix, or a matrix for each discrete state."""
    if not isinstance(ground, list):
        return "name"
    return "matrices" if any(_holds_lists(row) for row in ground) else "matrix"


def _holds_lists(rows: object) -> bool:
    return isinstance(rows, list) and any(isinstance(row, list) for row in rows)
