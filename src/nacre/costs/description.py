"""A switching cost as plain data, for records and for cost.toml."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from nacre.costs import groups as action_groups
from nacre.costs.family import SwitchingCost
from nacre.costs.general import GeneralTransport
from nacre.costs.grounds import Ground, StateGround, StateMatrices
from nacre.costs.groups import ActionGroups, Boxes, IndexSets
from nacre.costs.importance import RuleImportance, StateImportance, TableImportance
from nacre.costs.kinds import ScaledPositive
from nacre.costs.links import ExpressionLink
from nacre.costs.measures import FiniteStates, LogStates, StateMeasure, UniformBox, WeightedStates
from nacre.costs.statewise import Difference, Transport
from nacre.costs.whole import WholePolicyCost

LARGEST_LIST = 1000


def describe_cost(cost: SwitchingCost) -> dict[str, Any]:
    """The cost in the form of cost.toml, made of what JSON can hold.

    Functions and classes of the user's own are described by their names, more than a thousand given
    states by their number and SHA-256; `build_cost` cannot make a cost from these again.
    """
    form = _describe_short(cost) or _describe_long(cost)
    terms = cost.terms.as_json()
    guardrails = [one.as_json() for one in cost.terms.guardrails]
    tables = {"value": terms, "guardrail": guardrails, "segments": cost.terms.segments.as_json()}
    return form | {name: table for name, table in tables.items() if table}


def _describe_long(cost: SwitchingCost) -> dict[str, Any]:
    if isinstance(cost, WholePolicyCost):
        weight = float(cost.learning_weight)
        return {"kind": "policies", "weight": weight, "function": name_of(cost.function)}
    form: dict[str, Any] = {"kind": name_of(cost.statewise)}
    form["learning_weight"] = float(cost.learning_weight)
    if isinstance(cost.statewise, Difference):
        form |= {"kind": "difference", "tolerance": float(cost.statewise.tolerance)}
    else:
        form["transaction_weight"] = float(cost.transaction_weight)
        if any(cost.weight_errors):
            form["weight_errors"] = [float(error) for error in cost.weight_errors]
    form["link"] = _describe_link(cost)
    if isinstance(cost.statewise, Transport):
        form |= {"kind": "transport", "groups": describe_groups(cost.statewise.groups)}
    if isinstance(cost.statewise, GeneralTransport):
        plan = cost.statewise.plan
        form |= {"kind": "general", "groups": describe_groups(cost.statewise.groups)}
        form["plan"] = {
            "learning_ground": _describe_ground(cost.statewise.learning_ground),
            "transaction_ground": _describe_ground(cost.statewise.transaction_ground),
            "coupling": plan if isinstance(plan, str) else name_of(plan),
            "n_samples": cost.statewise.n_samples,
        }
    if cost.group_labels:
        form["groups"]["names"] = list(cost.group_labels)
    form["states"] = describe_states(cost.state_measure)
    if cost.importance is not None:
        form["importance"] = _describe_importance(cost.importance)
    return form


def holds_code(cost: SwitchingCost) -> bool:
    """Whether a part of the cost is Python code, whose description is but a name."""
    parts: list[object] = [cost.link, cost.importance]
    if isinstance(cost.statewise, GeneralTransport):
        general = cost.statewise
        parts += [general.learning_ground, general.transaction_ground, general.plan]
    known = (str, tuple, StateImportance, StateMatrices, ExpressionLink, ScaledPositive, type(None))
    return (
        isinstance(cost, WholePolicyCost)
        or type(cost.statewise) not in (Transport, Difference, GeneralTransport)
        or not all(isinstance(part, known) for part in parts)
    )


def _describe_link(cost: SwitchingCost) -> str:
    if isinstance(cost.link, ExpressionLink):
        return cost.link.text
    return cost.link if isinstance(cost.link, str) else name_of(cost.link)


def describe_groups(groups: ActionGroups) -> dict[str, Any]:
    """The table [groups], in the shortest form that says the same."""
    if isinstance(groups, IndexSets):
        if groups.sets is None:
            return {"kind": "halves"}
        return {"kind": "indices", "sets": [list(group) for group in groups.sets]}
    if not isinstance(groups, Boxes):
        return {"kind": name_of(groups)}
    if len(groups.coordinates) == 1 and groups == action_groups.sign(groups.coordinates[0]):
        return {"kind": "sign", "coordinate": groups.coordinates[0]}
    cuts = _find_cuts(groups)
    if all(cuts.values()) and groups == action_groups.thresholds(cuts):
        form = [{"coordinate": coordinate, "at": values} for coordinate, values in cuts.items()]
        return {"kind": "thresholds", "cuts": form}
    return {
        "kind": "boxes",
        "boxes": [
            [
                _describe_interval(*side)
                for side in zip(groups.coordinates, lower, upper, strict=True)
            ]
            for lower, upper in zip(groups.lower, groups.upper, strict=True)
        ],
    }


def describe_states(measure: StateMeasure) -> dict[str, Any]:
    """The table [states]."""
    if isinstance(measure, LogStates):
        return {"measure": "log"} | ({} if measure.n is None else {"n": measure.n})
    if isinstance(measure, UniformBox):
        return {"measure": "box", "limit": float(measure.limit), "n": measure.n}
    if isinstance(measure, FiniteStates):
        weights = None if measure.weights is None else np.asarray(measure.weights)
        return {"measure": "finite"} | _describe_weights(weights)
    if not isinstance(measure, WeightedStates):
        return {"measure": name_of(measure)}
    if len(measure.states) > LARGEST_LIST:
        digest = hashlib.sha256(np.ascontiguousarray(measure.states).tobytes())
        if measure.weights is not None:
            digest.update(measure.weights.tobytes())
        return {"measure": "given", "count": len(measure.states), "sha256": digest.hexdigest()}
    states = {"measure": "given", "states": measure.states.tolist()}
    return states | _describe_weights(measure.weights)


def name_of(thing: object) -> str:
    """Module and name of a function or class, of the class for any other object."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def _describe_short(cost: SwitchingCost) -> dict[str, Any] | None:
    """The local and the global cost of the paper, which have names of their own."""
    if not (
        cost.statewise == Difference()
        and cost.state_measure == FiniteStates()
        and cost.importance is None
    ):
        return None
    if cost.link == "times_states":
        return {"kind": "local", "weight": float(cost.learning_weight)}
    if cost.learning_weight == 1.0 and cost.link == "positive":
        return {"kind": "global", "weight": 1.0}
    if cost.learning_weight == 1.0 and isinstance(cost.link, ScaledPositive):
        return {"kind": "global", "weight": float(cost.link.weight)}
    return None


