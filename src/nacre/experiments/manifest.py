"""The manifest of a table: what its files hold, by which they can be checked."""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.files.documents import parse_json

FORMAT = 1
NAME = "manifest.json"
LARGEST_FILE = 100_000_000


def write_manifest(folder: Path) -> Path:
    """Describe all files of records in a table's folder; returns the manifest's path."""
    path = folder / NAME
    write_whole(path, build_manifest(folder, {}))
    return path


def build_manifest(folder: Path, written: Mapping[str, bytes]) -> bytes:
    """The manifest of a table's folder once some files, by name, have been written to it."""
    contents = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")} | dict(written)
    files = {name: describe_file(folder / name, contents[name]) for name in sorted(contents)}
    return (json.dumps({"format": FORMAT, "files": files}, indent=1) + "\n").encode()


def describe_file(path: Path, content: bytes) -> dict[str, Any]:
    """What a file of whole lines holds.

    Returns:
        `made_by`, the command; `records`, how many; `sha256` of the file; `rows` with their seeds;
        `fields` of the records; `configuration`, the names of all fields of the configuration
        behind them, inner ones after a dot; `commits` and `versions` that made them, with how many.
    """
    records = [json.loads(line) for line in content.decode().splitlines()]
    rows: dict[str, list[int]] = {}
    for record in records:
        rows.setdefault(record["row"], []).append(record["seed"])
    return {
        "made_by": f"nacre reproduce {path.parent.name} --configuration {path.stem}",
        "records": len(records),
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": rows,
        "fields": sorted({name for record in records for name in record}),
        "configuration": sorted(
            {name for record in records for name in name_fields(record.get("learner", {}))}
        ),
        "commits": _count([record.get("commit") or "unknown" for record in records]),
        "versions": _count([_join(record.get("versions", {})) for record in records]),
    }


def name_fields(configuration: Any, prefix: str = "") -> Iterator[str]:
    """Names of all values of a nested configuration, such as critics.hidden."""
    if not isinstance(configuration, dict):
        yield prefix.removesuffix(".")
        return
    for name, value in configuration.items():
        yield from name_fields(value, f"{prefix}{name}.")


def _count(names: Sequence[str]) -> dict[str, int]:
    return dict(sorted(collections.Counter(names).items()))


def _join(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "unknown"


def check_manifest(folder: Path) -> None:
    """Compare the files of a table with its manifest.

    Raises:
        InputError: If the manifest is missing or of another format, or a file is not as it says.
    """
    path = folder / NAME
    try:
        manifest = parse_json(path.read_bytes(), largest=LARGEST_FILE)
        version = manifest.get("format")
        known: dict[str, Any] = manifest["files"] if version == FORMAT else {}
        digests = {name: described["sha256"] for name, described in known.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a readable manifest ({error}); write it anew") from None
    if version != FORMAT:
        raise InputError(f"{path}: format {version!r:.60}, expected {FORMAT}")
    found = {file.name for file in folder.glob("*.jsonl")}
    problems = [f"{folder / name}: not in {NAME}" for name in sorted(found - set(known))]
    for name, described in known.items():
        if name not in found:
            problems.append(f"{folder / name}: missing, but {NAME} has it")
            continue
        content = (folder / name).read_bytes()
        # What is not as it was written is not parsed.
        same = hashlib.sha256(content).hexdigest() == digests[name]
        if not same or describe_file(folder / name, content) != described:
            problems.append(f"{folder / name}: not as {NAME} says; restore the file")
    if problems:
        raise InputError(problems)
