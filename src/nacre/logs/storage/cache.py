"""Logs converted once to files that can be mapped, for those that do not fit into memory.

A cache is a directory with one directory a log. That of a log is named by a digest of the content
of its source and of how it was read, and holds a `.npy` file an array and a manifest with digests.
It appears under its name only when it is complete. One that was damaged is made anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.commit import make_folder, sync_folder, sync_tree, write_whole
from nacre.files.documents import parse_json
from nacre.files.manifest import digest_json
from nacre.files.scratch import open_scratch
from nacre.logs.checks.assembly import Content
from nacre.logs.schema.spaces import JSON
from nacre.logs.storage.arrays import digest_arrays, find_damage, open_content, write_content
from nacre.logs.storage.stores import MappedStore, Store

DIRECTORY = ".nacre-cache"
MANIFEST = "entry.json"
_VERSION = 2
_LARGEST_MANIFEST = 10_000_000


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
        """Sizes and times of the source's files: if they did not change, neither did the files.

        The time of the last change of the file itself cannot be set back as its date can.
        """
        stats = [file.stat() for file in self.files]
        return [[stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino] for stat in stats]


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
    manifest = read_entry(place)
    content = None if manifest is None else _open(place, manifest)
    if content is None or manifest is None:
        return _build(entry, digest, make)
    with suppress(InputError):
        # The same content under another date: next time that need not be found out again.
        _write_manifest(place, manifest | {"stat": entry.stat()})
    return content


def _find_unchanged(entry: Entry) -> Content | None:
    """Return the content of a log whose source has the size and date that it had."""
    for directory in sorted(entry.root.glob(f"{_escape(entry.name)}-*")):
        manifest = read_entry(directory)
        asked = {"stat": entry.stat(), "request": dict(entry.request)}
        if manifest is not None and all(manifest.get(key) == asked[key] for key in asked):
            return _open(directory, manifest)
    return None


def _build(entry: Entry, digest: str, make: Callable[[Store], Content | None]) -> Content | None:
    make_folder(entry.root)
    with open_scratch(entry.root) as directory:
        content = make(MappedStore(directory))
        if content is None:
            return None
        manifest = write_content(directory, content) | {
            "version": _VERSION,
            "stat": entry.stat(),
            "request": dict(entry.request),
        }
        manifest["digests"] = digest_arrays(directory, manifest)
        _write_manifest(directory, manifest)
        sync_tree(directory)
        place = _place(entry, digest)
        shutil.rmtree(place, ignore_errors=True)
        directory.rename(place)
        sync_folder(entry.root)
    return open_content(place, manifest)


def _open(directory: Path, manifest: Mapping[str, Any]) -> Content | None:
    """The content of an entry; None where it is not what was written, so that it is made anew."""
    damaged = find_damage(directory, manifest, fully=False)
    return None if damaged else open_content(directory, manifest)


def verify_entry(directory: Path) -> None:
    """Compare every array of an entry with its digests.

    Raises:
        InputError: One line for each file that is not as it was written.
    """
    manifest = read_entry(directory)
    if manifest is None:
        raise InputError(f"{directory / MANIFEST}: is damaged; remove the folder, it is made anew")
    damaged = find_damage(directory, manifest, fully=True)
    if damaged:
        raise InputError(
            [
                f"{directory / name}: is damaged; remove the folder, it is made anew"
                for name in damaged
            ]
        )


def _write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    document = {**manifest, "check": digest_json(manifest)}
    write_whole(directory / MANIFEST, json.dumps(document).encode())


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _place(entry: Entry, digest: str) -> Path:
    key = digest_json({"sha256": digest, "request": dict(entry.request), "version": _VERSION})
    return entry.root / f"{entry.name}-{key[:24]}"


def _hash_files(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def read_entry(directory: Path) -> dict[str, Any] | None:
    """The manifest of an entry, or None if there is none that can be trusted."""
    try:
        content = (directory / MANIFEST).read_bytes()
        manifest: dict[str, Any] = parse_json(content, largest=_LARGEST_MANIFEST)
        check = manifest.pop("check")
        whole = check == digest_json(manifest) and manifest["version"] == _VERSION
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    return manifest if whole else None
