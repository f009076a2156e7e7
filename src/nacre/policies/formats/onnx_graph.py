"""Our policies as ONNX graphs, built by hand from a few standard operators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.files.onnx_checks import COLUMNS_KEY
from nacre.logs.schema.spaces import is_masked
from nacre.policies.answers import WIDEST_LOG_STD
from nacre.policies.formats.onnx_columns import add_columns, describe_columns, name_actions
from nacre.policies.formats.onnx_nodes import FLOAT, OnnxGraph
from nacre.policies.formats.onnx_session import DIGEST_KEY, digest_model, import_onnx
from nacre.policies.heads import Head, count_outputs
from nacre.policies.mixture import MixturePolicy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.region import Region, RegionPolicy
from nacre.policies.rules import RulePolicy
from nacre.policies.tabular import TabularPolicy


def build_onnx(
    policy: Policy, description: Mapping[str, Any], columns: Mapping[str, Any] | None = None
) -> bytes:
    """The ONNX file of a policy of ours.

    One input, `observation`, a batch of rows (whole numbers if discrete), or one for each column of
    a table. Outputs, a row each: `action`, the one without noise, and `probabilities` and `logits`,
    or `q`, or `mean` and `std` of a Gaussian, clipped by the action space where that has bounds, or
    `location` and `std` of one that tanh squashes into the action space. With columns, `label`
    says what a discrete action is called.

    Args:
        policy: A network, a table or a rule, or a switch by region between two of them.
        description: What to keep in the file's metadata, JSON.
        columns: How columns of a table become observations; see `onnx_columns`.

    Raises:
        InputError: If the policy is of another kind, or the packages are missing.
    """
    onnx, _ = import_onnx()
    graph = OnnxGraph(onnx)
    graph.observation = (
        _add_input(graph, policy) if columns is None else add_columns(graph, columns)
    )
    if isinstance(policy, MixturePolicy):
        action = _add_mixture(graph, policy)
    else:
        action = _add_head(graph, policy, _add_outputs(graph, policy))
    if columns is not None:
        name_actions(graph, action, columns)
    model = graph.finish()
    entry = model.metadata_props.add()
    entry.key, entry.value = "nacre", json.dumps(description)
    if columns is not None:
        entry = model.metadata_props.add()
        entry.key, entry.value = COLUMNS_KEY, json.dumps(dict(describe_columns(columns)))
    onnx.checker.check_model(model)
    digest = digest_model(model)
    entry = model.metadata_props.add()
    entry.key, entry.value = DIGEST_KEY, digest
    return bytes(model.SerializeToString())


def _add_input(graph: OnnxGraph, policy: Policy) -> str:
    if isinstance(policy.observation_space, gymnasium.spaces.Discrete):
        return graph.input("observation", "INT64")
    return graph.input("observation", "FLOAT", width=policy.signature.observation_size)


def _add_outputs(graph: OnnxGraph, policy: Policy) -> str:
    """What the head of a policy reads."""
    if isinstance(policy, TabularPolicy):
        return graph.add("Gather", graph.constant(_single(policy.masked_logits)), graph.observation)
    if isinstance(policy, MLPPolicy):
        return _add_mask(graph, policy, _add_network(graph, policy))
    if isinstance(policy, RulePolicy):
        return _add_mask(graph, policy, _add_rules(graph, policy))
    if isinstance(policy, RegionPolicy):
        return _add_region(graph, policy)
    raise InputError(f"a {type(policy).__name__} has no ONNX form; clone it into a network")


def _add_region(graph: OnnxGraph, policy: RegionPolicy) -> str:
    """What the head reads, of the second policy within the region and of the first elsewhere.

    Raises:
        InputError: Unless both have the same head.
    """
    parts = policy.first, policy.second
    if _find_head(parts[0]) != _find_head(parts[1]):
        raise InputError("a switch by region between different heads has no ONNX form")
    first, second = (_limit_log_std(graph, one, _add_outputs(graph, one)) for one in parts)
    return graph.add("Where", _add_within(graph, policy.region), second, first)


def _limit_log_std(graph: OnnxGraph, policy: Policy, value: str) -> str:
    """Outputs with the policy's own bounds of log standard deviations, if its head has them."""
    if not (isinstance(policy, MLPPolicy) and policy.head.endswith("gaussian")):
        return value
    size = policy.signature.action_size
    ends = zip((-1e30, 1e30), policy.log_std_bounds, strict=True)
    low, high = (_single(np.repeat(one, size)) for one in ends)
    return _clip(graph, value, low, high)


