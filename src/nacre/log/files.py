"""Reading, writing and validating logs in files, by suffix."""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from gymnasium.spaces import Space

from nacre.errors import InputError
from nacre.log.assembly import Content, assemble
from nacre.log.episodes import Log
from nacre.log.mapping import Columns, read_columns
from nacre.log.minari_dataset import find_dataset
from nacre.log.problems import Problem, Problems, show_path
from nacre.log.sources import draft_log

# Imported when needed: Arrow takes longer to import than everything else here.
_FORMATS = {
    ".parquet": "nacre.log.parquet_file",
    ".csv": "nacre.log.csv_file",
    ".csv.gz": "nacre.log.csv_file",
    ".csv.zst": "nacre.log.csv_file",
    ".arrow": "nacre.log.arrow_file",
    ".feather": "nacre.log.arrow_file",
    ".npz": "nacre.log.npz_file",
}
_READ_ONLY = {".hdf5": "nacre.log.hdf5_file", ".h5": "nacre.log.hdf5_file"}


def read_log(
    path: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
) -> Log:
    """Read a log from Parquet, CSV or npz, by the suffix of `path`, and check it.

    Args:
        path: The file.
        columns: Which column holds what: a `ColumnMap`, a dictionary with its keys, or the path
            of a TOML file. What it leaves open is recognised by its name.
        observation_space: Counts more than what the file says; inferred if neither does.
        action_space: Likewise.

    Raises:
        InputError: With every problem found.
    """
    content, problems = _read(path, columns, observation_space, action_space)
    if content is None or problems:
        raise InputError([str(problem) for problem in problems.found])
    return Log(**content)


def validate_log(
    path: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
) -> list[Problem]:
    """Return all problems of the log in a file; none if `read_log` would read it."""
    return _read(path, columns, observation_space, action_space)[1].found


def write_log(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a log as Parquet, CSV or npz, by the suffix of `path`.

    The file is written beside its place and moved there when it is complete: whatever happens, no
    half-written file stays behind and an earlier file stays whole.

    Raises:
        InputError: If the suffix is unknown or the place cannot be written to.
    """
    target = Path(path)
    problems = Problems(file=show_path(path))
    module = _find_format(target, problems, _FORMATS)
    if module is not None and target.is_dir():
        problems.add("is a directory", "give the name of a file")
    if module is None or problems:
        raise InputError([str(problem) for problem in problems.found])
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as stream:
            import_module(module).write_file(log, stream, target)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(target)
    except OSError as error:
        problems.add(
            f"cannot be written ({error.strerror or error})", "give a place that can be written to"
        )
        raise InputError([str(problem) for problem in problems.found]) from error
    finally:
        partial.unlink(missing_ok=True)


def _read(
    path: str | os.PathLike[str],
    columns: Columns | None,
    observation_space: Space[Any] | None,
    action_space: Space[Any] | None,
) -> tuple[Content | None, Problems]:
    mapping = read_columns(columns)
    problems = Problems(file=show_path(path))
    found = _find_source(path, problems)
    if found is None:
        return None, problems
    file, module = found
    source = import_module(module).open_file(file, problems, mapping)
    if source is None:
        return None, problems
    given = {"observation": observation_space, "action": action_space}
    spaces = {name: space for name, space in given.items() if space is not None}
    with closing(source):
        draft = draft_log(source, spaces, problems, mapping)
    return None if draft is None else assemble(draft, problems), problems


def _find_source(path: str | os.PathLike[str], problems: Problems) -> tuple[Path, str] | None:
    """Return where a log lies and the module that reads it, or None after reporting."""
    dataset = find_dataset(path, problems)
    if dataset is not None:
        return dataset, "nacre.log.minari_dataset"
    if problems:
        return None
    file = Path(path)
    if not _check_file(file, problems):
        return None
    module = _find_format(file, problems, _FORMATS | _READ_ONLY)
    return None if module is None else (file, module)


def _find_format(path: Path, problems: Problems, formats: dict[str, str]) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    module = formats.get("".join(suffixes[-2:])) or formats.get("".join(suffixes[-1:]))
    if module is None:
        problems.add(
            f"has the suffix {path.suffix!r}, which is not known",
            f"use one of {', '.join(formats)}",
        )
    return module


def _check_file(path: Path, problems: Problems) -> bool:
    try:
        if path.is_dir():
            problems.add("is a directory", "give the name of a file or of a Minari dataset")
        elif path.stat().st_size == 0:
            problems.add("is an empty file", "give a log with at least one transition")
    except FileNotFoundError:
        problems.add("is not there", "check the name")
    except (OSError, ValueError) as error:
        problems.add(f"cannot be read ({error})", "check the name and the permissions")
    return not problems
