"""Sessions of onnxruntime: a model loaded without surprises and run on any number of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.files.isolation import is_isolating, run_isolated
from nacre.files.onnx_checks import TYPES, check_model
from nacre.logs.schema.spaces import SpaceError, space_from_json
from nacre.policies.formats.tensors import describe_error
from nacre.policies.policy import Signature

LARGEST_MODEL = 2**30
LARGEST_BATCH = 2**14
TRIAL = "nacre.files.onnx_checks:try_model"
DIGEST_KEY = "sha256"
PRODUCER = "nacre"


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


def _start(runtime: ModuleType, content: bytes) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Memory that was given back is not kept for a next time that may never come.
    options.enable_cpu_mem_arena = False
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True, eq=False)
class OnnxSession:
    """A loaded model: its session, its input and what is known of its outputs."""

    session: Any
    digest: str
    metadata: Mapping[str, str]
    content: bytes = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> OnnxSession:
        """Check and load a file.

        Raises:
            InputError: If it is none, refers to other files, or has more than one input.
        """
        onnx, runtime = import_onnx()
        content = read_model(path)
        _try_elsewhere(path, len(content))
        try:
            model = onnx.load_model_from_string(content)
        except Exception as error:
            raise InputError(
                f"{path}: is not an ONNX file ({describe_error(error)}); export it again"
            ) from None
        try:
            check_model(onnx, model)
            _check_digest(model)
        except InputError as error:
            raise InputError(f"{path}: {error.problems[0]}") from None
        try:
            session = _start(runtime, content)
            given = session.get_inputs()
            # Names need not be texts; that is found out when they are asked for.
            found = ", ".join(f"{v.name} {v.type} {v.shape}" for v in given)
            _ = [one.name for one in session.get_outputs()]
        except Exception as error:
            raise InputError(
                f"{path}: cannot be loaded by onnxruntime ({describe_error(error)}); export it "
                "with standard operators and a lower opset"
            ) from None
        if len(given) != 1 or given[0].type not in TYPES or len(given[0].shape) > 2:
            raise InputError(
                f"{path}: has the inputs {found:.100}; a policy has one, a batch of observations "
                "or a single one"
            )
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        return cls(session, hashlib.sha256(content).hexdigest(), metadata, content)

    def __getstate__(self) -> dict[str, Any]:
        """All but the session, for another process, which starts its own."""
        return vars(self) | {"session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, session=_start(import_onnx()[1], state["content"]))

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
        typed = rows.astype(TYPES[wanted.type], copy=False)
        if rows.ndim == 1 and self.shape[-1:] == [1]:
            typed = rows = typed[:, None]
        single = len(self.shape) < rows.ndim
        wished = 1 if single else self.shape[0]
        size = wished if isinstance(wished, int) else min(len(rows), LARGEST_BATCH)
        parts = []
        try:
            for first in range(0, len(typed), max(size, 1)):
                part = typed[first : first + size]
                full = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
                answer = self.session.run(
                    names, {wanted.name: np.asarray(full[0]) if single else full}
                )
                parts.append([_as_rows(value, single)[: len(part)] for value in answer])
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"cannot be run on {len(rows)} observations of shape {rows.shape[1:]} "
                f"({describe_error(error)})"
            ) from None
        return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _try_elsewhere(path: Path, size: int) -> None:
    """Load a model and run it once in another process: what happens there cannot harm this one."""
    if not is_isolating():
        return
    try:
        modules = ("onnx", "onnxruntime")
        problem = run_isolated(TRIAL, size, modules=modules, path=str(path.resolve()))
    except InputError as error:
        problem = error.problems[0]
    if problem:
        raise InputError(f"{path}: {problem}")


def read_model(path: Path) -> bytes:
    """The content of a model's file, if it has a size that a policy's can have."""
    try:
        if path.stat().st_size > LARGEST_MODEL:
            raise InputError(f"{path}: larger than 1 GiB; export the policy alone")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({describe_error(error)})") from None


def digest_model(model: Any) -> str:
    """SHA-256 of a model without the entry that holds it."""
    bare = type(model)()
    bare.CopyFrom(model)
    kept = [entry for entry in model.metadata_props if entry.key != DIGEST_KEY]
    del bare.metadata_props[:]
    bare.metadata_props.extend(kept)
    return hashlib.sha256(bare.SerializeToString(deterministic=True)).hexdigest()


def _check_digest(model: Any) -> None:
    """Files of ours hold their digest; those of format 1 and of others have none."""
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    ours = model.producer_name == PRODUCER or PRODUCER in metadata or DIGEST_KEY in metadata
    try:
        first_format = json.loads(metadata.get(PRODUCER, "null"))["format"] == 1
    except (ValueError, TypeError, KeyError, RecursionError):
        first_format = False
    if ours and not first_format and metadata.get(DIGEST_KEY) != digest_model(model):
        raise InputError("is damaged: its digest does not fit; restore or export it again")


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