def _add_within(graph: OnnxGraph, region: Region) -> str:
    """(batch, 1) whether each observation lies in the region."""
    if region.cells is not None:
        scale = _single(region.cells.scale)
        centres = _single(region.cells.centres) / scale
        # |x - c|² but for |x|², which is the same for all centres.
        scaled = graph.add("Div", graph.observation, graph.constant(scale))
        products = graph.add("MatMul", scaled, graph.constant(-2.0 * centres.T))
        rest = graph.add("Add", products, graph.constant((centres**2).sum(axis=1)))
        axis = graph.constant(np.array([-1]))
        own = graph.add("ReduceSum", graph.add("Mul", scaled, scaled), axis, keepdims=1)
        nearest = graph.add("ArgMin", rest, axis=-1, keepdims=1)
        reach = graph.add("Gather", graph.constant(_single(region.cells.reach)), nearest)
        least = graph.add("ReduceMin", rest, axes=[-1], keepdims=1)
        return graph.add("LessOrEqual", graph.add("Add", least, own), reach)
    if region.coordinate is None:
        raise InputError("a switch in numbered states between networks has no ONNX form")
    place = graph.constant(np.array([region.coordinate]))
    value = graph.add("Gather", graph.observation, place, axis=-1)
    kind = "GreaterOrEqual" if region.above else "LessOrEqual"
    return graph.add(kind, value, graph.constant(_single(region.limit)))


def _add_mixture(graph: OnnxGraph, policy: MixturePolicy) -> str:
    """The outputs of a mixture of discrete actions; the value that holds the action."""
    if not policy.signature.discrete_actions:
        raise InputError("a mixture of action vectors has no ONNX form; clone it into a network")
    mixed = _mix(graph, policy)
    action = graph.add("ArgMax", mixed, axis=-1, keepdims=0)
    graph.output("action", action, width=None, kind="INT64")
    graph.output("probabilities", mixed, width=policy.signature.action_size)
    return action


def _mix(graph: OnnxGraph, policy: Policy) -> str:
    """Probabilities of discrete actions."""
    if isinstance(policy, MixturePolicy):
        shares = (1.0 - float(policy.share), float(policy.share))
        parts = (
            graph.add("Mul", _mix(graph, part), graph.constant(_single(share)))
            for part, share in zip((policy.first, policy.second), shares, strict=True)
        )
        return graph.add("Add", *parts)
    outputs = _add_outputs(graph, policy)
    if _find_head(policy) != "greedy":
        return graph.add("Softmax", outputs, axis=-1)
    marks = graph.constant(_single(np.eye(policy.signature.action_size)))
    return graph.add("Gather", marks, graph.add("ArgMax", outputs, axis=-1, keepdims=0))


def _find_head(policy: Policy) -> Head:
    if isinstance(policy, RegionPolicy):
        return _find_head(policy.first)
    return policy.head if isinstance(policy, MLPPolicy | RulePolicy) else "categorical"


def _add_rules(graph: OnnxGraph, policy: RulePolicy) -> str:
    """What the first box that holds the observation says, else the last entry."""
    discrete = isinstance(policy.observation_space, gymnasium.spaces.Discrete)
    value = graph.observation
    if discrete:
        value = graph.add("Cast", graph.observation, to=FLOAT)
        value = graph.add("Unsqueeze", value, graph.constant(np.array([1])))
    outputs = graph.constant(_single(policy.outputs))
    rows = graph.add("Unsqueeze", value, graph.constant(np.array([1])))
    # A last box without bounds holds whatever the others do not.
    bounds = (
        np.concatenate([np.asarray(bound), np.full((1, bound.shape[1]), rest)])
        for bound, rest in ((policy.lower, -np.inf), (policy.upper, np.inf))
    )
    low, high = (graph.constant(_single(bound)) for bound in bounds)
    inside = graph.add(
        "And",
        graph.add("GreaterOrEqual", rows, low),
        graph.add("LessOrEqual", rows, high),
    )
    holds = graph.add("ReduceMin", graph.add("Cast", inside, to=FLOAT), axes=[2], keepdims=0)
    return graph.add("Gather", outputs, graph.add("ArgMax", holds, axis=1, keepdims=0))


