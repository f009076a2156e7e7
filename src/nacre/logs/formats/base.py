"""What a file format of logs has to be able to do.

A new format is one file with an object that implements `LogFormat`, and one line that registers
it: in `nacre.logs.formats.registry`, or from another package as an entry point of the group
`nacre.log_formats`. From then on `read_log`, `validate_log`, `convert_log` and, if it can be
written, `write_log` know it by its suffixes.

The module of a format is imported to ask for its suffixes. It imports large libraries only in the
functions that need them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from nacre.logs.checks.problems import Problems
from nacre.logs.episodes import Log
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.source import Source
from nacre.logs.storage.stores import Store


class LogFormat(Protocol):
    """Reads logs of one format. One without `write` (`WritableLogFormat`) is read-only."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How names of such files end, in small letters with the dot, the usual one first."""
        ...

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> Source | None:
        """Open a log: the names of its columns at once, their values when they are asked for.

        What the columns mean, whether the log is complete and whether it contradicts itself is
        found out afterwards and is the same for all formats.

        Args:
            path: An existing file that is not empty, or what `locate` returned.
            problems: Receives what is wrong with the file.
            columns: Which column holds what, for formats that have to guess types.
            store: Where large arrays go: in memory, or mapped from files.

        Returns:
            The columns, or None after reporting why there are none.
        """
        ...

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log take, before they are read.

        It may raise anything: the size then counts as 0, and `open` says what is wrong.
        """
        ...


@runtime_checkable
class WritableLogFormat(LogFormat, Protocol):
    """Reads and writes logs of one format."""

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a whole log.

        Args:
            log: What to write; `nacre.logs.schema.layout.lay_out` gives its columns.
            stream: Where to write; it stays open. The file gets its name when it is complete.
            path: The name that it will have, for formats with several suffixes.

        Raises:
            InputError: If the format cannot hold something of this log.
        """
        ...


@runtime_checkable
class DatasetFormat(LogFormat, Protocol):
    """Reads logs that are no single file: directories, or identifiers with a prefix."""

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return where the files of a log lie.

        Args:
            name: What the caller gave; not the name of a file.
            problems: Receives what is wrong with a name that is meant for this format.

        Returns:
            The place, for `open`. None if the name is not one of this format, or after reporting.
        """
        ...
