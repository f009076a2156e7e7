"""Logs converted once to files that can be mapped, for those that do not fit into memory.

A cache is a directory with one directory a log. That of a log is named by a digest of the content
of its source and of how it was read, and holds a `.npy` file an array and a manifest. It appears
under its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.assembly import Content
from nacre.logs.episodes import ROW_ARRAYS
from nacre.logs.schema.spaces import JSON, space_from_json, space_to_json
from nacre.logs.storage.stores import MappedStore, Store, copy_blocks, find_file, find_map

DIRECTORY = ".nacre-cache"
_VERSION = 1
_MANIFEST = "manifest.json"
_PARTIAL = ".partial-"
_ARRAYS = (*ROW_ARRAYS, "offsets")


@dataclass(frozen=True)
class Entry:
    """A log that is or will be in a cache.

    Attributes:
        root: The directory of the cache.
        files: The files of its source.
        request: How it is read: everything that changes the result.
    """

    root: Path
    files: tuple[Path, ...]
    request: Mapping[str, JSON]

    @property
    def name(self) -> str:
        """The name that all entries of this source begin with."""
        return self.files[0].name

    def stat(self) -> list[JSON]:
        """Sizes and times of the source's files: if they did not change, neither did the files."""
        stats = [file.stat() for file in self.files]
        return [[stat.st_size, stat.st_mtime_ns] for stat in stats]


def read_through(entry: Entry, make: Callable[[Store], Content | None]) -> Content | None:
    """Return the content of a log from the cache, mapped; it is made there if it is not yet.

    Whatever happens while it is made, nothing half-written stays behind.

    Args:
        entry: Which log, and where its cache is.
        make: Makes the content, large arrays in the given store; None if it cannot be made.
    """
    content = _find_unchanged(entry)
    if content is not None:
        return content
    digest = _hash_files(entry.files)
    place = _place(entry, digest)
    manifest = _read_manifest(place)
    content = None if manifest is None else _open(place, manifest)
    if content is None or manifest is None:
        return _build(entry, digest, make)
    with suppress(OSError):
        # The same content under another date: next time that need not be found out again.
        _write_manifest(place, manifest | {"stat": entry.stat()})
    return content


def _find_unchanged(entry: Entry) -> Content | None:
    """Return the content of a log whose source has the size and date that it had."""
    for directory in sorted(entry.root.glob(f"{_escape(entry.name)}-*")):
        manifest = _read_manifest(directory)
        asked = {"stat": entry.stat(), "request": dict(entry.request)}
        if manifest is not None and all(manifest.get(key) == asked[key] for key in asked):
            return _open(directory, manifest)
    return None


def _build(entry: Entry, digest: str, make: Callable[[Store], Content | None]) -> Content | None:
    entry.root.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(entry.root)
    with _partial_directory(entry.root) as directory:
        content = make(MappedStore(directory))
        if content is None:
            return None
        manifest = _write_arrays(directory, content) | {
            "version": _VERSION,
            "stat": entry.stat(),
            "request": dict(entry.request),
        }
        _write_manifest(directory, manifest)
        place = _place(entry, digest)
        shutil.rmtree(place, ignore_errors=True)
        directory.rename(place)
    return _open(place, manifest)


def _write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    partial = directory / f"{_MANIFEST}.partial"
    document = {**manifest, "check": _hash_json(manifest)}
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(directory / _MANIFEST)


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _place(entry: Entry, digest: str) -> Path:
    key = _hash_json({"sha256": digest, "request": dict(entry.request), "version": _VERSION})
    return entry.root / f"{entry.name}-{key[:24]}"


def _hash_json(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _hash_files(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _write_arrays(directory: Path, content: Content) -> dict[str, Any]:
    """Give every array its file and remove all others; return what the manifest says of them."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(content, name) for name in _ARRAYS}
    for number, values in enumerate(content.columns.values()):
        arrays[f"column-{number}"] = values
    forms, wanted = {}, set()
    for name, values in arrays.items():
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
    return {
        "arrays": forms,
        "columns": list(content.columns),
        "observation_space": space_to_json(content.observation_space),
        "action_space": space_to_json(content.action_space),
        "provenance": dict(content.provenance),
    }


def _copy(values: NDArray[Any], target: Path) -> None:
    copied = np.lib.format.open_memmap(target, mode="w+", dtype=values.dtype, shape=values.shape)
    copy_blocks(values, copied)
    copied.flush()


def _read_manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of an entry, or None if there is none that can be trusted."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
        check = manifest.pop("check")
        whole = check == _hash_json(manifest) and manifest["version"] == _VERSION
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    return manifest if whole else None


def _open(directory: Path, manifest: Mapping[str, Any]) -> Content | None:
    """Map the arrays of an entry; None if they are not what the manifest says."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for name, (dtype, shape) in manifest["arrays"].items():
            if name not in _ARRAYS and name not in _column_files(manifest):
                return None
            values = np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if values.dtype.str != dtype or list(values.shape) != shape:
                return None
            arrays[name] = np.asarray(values)
        fields: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        columns = {
            column: arrays[file]
            for column, file in zip(manifest["columns"], _column_files(manifest), strict=True)
        }
        spaces: dict[str, Any] = {
            name: space_from_json(manifest[name]) for name in ("observation_space", "action_space")
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not _are_offsets(fields["offsets"], len(fields["rewards"])):
        return None
    return Content(**fields, **spaces, provenance=manifest["provenance"], columns=columns)


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


@contextmanager
def _partial_directory(root: Path) -> Iterator[Path]:
    """Give a directory that is gone afterwards, unless it has been renamed."""
    directory = root / f"{_PARTIAL}{secrets.token_hex(8)}"
    try:
        with directory.with_suffix(".lock").open("wb") as lock:
            try_lock(lock)
            directory.mkdir()
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        directory.with_suffix(".lock").unlink(missing_ok=True)


def _remove_abandoned(root: Path) -> None:
    """Remove what processes left behind that were killed while they made an entry."""
    for path in root.glob(f"{_PARTIAL}*.lock"):
        with suppress(OSError), path.open("wb") as lock:
            if try_lock(lock):
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()


def try_lock(lock: IO[bytes]) -> bool:
    """Lock a file for as long as it is open; False if another process has it."""
    if os.name != "posix":
        return False
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
