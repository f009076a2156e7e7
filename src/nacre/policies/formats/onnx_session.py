"""Sessions of onnxruntime: a model loaded without surprises and run on any number of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.logs.schema.spaces import SpaceError, space_from_json
from nacre.policies.formats.tensors import describe_error
from nacre.policies.policy import Signature

LARGEST_MODEL = 2**30
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


def import_onnx() -> tuple[ModuleType, ModuleType]:
    """The packages onnx and onnxruntime, which only ONNX files need."""
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise InputError(
            "ONNX files need two more packages; install them with: pip install 'nacre[onnx]'"
        ) from None
    return onnx, onnxruntime


@dataclass(frozen=True, eq=False)
class OnnxSession:
    """A loaded model: its session, its input and what is known of its outputs."""

    session: Any
    digest: str
    metadata: Mapping[str, str]

    @classmethod
    def load(cls, path: Path) -> OnnxSession:
        """Check and load a file.

        Raises:
            InputError: If it is none, refers to other files, or has more than one input.
        """
        onnx, runtime = import_onnx()
        content = _read(path)
        try:
            graph = onnx.load_model_from_string(content)
        except Exception as error:
            raise InputError(
                f"{path}: is not an ONNX file ({describe_error(error)}); export it again"
            ) from None
        _refuse_external(path, onnx, graph.graph)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(
                f"{path}: cannot be loaded by onnxruntime ({describe_error(error)}); export it "
                "with standard operators and a lower opset"
            ) from None
        given = session.get_inputs()
        if len(given) != 1 or given[0].type not in _TYPES or len(given[0].shape) > 2:
            found = ", ".join(f"{v.name} {v.type} {v.shape}" for v in given)
            raise InputError(
                f"{path}: has the inputs {found:.100}; a policy has one, a batch of observations "
                "or a single one"
            )
        metadata = {entry.key: entry.value for entry in graph.metadata_props}
        return cls(session, hashlib.sha256(content).hexdigest(), metadata)

    @property
    def shape(self) -> list[Any]:
        """Shape of the input: numbers, and names or nothing where any number will do."""
        return list(self.session.get_inputs()[0].shape)

    @property
    def outputs(self) -> dict[str, Any]:
        """What is known of each output, by name."""
        return {value.name: value for value in self.session.get_outputs()}

    @property
    def described_signature(self) -> Signature | None:
        """The spaces that a file of ours says, or nothing."""
        try:
            description = json.loads(self.metadata.get("nacre", "null"))
            return Signature(
                space_from_json(description["observation_space"]),
                space_from_json(description["action_space"]),
            )
        except (ValueError, TypeError, KeyError, SpaceError, RecursionError):
            return None

    def run(self, rows: np.ndarray, names: list[str]) -> list[Any]:
        """Outputs at a batch of rows, whatever batch size the model wants."""
        wanted = self.session.get_inputs()[0]
        typed = rows.astype(_TYPES[wanted.type], copy=False)
        if rows.ndim == 1 and self.shape[-1:] == [1]:
            typed = rows = typed[:, None]
        single = len(self.shape) < rows.ndim
        size = 1 if single else self.shape[0] if isinstance(self.shape[0], int) else len(rows)
        parts = []
        try:
            for first in range(0, len(typed), max(size, 1)):
                part = typed[first : first + size]
                full = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
                answer = self.session.run(names, {wanted.name: full[0] if single else full})
                parts.append([_as_rows(value, single)[: len(part)] for value in answer])
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"cannot be run on {len(rows)} observations of shape {rows.shape[1:]} "
                f"({describe_error(error)})"
            ) from None
        return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_MODEL:
            raise InputError(f"{path}: larger than 1 GiB; export the policy alone")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({describe_error(error)})") from None


def _refuse_external(path: Path, onnx: ModuleType, graph: Any) -> None:
    """Weights in other files would let a model read any file there is."""
    outside = [
        tensor.name
        for tensor in _find_tensors(graph)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    ]
    if outside:
        raise InputError(
            f"{path}: tensor {outside[0]!r:.60} lies in another file; save the model as one file"
        )


def _find_tensors(graph: Any) -> Iterator[Any]:
    """All constants of a graph and of the graphs within it."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.initializer:
                    yield from _find_tensors(inner)


def _as_rows(value: Any, single: bool) -> np.ndarray:
    if isinstance(value, list):
        # Classifiers answer with a dictionary of probabilities for each row.
        width = 1 + max((max(row) for row in value if row), default=0)
        if any(not isinstance(key, int) for row in value for key in row):
            raise InputError("its classes are texts; export it with whole numbers as classes")
        table = np.zeros((len(value), width))
        for i, row in enumerate(value):
            table[i, list(row)] = list(row.values())
        return table
    rows = np.asarray(value)
    return rows[None] if single else rows
