"""A column map to edit, drafted from a file: what `nacre draft-map` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.isolation import run_isolated
from nacre.logs.checks.problems import Problems, show_path
from nacre.logs.drafting.facts import Facts, open_facts
from nacre.logs.drafting.map_writer import MapWriter
from nacre.logs.drafting.roles import guess_roles
from nacre.logs.files import find_log
from nacre.logs.formats.compression import open_binary
from nacre.logs.formats.csv_style import guess_encoding
from nacre.logs.formats.parquet_folder import list_parts
from nacre.logs.reading import Reading
from nacre.logs.schema.mapping import ColumnMap, read_columns
from nacre.logs.storage.stores import MEMORY


@dataclass
class MapDraft:
    """A column map that a person should read and correct.

    Attributes:
        text: The TOML file, with comments.
        open: Parts that the user has to name, with the columns that might be meant.
    """

    text: str
    open: dict[str, tuple[str, ...]]


def draft_map(path: str | os.PathLike[str], assignments: Sequence[str] = ()) -> MapDraft:
    """Look at a file and write down what its columns may mean.

    Args:
        path: A table in a file of any form that can be read.
        assignments: What is known already, such as `action=offer`.

    Raises:
        InputError: If the file cannot be read as a table.
    """
    problems = Problems(file=show_path(path))
    given = read_columns(None, assignments)
    place = find_log(path, problems)
    if place is None:
        raise problems.as_error()
    reading = Reading(*place, given, {})
    if not reading.is_isolated:
        return _draft(reading, problems)
    try:
        name = f"{__name__}:draft_apart"
        answer = run_isolated(name, reading.size, reading=reading, file=problems.file)
    except InputError as error:
        raise InputError([f"{problems.file}: {problem}" for problem in error.problems]) from None
    if "problems" in answer:
        raise InputError(list(answer["problems"]))
    return MapDraft(answer["text"], {p: tuple(names) for p, names in answer["open"].items()})


def draft_apart(reading: Reading, file: str) -> dict[str, Any]:
    """In the process that opens files of native libraries: the draft as plain data."""
    try:
        draft = _draft(reading, Problems(file=file))
    except InputError as error:
        return {"problems": list(error.problems)}
    return {"text": draft.text, "open": {part: list(names) for part, names in draft.open.items()}}


def _draft(reading: Reading, problems: Problems) -> MapDraft:
    facts, given = _look(reading, problems)
    roles = guess_roles(facts, given)
    return MapDraft(MapWriter(facts, roles, given).write(str(problems.file)), dict(roles.open))


def _read_lines(files: Sequence[Path]) -> Iterator[bytes]:
    for file in files:
        with open_binary(file) as stream:
            yield from stream


def _look(reading: Reading, problems: Problems) -> tuple[dict[str, Facts], ColumnMap]:
    """What the columns hold; in the likely encoding where it is no UTF-8 and none was given."""
    file, form, given = reading.file, reading.form, reading.columns
    source = form.open(file, problems, given, MEMORY)
    if source is None and "is not UTF" in str(problems.found[0]) and given.text_encoding is None:
        parts = [file] if file.is_file() else list_parts(file, "*.csv*")
        given = replace(given, text_encoding=guess_encoding(_read_lines(parts)))
        problems.found.clear()
        source = form.open(file, problems, given, MEMORY)
    if source is None:
        raise problems.as_error()
    with closing(source):
        return open_facts(source), given
