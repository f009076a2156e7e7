"""Statistics of normalised observations, as plain arrays in an npz file."""

from __future__ import annotations

import io
import math
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.archives import Archive
from nacre.policies.formats.tensors import describe_error
from nacre.policies.formats.vecnormalize import read_vecnormalize
from nacre.policies.networks import Scaling

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_normalization(path: Path) -> Scaling:
    """What Stable-Baselines3's VecNormalize does, from its file or an npz with mean, var and clip.

    clip((observation - mean) / √(var + epsilon), ±clip), with epsilon 1e-8 and no clipping unless
    the file says otherwise.

    Raises:
        InputError: If arrays are missing, are no numbers, or do not fit each other.
    """
    arrays = read_vecnormalize(path) if _is_pickle(path) else _read_arrays(path)
    known = {"mean", "var", "clip", "epsilon"}
    problems = [
        f"{path}: array {name!r} is missing; write np.savez(path, mean=venv.obs_rms.mean, "
        "var=venv.obs_rms.var, clip=venv.clip_obs, epsilon=venv.epsilon)"
        for name in ("mean", "var")
        if name not in arrays
    ]
    problems += [
        f"{path}: array {name!r:.60} is unknown; known: {', '.join(sorted(known))}"
        for name in sorted(set(arrays) - known)
    ]
    if problems:
        raise InputError(problems)
    mean, var = arrays["mean"], arrays["var"]
    epsilon, clip = arrays.get("epsilon", np.array(1e-8)), arrays.get("clip")
    if mean.ndim != 1 or var.shape != mean.shape:
        raise InputError(
            f"{path}: mean of shape {mean.shape} and var of shape {var.shape}, expected two "
            "vectors of the same length"
        )
    if np.any(var < 0) or epsilon.size != 1 or epsilon.item() < 0 or np.any(var + epsilon <= 0):
        raise InputError(f"{path}: var and epsilon have to be positive; compute them again")
    if clip is not None and (clip.size != 1 or not clip.item() > 0):
        raise InputError(f"{path}: clip has to be one positive number; leave it out for none")
    return Scaling(
        jnp.asarray(mean, jnp.float32),
        jnp.asarray(np.sqrt(var + epsilon.item()), jnp.float32),
        None if clip is None else jnp.asarray(clip.item(), jnp.float32),
    )


def _is_pickle(path: Path) -> bool:
    return path.suffix.lower() in (".pkl", ".pickle") and path.is_file()


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise InputError(
            f"{path}: there is no such file; give a vecnormalize.pkl, or an npz with mean, var and "
            "clip"
        )
    archive = Archive(path, str(path))
    arrays = {}
    for member in archive.names:
        name = member.removesuffix(".npy")
        try:
            arrays[name] = _read_array(archive.read(member))
        except (ValueError, EOFError, OverflowError, SyntaxError) as error:
            raise InputError(
                f"{path}: array {name!r:.60} is no plain array of numbers "
                f"({describe_error(error)}); nothing was run, save it with dtype float64"
            ) from None
    return arrays


def _read_array(content: bytes) -> np.ndarray:
    """An array whose header does not claim more than is there."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"npy format {version}")
    shape, _, dtype = _HEADERS[version](stream)
    if dtype.hasobject or dtype.kind not in "fiu":
        raise ValueError(f"type {dtype}")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"its header claims shape {shape}, its data are of another size")
    stream.seek(0)
    values = np.lib.format.read_array(stream, allow_pickle=False).astype(np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("it holds NaN or infinity")
    return values
