"""The costs of the paper by their names, as members of the family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from nacre.costs.family import Importance, SwitchingCost
from nacre.costs.general import GeneralTransport, Plan
from nacre.costs.grounds import GroundLike, freeze_ground
from nacre.costs.groups import ActionGroups
from nacre.costs.links import Link
from nacre.costs.measures import FiniteStates, LogStates, StateMeasure
from nacre.costs.statewise import Difference, Transport
from nacre.costs.weights import Weight, read_price, read_weight
from nacre.costs.whole import Changes, PolicyFunction, WholePolicyCost
from nacre.errors import InputError, check_arguments

WeightLike = float | Sequence[float] | Mapping[str, float] | Weight
"""A price, a range of prices, or what is believed of it."""


@check_arguments
def TransportCost(  # noqa: N802 - reads as the class it configures
    learning_weight: WeightLike,
    transaction_weight: WeightLike = 0.0,
    groups: ActionGroups | None = None,
    *,
    state_measure: StateMeasure | None = None,
    importance: Importance | None = None,
    link: Link = "identity",
) -> SwitchingCost:
    """The transport switching cost of the paper's main text, with any number of groups."""
    groups = _need(groups)
    prices, errors = read_weights(learning_weight, transaction_weight)
    return SwitchingCost(
        Transport(groups),
        *prices,
        state_measure or LogStates(),
        importance,
        link,
        weight_errors=errors,
    )


@check_arguments
def GeneralTransportCost(  # noqa: N802
    learning_weight: WeightLike,
    transaction_weight: WeightLike = 0.0,
    groups: ActionGroups | None = None,
    *,
    learning_ground: GroundLike = "l2",
    transaction_ground: GroundLike = "l2",
    plan: Plan = "independent",
    n_samples: int = 16,
    state_measure: StateMeasure | None = None,
    importance: Importance | None = None,
    link: Link = "identity",
) -> SwitchingCost:
    """The transport cost of the paper's appendix, with ground costs between actions."""
    groups = _need(groups)
    learning_ground = freeze_ground("learning_ground", learning_ground)
    transaction_ground = freeze_ground("transaction_ground", transaction_ground)
    prices, errors = read_weights(learning_weight, transaction_weight)
    return SwitchingCost(
        GeneralTransport(groups, learning_ground, transaction_ground, plan, n_samples),
        *prices,
        state_measure or LogStates(),
        importance,
        link,
        weight_errors=errors,
    )


def _need(groups: ActionGroups | None) -> ActionGroups:
    if groups is None:
        raise InputError("a transport cost needs groups of actions, e.g. nacre.groups.sign(0)")
    return groups


@check_arguments
def LocalCost(weight: float = 1.0) -> SwitchingCost:  # noqa: N802
    """Number of states at which the policies differ (Table "CoveredSC")."""
    return SwitchingCost(Difference(), weight, state_measure=FiniteStates(), link="times_states")


@check_arguments
def GlobalCost(weight: float = 1.0) -> SwitchingCost:  # noqa: N802
    """`weight` if the policies differ anywhere, else 0 (Table "CoveredSC")."""
    weight = read_price("weight", weight)
    link: Link = "positive" if weight == 1.0 else ScaledPositive(weight)
    return SwitchingCost(Difference(), 1.0, state_measure=FiniteStates(), link=link)


@check_arguments
def PolicyCost(  # noqa: N802
    function: PolicyFunction,
    weight: float = 1.0,
    *,
    state_measure: StateMeasure | None = None,
) -> SwitchingCost:
    """`weight` times any function of the old and the new policy.

    Args:
        function: From two policies to a number that is not negative.
        weight: Its price.
        state_measure: States at which the two are compared for display; the log's if not given.
    """
    measure = state_measure or LogStates()
    return WholePolicyCost(Changes(), weight, state_measure=measure, function=function)


@dataclass(frozen=True)
class ScaledPositive:
    """The link of the global cost: its weight wherever anything differs."""

    weight: float

    def __call__(self, x: Array) -> Array:
        """The weight, or nothing."""
        return jnp.where(x > 0, self.weight, 0.0)


def read_weights(
    learning_weight: WeightLike, transaction_weight: WeightLike
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Means and standard deviations of both weights; the problems of both together."""
    found: list[Weight] = []
    problems: list[str] = []
    for name, value in (
        ("learning_weight", learning_weight),
        ("transaction_weight", transaction_weight),
    ):
        try:
            found.append(read_weight(name, value))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    first, second = found
    return (first.mean, second.mean), (first.error, second.error)
