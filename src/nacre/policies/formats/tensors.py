"""Tensors of a policy file: taken by name, checked, stacked to a network."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from nacre.errors import InputError
from nacre.policies.networks import MLP

Tensors = dict[str, np.ndarray]
Layer = tuple[np.ndarray, np.ndarray]


def check_tensors(tensors: Tensors) -> list[str]:
    """What is wrong with the numbers of a file; `logits` alone may hold -inf, for never."""
    problems = []
    for name, tensor in tensors.items():
        if tensor.dtype not in (np.float16, np.float32, np.float64):
            problems.append(
                f"tensor {name!r:.60} is of type {tensor.dtype}, expected floats; export it as "
                "float32"
            )
            continue
        with np.errstate(over="ignore"):
            single = np.atleast_1d(tensor.astype(np.float32))
        finite = np.isfinite(single)
        is_table = name.rpartition(".")[2] == "logits"
        if not np.all(finite | (single == -np.inf) if is_table else finite):
            problems.append(f"tensor {name!r:.60} holds NaN or infinity; train or export again")
        elif is_table and not np.all(np.any(finite, axis=-1)):
            problems.append(f"tensor {name!r:.60} has a row that allows no action; give it one")
    return problems


def pack_tensors(tensors: Tensors, metadata: Mapping[str, str]) -> bytes:
    """A safetensors file: the same bytes for the same content.

    The library writes several entries of metadata in any order; here they are sorted.
    """
    content = safetensors.numpy.save(tensors, metadata=dict(metadata))
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def digest_tensors(tensors: Tensors, text: str) -> str:
    """SHA-256 of a file's tensors and of their description; `predict.py` knows it too."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tensor.shape} ".encode())
        digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()


def take(tensors: Tensors, name: str) -> np.ndarray:
    """Remove and return a tensor, at least in single precision."""
    if name not in tensors:
        raise InputError(f"tensor {name!r} is missing; export the policy again")
    tensor = tensors.pop(name)
    return tensor.astype(np.promote_types(tensor.dtype, np.float32), copy=False)


def take_layer(tensors: Tensors, name: str) -> Layer:
    """Remove and return the weight (outputs, inputs) and the bias (outputs,) of a linear layer."""
    weight, bias = take(tensors, f"{name}.weight"), take(tensors, f"{name}.bias")
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or 0 in weight.shape:
        raise InputError(
            f"{name}: weight of shape {weight.shape} and bias of shape {bias.shape}, expected "
            "(outputs, inputs) and (outputs,); save the model again"
        )
    return weight, bias


def stack_layers(layers: list[Layer], activations: tuple[Any, ...]) -> MLP:
    """A network from weights stored as (outputs, inputs) and biases."""
    return MLP(
        tuple(jnp.asarray(weight.T) for weight, _ in layers),
        tuple(jnp.asarray(bias) for _, bias in layers),
        activations,
    )


def describe_error(error: BaseException) -> str:
    """An error of another library as one short line."""
    text = "".join(c if c.isprintable() else " " for c in str(error)) or type(error).__name__
    return " ".join(text.split())[:160]
