"""Logs from any form into one of ours: what `nacre convert` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space

from nacre.errors import check_arguments
from nacre.logs.checks.problems import show_path
from nacre.logs.episodes import Log
from nacre.logs.files import read_log, write_log
from nacre.logs.schema.mapping import Columns, read_columns


@dataclass(frozen=True)
class Conversion:
    """A log that was read from one place and written to another.

    Attributes:
        source: Where it came from, as it was given.
        target: Where it went.
        log: What was read.
    """

    source: str
    target: str
    log: Log

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised, assumed and left out."""
        notes = self.log.provenance.get("notes", [])
        return tuple(str(note) for note in (notes if isinstance(notes, list) else [notes]))

    def as_json(self) -> dict[str, Any]:
        """The conversion as a JSON document."""
        return {
            "source": self.source,
            "target": self.target,
            **self.log.identify(),
            "columns": self.log.provenance.get("columns", {}),
            "labels": self.log.provenance.get("labels", {}),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"{show_path(self.source)} → {show_path(self.target)}", repr(self.log)]
        return "\n".join([*lines, *(f"  note         {note}" for note in self.notes)])


@check_arguments
def convert_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    assignments: Sequence[str] = (),
    observation_space: Space[Any] | None = None,
    action_space: Space[Any] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
) -> Conversion:
    """Read a log in any form, check it, and write it in the form of the target's suffix.

    Args:
        source: What `read_log` reads: a file, a Minari dataset or its identifier.
        target: A file of a format that can be written: `.parquet`, `.csv`, `.csv.gz`, `.csv.zst`,
            `.arrow`, `.feather`, `.npz`, or one that another package registers.
        columns: Which column holds what, as in `read_log`.
        assignments: Further entries of the map as on a command line, such as `action=phase`.
        observation_space: Counts more than what the source says.
        action_space: Likewise.
        cache_dir: Where to keep mapped arrays of logs larger than memory.
        memory_limit: Bytes that the arrays may take in memory.

    Raises:
        InputError: With every problem found. Nothing is written then.
    """
    log = read_log(
        source,
        columns=read_columns(columns, assignments),
        observation_space=observation_space,
        action_space=action_space,
        cache_dir=cache_dir,
        memory_limit=memory_limit,
    )
    write_log(log, target)
    return Conversion(os.fspath(source), os.fspath(target), log)
