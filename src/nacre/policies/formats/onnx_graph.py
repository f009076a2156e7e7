"""Our policies as ONNX graphs, built by hand from a few standard operators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.onnx_session import DIGEST_KEY, digest_model, import_onnx
from nacre.policies.heads import count_outputs
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.region import Region, RegionPolicy
from nacre.policies.tabular import TabularPolicy

OPSET = 13
IR_VERSION = 8


def build_onnx(policy: Policy, description: Mapping[str, Any]) -> bytes:
    """The ONNX file of a policy of ours.

    One input, `observation`, a batch of rows (whole numbers if discrete). Outputs, a row each:
    `action`, the one without noise, and `probabilities` and `logits`, or `q`, or `mean` and `std`
    of a Gaussian, clipped by the action space where that has bounds, or `location` and `std` of one
    that tanh squashes into the action space.

    Args:
        policy: A network, a table, or a switch by region between networks.
        description: What to keep in the file's metadata, JSON.

    Raises:
        InputError: If the policy is of another kind, or the packages are missing.
    """
    onnx, _ = import_onnx()
    graph = _Graph(onnx)
    if isinstance(policy, TabularPolicy):
        logits = graph.add("Gather", graph.constant(_single(policy.logits)), "observation")
        _add_choice(graph, logits, policy.signature.action_size)
    elif isinstance(policy, MLPPolicy):
        _add_head(graph, policy, _add_mask(graph, policy, _add_network(graph, policy)))
    elif isinstance(policy, RegionPolicy):
        _add_region(graph, policy)
    else:
        raise InputError(f"a {type(policy).__name__} has no ONNX form; clone it into a network")
    model = graph.finish(policy.signature)
    entry = model.metadata_props.add()
    entry.key, entry.value = "nacre", json.dumps(description)
    onnx.checker.check_model(model)
    digest = digest_model(model)
    entry = model.metadata_props.add()
    entry.key, entry.value = DIGEST_KEY, digest
    return bytes(model.SerializeToString())


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self, onnx: ModuleType) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[tuple[str, bool, int | None]] = []

    def constant(self, values: np.ndarray) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.array(values), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"value_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def output(self, name: str, value: str, *, width: int | None, whole: bool = False) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append((name, whole, width))

    def finish(self, signature: Signature) -> Any:
        helper, types = self._onnx.helper, self._onnx.TensorProto

        def declare(name: str, whole: bool, width: int | None) -> Any:
            shape = ["batch"] if width is None else ["batch", width]
            return helper.make_tensor_value_info(name, types.INT64 if whole else types.FLOAT, shape)

        discrete = isinstance(signature.observation_space, gymnasium.spaces.Discrete)
        size = None if discrete else signature.observation_size
        graph = helper.make_graph(
            self._nodes,
            "policy",
            [declare("observation", discrete, size)],
            [declare(*output) for output in self._outputs],
            self._constants,
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="nacre"
        )


def _add_network(graph: _Graph, policy: MLPPolicy) -> str:
    """Scaling and layers; the first layer of discrete observations picks rows of its weight."""
    value = "observation"
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


def _add_mask(graph: _Graph, policy: MLPPolicy, value: str) -> str:
    """The least number instead of outputs of actions that are not allowed, if any is allowed."""
    signature = policy.signature
    if not signature.n_masked:
        return value
    places = np.arange(signature.observation_size)[-signature.n_masked :]
    flags = graph.add("Gather", "observation", graph.constant(places), axis=-1)
    least = graph.constant(_single(np.finfo(np.float32).min))
    half = graph.constant(_single(0.5))
    some = graph.add("Greater", graph.add("ReduceMax", flags, axes=[-1], keepdims=1), half)
    allowed = graph.add("Or", graph.add("Greater", flags, half), graph.add("Not", some))
    return graph.add("Where", allowed, value, least)


def _add_head(graph: _Graph, policy: MLPPolicy, value: str) -> None:
    size = policy.signature.action_size
    if policy.head == "categorical":
        _add_choice(graph, value, size)
        return
    if policy.head == "greedy":
        graph.output(
            "action", graph.add("ArgMax", value, axis=-1, keepdims=0), width=None, whole=True
        )
        graph.output("q", value, width=size)
        return
    low, high = (np.asarray(limit, np.float32) for limit in policy.signature.action_limits)
    if policy.head == "deterministic":
        graph.output("action", _clip(graph, value, low, high), width=size)
        return
    indices = np.arange(count_outputs(policy.head, size))
    location = graph.add("Gather", value, graph.constant(indices[:size]), axis=-1)
    log_std = graph.add("Gather", value, graph.constant(indices[size:]), axis=-1)
    bounds = (graph.constant(_single(bound)) for bound in policy.log_std_bounds)
    std = graph.add("Exp", graph.add("Clip", log_std, *bounds))
    if policy.head == "squashed_gaussian":
        half, centre = (np.subtract(high, low) / 2), (np.add(high, low) / 2)
        pressed = graph.add("Mul", graph.add("Tanh", location), graph.constant(half))
        action = graph.add("Add", pressed, graph.constant(centre))
    else:
        action = location
    if policy.head != "gaussian":
        action = _clip(graph, action, low, high)
    graph.output("action", action, width=size)
    graph.output("location" if policy.head == "squashed_gaussian" else "mean", location, width=size)
    graph.output("std", std, width=size)


def _add_choice(graph: _Graph, logits: str, size: int) -> None:
    action = graph.add("ArgMax", logits, axis=-1, keepdims=0)
    graph.output("action", action, width=None, whole=True)
    graph.output("probabilities", graph.add("Softmax", logits, axis=-1), width=size)
    graph.output("logits", logits, width=size)


def _add_region(graph: _Graph, policy: RegionPolicy) -> None:
    """What the head reads, of the second network within the region and of the first elsewhere.

    Raises:
        InputError: Unless both are networks with the same head.
    """
    first, second = policy.first, policy.second
    if not (isinstance(first, MLPPolicy) and isinstance(second, MLPPolicy)):
        raise InputError("a switch by region has an ONNX form between networks only")
    if first.head != second.head:
        raise InputError(
            f"a switch by region between {first.head} and {second.head} has no ONNX form"
        )
    values = []
    for one in (first, second):
        value = _add_mask(graph, one, _add_network(graph, one))
        values.append(_limit_log_std(graph, one, value))
    within = _add_within(graph, policy.region)
    _add_head(graph, _widen(first, second), graph.add("Where", within, values[1], values[0]))


def _limit_log_std(graph: _Graph, policy: MLPPolicy, value: str) -> str:
    """Outputs with the policy's own bounds of log standard deviations, if its head has them."""
    if not policy.head.endswith("gaussian"):
        return value
    size = policy.signature.action_size
    ends = (np.repeat([free, bound], size) for free, bound in
            zip((-1e30, 1e30), policy.log_std_bounds, strict=True))  # fmt: skip
    return _clip(graph, value, *(_single(end) for end in ends))