def _add_network(graph: OnnxGraph, policy: MLPPolicy) -> str:
    """Scaling and layers; the first layer of discrete observations picks rows of its weight."""
    value = graph.observation
    if policy.scaling is not None:
        value = graph.add("Sub", value, graph.constant(_single(policy.scaling.shift)))
        value = graph.add("Div", value, graph.constant(_single(policy.scaling.scale)))
        if policy.scaling.limit is not None:
            limit = _single(policy.scaling.limit)
            value = graph.add("Clip", value, graph.constant(-limit), graph.constant(limit))
    network = policy.network
    discrete = isinstance(policy.observation_space, gymnasium.spaces.Discrete)
    for i, (weight, bias, activation) in enumerate(
        zip(network.weights, network.biases, network.activations, strict=True)
    ):
        matrix, vector = graph.constant(_single(weight)), graph.constant(_single(bias))
        if i == 0 and discrete:
            value = graph.add("Add", graph.add("Gather", matrix, value), vector)
        else:
            value = graph.add("Gemm", value, matrix, vector)
        if activation != "identity":
            value = graph.add({"relu": "Relu", "tanh": "Tanh"}[activation], value)
    return value


def _add_mask(graph: OnnxGraph, policy: MLPPolicy | RulePolicy, value: str) -> str:
    """The least number instead of outputs of actions that are not allowed, if any is allowed."""
    signature = policy.signature
    if not signature.masks:
        return value
    if is_masked(policy.observation_space):
        table = graph.constant(_single(policy.observation_space.allowed))
        flags = graph.add("Gather", table, graph.observation)
    else:
        places = np.arange(signature.observation_size)[-signature.n_masked :]
        flags = graph.add("Gather", graph.observation, graph.constant(places), axis=-1)
    least = np.finfo(np.float32).min
    # What is allowed stays above what is not, also where it is never taken.
    value = graph.add("Max", value, graph.constant(_single(least / 2)))
    half = graph.constant(_single(0.5))
    some = graph.add("Greater", graph.add("ReduceMax", flags, axes=[-1], keepdims=1), half)
    allowed = graph.add("Or", graph.add("Greater", flags, half), graph.add("Not", some))
    return graph.add("Where", allowed, value, graph.constant(_single(least)))


def _add_head(graph: OnnxGraph, policy: Policy, value: str) -> str:
    """The outputs; the value that holds the action."""
    size, head = policy.signature.action_size, _find_head(policy)
    if head in ("categorical", "greedy"):
        action = graph.add("ArgMax", value, axis=-1, keepdims=0)
        graph.output("action", action, width=None, kind="INT64")
        if head == "categorical":
            graph.output("probabilities", graph.add("Softmax", value, axis=-1), width=size)
        graph.output("logits" if head == "categorical" else "q", value, width=size)
        return action
    low, high = (np.asarray(limit, np.float32) for limit in policy.signature.action_limits)
    if head == "deterministic":
        action = _clip(graph, value, low, high)
        graph.output("action", action, width=size)
        return action
    indices = np.arange(count_outputs(head, size))
    location = graph.add("Gather", value, graph.constant(indices[:size]), axis=-1)
    log_std = graph.add("Gather", value, graph.constant(indices[size:]), axis=-1)
    limits = policy.log_std_bounds if isinstance(policy, MLPPolicy) else WIDEST_LOG_STD
    bounds = (graph.constant(_single(bound)) for bound in limits)
    std = graph.add("Exp", graph.add("Clip", log_std, *bounds))
    if head == "squashed_gaussian":
        half, centre = (np.subtract(high, low) / 2), (np.add(high, low) / 2)
        pressed = graph.add("Mul", graph.add("Tanh", location), graph.constant(half))
        action = graph.add("Add", pressed, graph.constant(centre))
    else:
        action = location
    if head != "gaussian":
        action = _clip(graph, action, low, high)
    graph.output("action", action, width=size)
    graph.output("location" if head == "squashed_gaussian" else "mean", location, width=size)
    graph.output("std", std, width=size)
    return action


def _clip(graph: OnnxGraph, value: str, low: np.ndarray, high: np.ndarray) -> str:
    return graph.add("Min", graph.add("Max", value, graph.constant(low)), graph.constant(high))


def _single(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)
