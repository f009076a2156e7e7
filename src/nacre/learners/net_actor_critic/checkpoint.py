"""Learning on disk: the state after an epoch, so that a stopped run goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.files.documents import parse_json

FORMAT = 1
LARGEST_HISTORY = 100_000_000

Tree = TypeVar("Tree")


def write_checkpoint(path: Path, state: Any, identity: str, history: list[dict[str, Any]]) -> None:
    """Write the state whole or not at all.

    Args:
        path: A `.safetensors` file.
        state: The state after the last epoch of the history, any tree of arrays.
        identity: What this run is: a digest of its configuration, data and seed.
        history: One record an epoch.
    """
    leaves = jax.tree.leaves(eqx.filter(state, eqx.is_array))
    tensors = [np.asarray(leaf, order="C") for leaf in leaves]
    records = json.dumps(history)
    metadata = {
        "format": str(FORMAT),
        "identity": identity,
        "history": records,
        "sha256": _digest(tensors, records),
    }
    blob = safetensors.numpy.save(
        {f"{i:04d}": tensor for i, tensor in enumerate(tensors)}, metadata=metadata
    )
    write_whole(path, blob)


def read_checkpoint(path: Path, like: Tree, identity: str) -> tuple[Tree, list[dict[str, Any]]]:
    """Read the state of the same run back, bit for bit.

    Args:
        path: The file.
        like: A state of the same shapes.
        identity: What this run is; another run's checkpoint is refused.
    """
    try:
        with safetensors.safe_open(path, framework="np") as file:
            metadata = dict(file.metadata() or {})
            tensors = [np.asarray(file.get_tensor(name)) for name in sorted(file.keys())]
        history = parse_json(metadata.get("history", "null").encode(), largest=LARGEST_HISTORY)
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise InputError(
            f"{path}: not a readable checkpoint ({text}); delete it to start again"
        ) from None
    if metadata.get("format") != str(FORMAT) or not isinstance(history, list):
        raise InputError(f"{path}: not a checkpoint of this version; delete it to start again")
    if metadata.get("sha256") != _digest(tensors, metadata["history"]):
        raise InputError(f"{path}: the checkpoint is damaged; delete it to start again")
    if metadata.get("identity") != identity:
        raise InputError(
            f"{path}: checkpoint of another run (its log, policy, cost, start, configuration or "
            "seed differ); choose another path or delete it to start again"
        )
    dynamic, static = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    if [_form(leaf) for leaf in leaves] != [_form(tensor) for tensor in tensors]:
        raise InputError(f"{path}: its tensors do not fit this run; delete it to start again")
    restored = [jnp.asarray(tensor) for tensor in tensors]
    state: Tree = eqx.combine(jax.tree.unflatten(structure, restored), static)
    return state, history


def _form(tensor: Any) -> tuple[tuple[int, ...], str]:
    return tuple(tensor.shape), str(tensor.dtype)


def _digest(tensors: Sequence[np.ndarray], records: str) -> str:
    digest = hashlib.sha256(records.encode())
    for tensor in tensors:
        digest.update(f"{tensor.dtype} {tensor.shape} ".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()