def _describe_importance(importance: object) -> dict[str, Any]:
    if isinstance(importance, TableImportance):
        return {"weights": [float(weight) for weight in importance.weights]}
    if not isinstance(importance, RuleImportance):
        return {"function": name_of(importance)}
    rules = []
    for rule in importance.rules:
        bounds = {"above": rule.above, "below": rule.below}
        given = {name: float(bound) for name, bound in bounds.items() if bound is not None}
        rules.append({"coordinate": rule.coordinate, **given, "weight": float(rule.weight)})
    return {"default": float(importance.default), "rules": rules}


def _describe_ground(ground: Ground) -> str | list[Any]:
    if isinstance(ground, str):
        return ground
    if isinstance(ground, tuple):
        return [list(row) for row in ground]
    if isinstance(ground, StateMatrices):
        return [[list(row) for row in matrix] for matrix in ground.matrices]
    return name_of(ground.function if isinstance(ground, StateGround) else ground)


def _describe_weights(weights: np.ndarray | None) -> dict[str, Any]:
    return {} if weights is None else {"weights": weights.tolist()}


def _describe_interval(coordinate: int, above: float, up_to: float) -> dict[str, Any]:
    bounds = {"above": above, "up_to": up_to}
    finite = {name: float(bound) for name, bound in bounds.items() if math.isfinite(bound)}
    return {"coordinate": coordinate, **finite}


def _find_cuts(groups: Boxes) -> dict[int, list[float]]:
    """The finite edges of the boxes on each coordinate, in order."""
    cuts = {}
    for i, coordinate in enumerate(groups.coordinates):
        edges = {box[i] for box in (*groups.lower, *groups.upper)}
        cuts[coordinate] = sorted(float(edge) for edge in edges if math.isfinite(edge))
    return cuts