def _widen(first: MLPPolicy, second: MLPPolicy) -> MLPPolicy:
    """The first policy with bounds that hold both policies' log standard deviations."""
    low, high = zip(first.log_std_bounds, second.log_std_bounds, strict=True)
    bounds = min(low), max(high)
    return MLPPolicy(first.network, first.scaling, first.signature, first.head, bounds)


def _add_within(graph: _Graph, region: Region) -> str:
    """(batch, 1) whether each observation lies in the region."""
    if region.cells is not None:
        scale = _single(region.cells.scale)
        centres = _single(region.cells.centres) / scale
        # |x - c|² but for |x|², which is the same for all centres.
        scaled = graph.add("Div", "observation", graph.constant(scale))
        products = graph.add("MatMul", scaled, graph.constant(-2.0 * centres.T))
        rest = graph.add("Add", products, graph.constant((centres**2).sum(axis=1)))
        own = graph.add("ReduceSum", graph.add("Mul", scaled, scaled),
                        graph.constant(np.array([-1])), keepdims=1)  # fmt: skip
        nearest = graph.add("ArgMin", rest, axis=-1, keepdims=1)
        reach = graph.add("Gather", graph.constant(_single(region.cells.reach)), nearest)
        least = graph.add("ReduceMin", rest, axes=[-1], keepdims=1)
        return graph.add("LessOrEqual", graph.add("Add", least, own), reach)
    if region.coordinate is None:
        raise InputError("a switch in numbered states between networks has no ONNX form")
    place = graph.constant(np.array([region.coordinate]))
    value = graph.add("Gather", "observation", place, axis=-1)
    kind = "GreaterOrEqual" if region.above else "LessOrEqual"
    return graph.add(kind, value, graph.constant(_single(region.limit)))


def _clip(graph: _Graph, value: str, low: np.ndarray, high: np.ndarray) -> str:
    return graph.add("Min", graph.add("Max", value, graph.constant(low)), graph.constant(high))


def _single(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)
