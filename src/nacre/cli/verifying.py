"""Whether what nacre wrote is still what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.commit import settle
from nacre.files.documents import parse_json
from nacre.files.manifest import FILE_NAME, Manifest, find_changes, read_checked, read_manifest

LARGEST_FILE = 2**31


@dataclass(frozen=True)
class Verified:
    """Something that is unchanged.

    Attributes:
        path: What was looked at.
        kind: What it is, such as "advice".
        checked: What was compared, for people.
    """

    path: Path
    kind: str
    checked: str

    def as_json(self) -> dict[str, Any]:
        """As the command prints it."""
        return {"path": str(self.path), "kind": self.kind, "checked": self.checked}


def verify_path(path: Path) -> Verified:
    """What a folder or file is, once all of it was compared with its digests.

    Raises:
        InputError: One line for each file that is not as it was written.
    """
    if path.is_dir():
        settle(path)
        for marker, verify in FOLDERS.items():
            if (path / marker).exists():
                return verify(path)
        entries = [one for one in sorted(path.iterdir()) if (one / "entry.json").is_file()]
        if entries:
            return _verify_cache(path, entries)
        raise InputError(f"{path}: holds nothing that nacre could verify; give what nacre wrote")
    if not path.is_file():
        raise InputError(f"{path}: is not there; give a folder or a file that nacre wrote")
    return _verify_file(path)


def _verify_manifest(folder: Path) -> Verified:
    """An advice, or a table of experiments, whose manifest says more."""
    from nacre.experiments.manifest import check_manifest

    try:
        document = parse_json((folder / FILE_NAME).read_bytes(), largest=LARGEST_FILE)
        by_rows = "check" not in document and "files" in document
    except (OSError, ValueError, TypeError):
        by_rows = False
    if by_rows:
        check_manifest(folder)
        return Verified(folder, "records", f"{len(document['files'])} files")
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder / FILE_NAME}: is not a file; restore it")
    problems = find_changes(folder, manifest)
    if problems:
        raise InputError(problems)
    if manifest.kind == "advice":
        _compare_policy(folder, manifest)
    return Verified(folder, manifest.kind, f"{len(manifest.files)} files")


def _compare_policy(folder: Path, manifest: Manifest) -> None:
    """The policy beside a record is the one that the record speaks of."""
    from nacre.advice.record import read_decision
    from nacre.policies import fingerprint, read_policy

    name = "policy/new.safetensors"
    told = read_decision(folder).new_policy.get("sha256")
    if name in manifest.files and told and fingerprint(read_policy(folder / name)) != told:
        raise InputError(
            f"{folder / name}: is another policy than decision.json speaks of; restore it or write "
            "the folder anew"
        )


def _verify_entry(folder: Path) -> Verified:
    from nacre.logs.storage.cache import verify_entry

    verify_entry(folder)
    return Verified(folder, "cached log", "every chunk of its arrays")


def _verify_cache(folder: Path, entries: list[Path]) -> Verified:
    from nacre.logs.storage.cache import verify_entry

    problems: list[str] = []
    for entry in entries:
        try:
            verify_entry(entry)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return Verified(folder, "cache", f"every chunk of {len(entries)} logs")


def _verify_file(path: Path) -> Verified:
    from nacre.policies.formats.registry import find_by_name

    manifest = read_manifest(path.parent) if path.name != FILE_NAME else None
    if path.name == FILE_NAME:
        return _verify_manifest(path.parent)
    if manifest is not None and path.name in manifest.files:
        read_checked(path, LARGEST_FILE)
        return Verified(path, manifest.kind, f"its digest in {FILE_NAME}")
    form = find_by_name(path.name)
    if form is not None and form.writable:
        return _verify_policy(path)
    return _verify_log(path)


def _verify_policy(path: Path) -> Verified:
    from nacre.policies import fingerprint, read_policy

    return Verified(path, "policy", f"sha256 {fingerprint(read_policy(path))}")


def _verify_log(path: Path) -> Verified:
    from nacre.logs import read_log

    log = read_log(path)
    return Verified(path, "log", f"{len(log):,} transitions, sha256 {log.fingerprint()}")


FOLDERS: dict[str, Callable[[Path], Verified]] = {
    "entry.json": _verify_entry,
    FILE_NAME: _verify_manifest,
    "metadata.json": _verify_log,
}
"""How a folder is verified, by a file that tells what it is."""
