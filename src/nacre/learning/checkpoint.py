"""Learning on disk: the state after an epoch, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from nacre.errors import InputError
from nacre.learning.nac import State

FORMAT = 1


def write_checkpoint(
    path: Path, state: State, identity: str, history: list[dict[str, Any]]
) -> None:
    """Write the state whole or not at all.

    Args:
        path: A `.safetensors` file.
        state: The state after the last epoch of the history.
        identity: What this run is: a digest of its configuration, data and seed.
        history: One record an epoch.
    """
    leaves = jax.tree.leaves(eqx.filter(state, eqx.is_array))
    tensors = {f"{i:04d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    metadata = {
        "format": str(FORMAT),
        "identity": identity,
        "history": json.dumps(history),
    }
    blob = safetensors.numpy.save(tensors, metadata=metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(blob)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path, like: State, identity: str) -> tuple[State, list[dict[str, Any]]]:
    """Read the state of the same run back, bit for bit.

    Args:
        path: The file.
        like: A state of the same shapes.
        identity: What this run is; another run's checkpoint is refused.
    """
    try:
        with safetensors.safe_open(path, framework="np") as file:
            metadata = dict(file.metadata() or {})
            names = sorted(file.keys())
            tensors = [np.asarray(file.get_tensor(name)) for name in names]
        history = json.loads(metadata.get("history", "null"))
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"{path}: not a readable checkpoint ({error}); delete it to start again"
        ) from None
    if metadata.get("format") != str(FORMAT) or not isinstance(history, list):
        raise InputError(f"{path}: not a checkpoint of this version; delete it to start again")
    if metadata.get("identity") != identity:
        raise InputError(
            f"{path}: checkpoint of another run (its log, policy, cost, configuration or seed "
            "differ); choose another path or delete it to start again"
        )
    dynamic, static = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    if [leaf.shape for leaf in leaves] != [tensor.shape for tensor in tensors]:
        raise InputError(f"{path}: its tensors do not fit this run; delete it to start again")
    restored = [
        jnp.asarray(tensor, leaf.dtype) for tensor, leaf in zip(tensors, leaves, strict=True)
    ]
    state: State = eqx.combine(jax.tree.unflatten(structure, restored), static)
    return state, history
