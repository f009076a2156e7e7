"""ONNX graphs in the making: nodes, constants, inputs and outputs."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Literal

import numpy as np

from nacre.errors import InputError

OPSET = 13
CLASSIC_OPSET = 2
"""Of the domain ai.onnx.ml, which looks texts up."""
CLASSIC = "ai.onnx.ml"
IR_VERSION = 8
INNER = "nacre/"
"""Before the names of what lies between inputs and outputs, which may be called anything."""

Kind = Literal["FLOAT", "DOUBLE", "INT64", "STRING"]
FLOAT, BOOL, DOUBLE = 1, 9, 11
"""The numbers that these types have in ONNX."""


class OnnxGraph:
    """Nodes and constants, named as they come.

    Attributes:
        observation: The value that holds the observations.
    """

    def __init__(self, onnx: ModuleType) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self.observation = ""

    def input(self, name: str, kind: Kind, *, width: int | None = None) -> str:
        """Declare an input: a batch of numbers, of texts, or of rows of a width."""
        self._inputs.append(self._declare(name, kind, width))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Add numbers or texts that do not change."""
        name = f"{INNER}constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.array(values), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; the value that it gives."""
        value = f"{INNER}value_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [value], **attributes))
        return value

    def output(self, name: str, value: str, *, width: int | None, kind: Kind = "FLOAT") -> None:
        """Declare an output.

        Raises:
            InputError: If an input has its name.
        """
        if any(given.name == name for given in self._inputs):
            raise InputError(f"the column {name!r} has the name of an output; call it otherwise")
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._declare(name, kind, width))

    def _declare(self, name: str, kind: Kind, width: int | None) -> Any:
        shape = ["batch"] if width is None else ["batch", width]
        number = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def finish(self) -> Any:
        """The model."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "policy", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == CLASSIC for node in self._nodes):
            opsets.append(helper.make_opsetid(CLASSIC, CLASSIC_OPSET))
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="nacre"
        )
