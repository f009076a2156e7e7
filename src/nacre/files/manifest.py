"""The manifest of a folder: the SHA-256 of every file that was written with it.

It tells files that were changed, lost or mixed with those of another time. It does not tell who
changed them: whoever can write the files can write the manifest too.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nacre.errors import InputError
from nacre.files.documents import BoundsError, parse_json
from nacre.files.locks import lock_folder

FILE_NAME = "manifest.json"
FORMAT = 1
LARGEST_FILE = 10_000_000


@dataclass(frozen=True)
class Manifest:
    """What a folder holds.

    Attributes:
        kind: Of what the files are, such as "advice".
        files: Size and SHA-256 by name.
        absent: Names that belong to it but have no file.
    """

    kind: str
    files: Mapping[str, tuple[int, str]]
    absent: tuple[str, ...] = ()


def build_manifest(kind: str, files: Mapping[str, bytes], absent: tuple[str, ...] = ()) -> bytes:
    """The content of the manifest of such files."""
    described = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    }
    document = {
        "format": FORMAT,
        "kind": kind,
        "files": described,
        "absent": sorted(set(absent) - set(files)),
    }
    return (json.dumps(document | {"check": digest_json(document)}, indent=1) + "\n").encode()


def digest_json(document: Any) -> str:
    """SHA-256 of a document, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none.

    Raises:
        InputError: If it is not what was written.
    """
    path = folder / FILE_NAME
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            document = parse_json(file.read(LARGEST_FILE + 1), largest=LARGEST_FILE)
        return _parse(document)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); mend its access") from None
    except (BoundsError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: is damaged or was edited ({error!s:.80}); restore it or write the folder anew"
        ) from None


def list_names(folder: Path) -> tuple[set[str], set[str]]:
    """Names in a folder's manifest, with files and without; none where it cannot be read."""
    try:
        manifest = read_manifest(folder)
    except InputError:
        manifest = None
    if manifest is None:
        return set(), set()
    return {*manifest.files, FILE_NAME}, set(manifest.absent)


def find_changes(folder: Path, manifest: Manifest) -> list[str]:
    """One line for each file that is not as the manifest says."""
    problems = []
    with lock_folder(folder, shared=True):
        for name, (size, digest) in manifest.files.items():
            what = _compare(folder / name, size, digest)
            if what:
                problems.append(f"{folder / name}: {what}; restore it or write the folder anew")
        problems += [
            f"{folder / name}: does not belong to this {manifest.kind}; remove it"
            for name in manifest.absent
            if (folder / name).exists()
        ]
    return problems


def read_checked(path: Path, largest: int) -> bytes:
    """The content of a file that is not too large, as the manifest beside it says, if one does.

    Raises:
        InputError: If it is not what was written there.
        OSError: If it cannot be read.
    """
    if path.exists() and not path.is_file():
        # What is no file may have no end, or never a beginning.
        raise OSError(errno.EINVAL, "not a regular file")
    with lock_folder(path.parent, shared=True):
        manifest = read_manifest(path.parent)
        with path.open("rb") as file:
            content = file.read(largest + 1)
    if len(content) > largest:
        raise InputError(f"{path}: larger than {largest:,} bytes; not one of ours")
    known = None if manifest is None else manifest.files.get(path.name)
    if known is not None and (len(content), hashlib.sha256(content).hexdigest()) != known:
        raise InputError(
            f"{path}: is not the file that {FILE_NAME} was written with; restore it or write the "
            "folder anew"
        )
    return content


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _parse(document: dict[str, Any]) -> Manifest:
    check = document.pop("check")
    if check != digest_json(document) or document["format"] != FORMAT:
        raise ValueError("its own digest does not fit")
    files = {
        _check_name(name): (int(one["bytes"]), str(one["sha256"]))
        for name, one in document["files"].items()
    }
    absent = tuple(_check_name(name) for name in document["absent"])
    return Manifest(str(document["kind"]), files, absent)


def _compare(path: Path, size: int, digest: str) -> str:
    """What is wrong with a file, or nothing."""
    try:
        if not path.is_file():
            return "is missing"
        if path.stat().st_size != size:
            return f"has {path.stat().st_size:,} bytes, was written with {size:,}"
        return "" if hash_file(path) == digest else "its content was changed"
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _check_name(name: str) -> str:
    """A name that stays within the folder."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        raise ValueError(f"{name!r} leads out of the folder")
    return name
