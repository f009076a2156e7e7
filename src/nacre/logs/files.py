"""Reading, writing and validating logs in files, by suffix."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from nacre.errors import check_arguments
from nacre.files.commit import open_whole
from nacre.logs.addresses import fetch, is_address, show_address
from nacre.logs.checks.assembly import Content
from nacre.logs.checks.problems import Problem, Problems, show_path
from nacre.logs.episodes import Log
from nacre.logs.formats.base import LogFormat
from nacre.logs.formats.registry import find_dataset, find_reader, find_writer
from nacre.logs.reading import Reading, estimate_bytes, make_content
from nacre.logs.reference import LogReference, name_address
from nacre.logs.schema.mapping import ColumnMap, Columns, read_columns
from nacre.logs.schema.spaces import JSON, SpaceError, given_spaces, space_to_json
from nacre.logs.storage.cache import DIRECTORY, Entry, read_through
from nacre.logs.storage.stores import MEMORY, Store


@dataclass(frozen=True)
class _Request:
    """How a log is to be read."""

    columns: ColumnMap
    spaces: dict[str, Space[Any]]
    cache_dir: str | os.PathLike[str] | None
    memory_limit: int | None


@check_arguments
def read_log(
    path: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
) -> Log:
    """Read a log and check it.

    The suffix decides: Parquet, Arrow, CSV (also compressed), npz, HDF5 as D4RL writes it, and
    what other packages register as formats (`nacre.logs.LogFormat`). A directory, or `minari:` and
    an identifier, is a Minari dataset; a directory of Parquet files is one log in parts. An address
    such as s3://bucket/log.parquet is fetched to this machine first.

    A log that would take more than `memory_limit` is converted once to files beside its source,
    from which its arrays are mapped; the next time these are used.

    Args:
        path: The file.
        columns: Which column holds what: a `ColumnMap`, a dictionary with its keys, or the path
            of a TOML file. What it leaves open is recognised by its name.
        observation_space: Counts more than what the file says; inferred if neither does.
        action_space: Likewise.
        cache_dir: Where to keep mapped arrays; if given, they are mapped whatever their size.
        memory_limit: Bytes that the arrays may take in memory; half of the machine's if absent.

    Raises:
        InputError: With every problem found.
    """
    request = _ask(columns, observation_space, action_space, cache_dir, memory_limit)
    content, problems = _read(path, request)
    if content is None or problems:
        raise problems.as_error()
    reference = LogReference(
        name_address(path),
        request.columns,
        tuple(request.spaces.items()),
        None if cache_dir is None else name_address(cache_dir),
    )
    return Log.from_content(content, reference)


@check_arguments
def validate_log(
    path: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
) -> list[Problem]:
    """Return all problems of a log; none if `read_log` would read it with the same arguments."""
    request = _ask(columns, observation_space, action_space, cache_dir, memory_limit)
    return _read(path, request)[1].found


@check_arguments
def write_log(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a log in the format that the suffix of `path` names, such as `.parquet` or `.csv`.

    The file is written beside its place and moved there when it is complete: whatever happens, no
    half-written file stays behind and an earlier file stays whole.

    Raises:
        InputError: If the suffix is unknown or the place cannot be written to.
    """
    target = Path(path)
    problems = Problems(file=show_path(path))
    form = find_writer(target, problems)
    if form is not None and target.is_dir():
        problems.add("is a directory", "give the name of a file")
    if form is None or problems:
        raise problems.as_error()
    try:
        with open_whole(target) as stream:
            form.write(log, stream, target)
    except OSError as error:
        problems.add(
            f"cannot be written ({error.strerror or error})", "give a place that can be written to"
        )
        raise problems.as_error() from error


def _ask(
    columns: Columns | None,
    observation_space: Space[Any] | None,
    action_space: Space[Any] | None,
    cache_dir: str | os.PathLike[str] | None,
    memory_limit: int | None,
) -> _Request:
    spaces = given_spaces(observation_space, action_space)
    return _Request(read_columns(columns), spaces, cache_dir, memory_limit)


def _read(path: str | os.PathLike[str], request: _Request) -> tuple[Content | None, Problems]:
    shown = show_address(os.fspath(path)) if is_address(path) else show_path(path)
    problems = Problems(file=shown)
    place = find_log(path, problems)
    if place is None:
        return None, problems
    file, form = place
    reading = Reading(file, form, request.columns, request.spaces)

    def make(store: Store) -> Content | None:
        return make_content(reading, store, problems)

    limit = find_memory_limit() if request.memory_limit is None else request.memory_limit
    in_memory = request.cache_dir is None
    if in_memory and reading.is_isolated and reading.most_bytes <= limit:
        return make(MEMORY), problems
    n_bytes = estimate_bytes(reading)
    if in_memory and n_bytes <= limit:
        return make(MEMORY), problems
    entry = _find_entry(file, request)
    if not _check_room(entry, n_bytes, problems):
        return None, problems
    try:
        return read_through(entry, make), problems
    except OSError as error:
        problems.add(
            f"its arrays cannot be kept in {show_path(entry.root)} ({error.strerror or error})",
            "give another place for them as cache_dir",
        )
        return None, problems


def find_memory_limit() -> float:
    """Return half of the machine's memory in bytes; infinity where that cannot be known."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return float("inf")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2


def _find_entry(file: Path, request: _Request) -> Entry:
    files = (file,) if file.is_file() else tuple(sorted(p for p in file.rglob("*") if p.is_file()))
    beside = (file if file.is_file() else file.parent).parent / DIRECTORY
    root = (beside if request.cache_dir is None else Path(request.cache_dir)).resolve()
    document: dict[str, JSON] = {"columns": request.columns.as_json()}
    for name, space in request.spaces.items():
        document[f"{name}_space"] = _describe_space(space)
    return Entry(root, files, document)


def _describe_space(space: Space[Any]) -> JSON:
    try:
        return space_to_json(space)
    except SpaceError:
        return repr(space)


def _check_room(entry: Entry, n_bytes: int, problems: Problems) -> bool:
    """Check that there is room for a log before any of it is taken."""
    places = (place for place in (entry.root, *entry.root.parents) if place.exists())
    free = shutil.disk_usage(next(places)).free
    if 2 * n_bytes <= free:
        return True
    problems.add(
        f"would take about {2 * n_bytes} bytes in {show_path(entry.root)}, where {free} are free",
        "give a larger place as cache_dir, or only the rows and columns that are needed",
    )
    return False


def find_log(path: str | os.PathLike[str], problems: Problems) -> tuple[Path, LogFormat] | None:
    """Return where a log lies and its format, or None after reporting."""
    if is_address(path):
        fetched = fetch(os.fspath(path), problems)
        return None if fetched is None else find_log(fetched, problems)
    file = Path(path)
    if not _is_file(file):
        dataset = find_dataset(path, problems)
        if dataset is not None or problems:
            return dataset
    if not _check_file(file, problems):
        return None
    form = find_reader(file, problems)
    return None if form is None else (file, form)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _check_file(path: Path, problems: Problems) -> bool:
    try:
        if path.is_dir():
            problems.add(
                "is a directory",
                "give a file, a Minari dataset or a folder with Parquet or CSV files",
            )
        elif path.stat().st_size == 0:
            problems.add("is an empty file", "give a log with at least one transition")
    except FileNotFoundError:
        problems.add("is not there", "check the name")
    except (OSError, ValueError) as error:
        problems.add(f"cannot be read ({error})", "check the name and the permissions")
    return not problems
