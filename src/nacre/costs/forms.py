"""What a cost.toml may say: a strict model for each kind of cost, able to build it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import Discriminator, Field

from nacre.costs.family import SwitchingCost
from nacre.costs.kinds import (
    GeneralTransportCost,
    GlobalCost,
    LocalCost,
    TransportCost,
    WeightLike,
    read_weights,
)
from nacre.costs.statewise import Difference
from nacre.costs.tables import (
    Form,
    Groups,
    GuardrailForm,
    ImportanceForm,
    LogForm,
    PlanForm,
    Price,
    SegmentForm,
    States,
    ValueForm,
    Weight,
)
from nacre.costs.weights import Weight as Believed
from nacre.errors import InputError


class CostTable(Form):
    """What every cost has."""

    value: ValueForm = Field(default_factory=ValueForm)
    guardrail: list[GuardrailForm] = Field(default_factory=list)
    segments: SegmentForm = Field(default_factory=SegmentForm)

    def name(self, cost: SwitchingCost) -> SwitchingCost:
        """The cost with the names and terms that people know."""
        form = getattr(self, "groups", None)
        names = getattr(form, "names", None) or ()
        built = build_all(
            {"value": self.value.build, "segments": self.segments.build}
            | {f"guardrail[{place}]": one.build for place, one in enumerate(self.guardrail)}
        )
        value, segments = built.pop("value"), built.pop("segments")
        terms = dataclasses.replace(value, guardrails=tuple(built.values()), segments=segments)
        return dataclasses.replace(cost, group_labels=tuple(names), terms=terms)


class AveragedForm(CostTable):
    """What every cost has that is averaged over states of the user's choice."""

    link: str = "identity"
    states: States = Field(default_factory=lambda: LogForm(measure="log"))
    importance: ImportanceForm | None = None

    def outer(self) -> dict[str, Callable[[], Any]]:
        """Builders of state measure and importance, by the name of their table."""
        importance = self.importance
        return {
            "states": self.states.build,
            "importance": lambda: None if importance is None else importance.build(),
        }


class MassForm(AveragedForm):
    """What both transport costs have."""

    learning_weight: Price
    transaction_weight: Price = 0.0
    weight_errors: Annotated[list[Weight], Field(min_length=2, max_length=2)] = Field(
        default_factory=lambda: [0.0, 0.0]
    )
    groups: Groups

    def weights(self) -> tuple[WeightLike, WeightLike]:
        """Both weights, with what is believed of them wherever that is said."""
        learning, transaction = (
            Believed(one, error) if isinstance(one, float) else one
            for one, error in zip(
                (self.learning_weight, self.transaction_weight), self.weight_errors, strict=True
            )
        )
        return learning, transaction

    def parts(self) -> dict[str, Any]:
        """Groups, state measure and importance; the weights are checked along with them."""

        def check() -> SwitchingCost:
            return SwitchingCost(Difference(), *read_weights(*self.weights())[0], link=self.link)

        return build_all({"": check, "groups": self.groups.build} | self.outer())


class TransportForm(MassForm):
    """The transport cost of the paper's main text."""

    kind: Literal["transport"]

    def build(self) -> SwitchingCost:
        """The cost."""
        parts = self.parts()
        return TransportCost(
            *self.weights(),
            parts["groups"],
            state_measure=parts["states"],
            importance=parts["importance"],
            link=self.link,
        )


class GeneralForm(MassForm):
    """The transport cost of the paper's appendix."""

    kind: Literal["general"]
    plan: PlanForm = Field(default_factory=PlanForm)

    def build(self) -> SwitchingCost:
        """The cost."""
        parts, plan = self.parts(), self.plan
        cost: SwitchingCost = build_all(
            {
                "plan": lambda: GeneralTransportCost(
                    *self.weights(),
                    parts["groups"],
                    learning_ground=plan.learning_ground,
                    transaction_ground=plan.transaction_ground,
                    plan=plan.coupling,
                    n_samples=plan.n_samples,
                    state_measure=parts["states"],
                    importance=parts["importance"],
                    link=self.link,
                )
            }
        )["plan"]
        return cost


class DifferenceForm(AveragedForm):
    """A price for each state at which the policies differ at all."""

    kind: Literal["difference"]
    learning_weight: Weight
    tolerance: Weight = Difference.tolerance

    def build(self) -> SwitchingCost:
        """The cost."""
        parts = build_all(self.outer())
        return SwitchingCost(
            Difference(self.tolerance),
            self.learning_weight,
            state_measure=parts["states"],
            importance=parts["importance"],
            link=self.link,
        )


class LocalForm(CostTable):
    """The number of states at which the policies differ."""

    kind: Literal["local"]
    weight: Weight = 1.0

    def build(self) -> SwitchingCost:
        """The cost."""
        return LocalCost(self.weight)


class GlobalForm(CostTable):
    """One price, due if the policies differ anywhere."""

    kind: Literal["global"]
    weight: Weight = 1.0

    def build(self) -> SwitchingCost:
        """The cost."""
        return GlobalCost(self.weight)


CostForm: TypeAlias = Annotated[
    TransportForm | GeneralForm | DifferenceForm | LocalForm | GlobalForm, Discriminator("kind")
]


def _by_tag(union: Any, discriminator: str) -> dict[str, type[Form]]:
    """The members of a tagged union by their tags."""
    members = get_args(get_args(union)[0])
    return {get_args(form.model_fields[discriminator].annotation)[0]: form for form in members}


COSTS = _by_tag(CostForm, "kind")
GROUPS = _by_tag(Groups, "kind")
STATES = _by_tag(States, "measure")


def build_all(builders: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Build every part; raises `InputError` with the problems of all, each after its table."""
    parts, problems = {}, []
    for table, build in builders.items():
        try:
            parts[table] = build()
        except InputError as error:
            for problem in error.problems:
                named = not table or problem.startswith(table)
                problems.append(problem if named else f"{table}: {problem}")
    if problems:
        raise InputError(problems)
    return parts
