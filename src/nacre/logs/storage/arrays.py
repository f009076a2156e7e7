"""The content of a log as a folder: a `.npy` file an array, and what a manifest says of them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.assembly import ROW_ARRAYS, Content
from nacre.logs.schema.spaces import space_from_json, space_to_json
from nacre.logs.storage.stores import copy_blocks, find_file, find_map

CHUNK_BYTES = 2**24
CHECKED_CHUNKS = 16
"""Chunks that are compared with their digests when a folder is opened: all of up to 256 MiB."""
_ARRAYS = (*ROW_ARRAYS, "offsets")


def list_arrays(content: Content) -> dict[str, NDArray[Any]]:
    """All arrays by the names of their files."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(content, name) for name in _ARRAYS}
    for number, values in enumerate(content.columns.values()):
        arrays[f"column-{number}"] = values
    return arrays


def describe_content(content: Content) -> dict[str, Any]:
    """What else belongs to a log, as JSON."""
    return {
        "columns": list(content.columns),
        "observation_space": space_to_json(content.observation_space),
        "action_space": space_to_json(content.action_space),
        "provenance": dict(content.provenance),
    }


def build_content(
    arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
) -> Content | None:
    """The content that arrays and a description make; None if they do not fit."""
    try:
        fields: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        columns = {
            column: arrays[file]
            for column, file in zip(manifest["columns"], _column_files(manifest), strict=True)
        }
        spaces: dict[str, Any] = {
            name: space_from_json(manifest[name]) for name in ("observation_space", "action_space")
        }
        lengths = {len(arrays[name]) for name in (*ROW_ARRAYS, *_column_files(manifest))}
    except (ValueError, KeyError, TypeError):
        return None
    if len(lengths) != 1 or not _are_offsets(fields["offsets"], len(fields["rewards"])):
        return None
    return Content(**fields, **spaces, provenance=manifest["provenance"], columns=columns)


def write_content(directory: Path, content: Content) -> dict[str, Any]:
    """Give every array its file and remove all others; return what the manifest says of them."""
    forms, wanted = {}, set()
    for name, values in list_arrays(content).items():
        target = directory / f"{name}.npy"
        source = find_file(values)
        if source is not None and source.parent == directory and source.exists():
            mapped = find_map(values)
            if mapped is not None:
                mapped.flush()
            source.rename(target)
        else:
            _copy(values, target)
        forms[name] = [values.dtype.str, list(values.shape)]
        wanted.add(target.name)
    for file in directory.iterdir():
        if file.name not in wanted:
            file.unlink()
    return {"arrays": forms, **describe_content(content)}


def open_content(directory: Path, manifest: Mapping[str, Any]) -> Content | None:
    """Map the arrays of a folder; None if they are not what the manifest says."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for name, (dtype, shape) in manifest["arrays"].items():
            if name not in _ARRAYS and name not in _column_files(manifest):
                return None
            values = np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if values.dtype.str != dtype or list(values.shape) != shape:
                return None
            arrays[name] = np.asarray(values)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return build_content(arrays, manifest)


def digest_arrays(directory: Path, manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """Digests of the chunks of every array's file."""
    return {
        name: [_digest(chunk) for chunk in _read_chunks(directory / f"{name}.npy")]
        for name in manifest["arrays"]
    }


def find_damage(directory: Path, manifest: Mapping[str, Any], *, fully: bool) -> list[str]:
    """Names of the files whose chunks are not as they were written.

    Args:
        directory: The folder.
        manifest: What it should hold, with `digests`.
        fully: Compare all chunks; else, where there are many, some that change from time to time.
    """
    places = [(name, i) for name, some in manifest["digests"].items() for i in range(len(some))]
    if not fully and len(places) > CHECKED_CHUNKS:
        places = secrets.SystemRandom().sample(places, CHECKED_CHUNKS)
    damaged = {name for name in manifest["arrays"] if name not in manifest["digests"]}
    for name, index in places:
        try:
            with (directory / f"{name}.npy").open("rb") as file:
                file.seek(index * CHUNK_BYTES)
                found = _digest(file.read(CHUNK_BYTES))
        except OSError:
            found = ""
        if found != manifest["digests"][name][index]:
            damaged.add(name)
    return sorted(f"{name}.npy" for name in damaged)


def _digest(chunk: bytes) -> str:
    return hashlib.sha256(chunk).hexdigest()[:32]


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _copy(values: NDArray[Any], target: Path) -> None:
    copied = np.lib.format.open_memmap(target, mode="w+", dtype=values.dtype, shape=values.shape)
    copy_blocks(values, copied)
    copied.flush()


def _column_files(manifest: Mapping[str, Any]) -> list[str]:
    return [f"column-{number}" for number in range(len(manifest["columns"]))]


def _are_offsets(offsets: NDArray[Any], n_rows: int) -> bool:
    return bool(
        offsets.ndim == 1
        and len(offsets) > 1
        and offsets[0] == 0
        and offsets[-1] == n_rows
        and (np.diff(offsets) > 0).all()
    )
