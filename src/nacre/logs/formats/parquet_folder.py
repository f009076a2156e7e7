"""Folders of Parquet files: parts of one log."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.logs.checks.problems import Problems, show_path
from nacre.logs.formats.parquet import PARQUET
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource


BESIDE = ("meta", "videos", "images")
"""Folders of LeRobot that hold no transitions."""


def list_parts(folder: Path, ending: str = "*.parquet") -> list[Path]:
    """The files of a folder and of folders in it, by name; hidden ones are left out.

    Of Hugging Face's datasets those for training, where some are called so.
    """
    found = []
    for path in sorted(folder.rglob(ending)):
        parts = path.relative_to(folder).parts
        if not any(part.startswith((".", "_")) for part in parts) and not {*parts} & {*BESIDE}:
            found.append(path)
    return [path for path in found if path.name.startswith("train-")] or found


class ParquetFolder:
    """Parquet files in a folder, in the order of their names."""

    suffixes: tuple[str, ...] = ()
    native = True

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return the folder, or None if there are no Parquet files in it."""
        path = Path(name)
        try:
            return path if path.is_dir() and list_parts(path) else None
        except OSError:
            return None

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Open all files; columns are read one by one, file after file."""
        from nacre.logs.formats.tables import TableSource

        parts: list[TableSource] = []
        for file in list_parts(path):
            own = Problems(show_path(file))
            part = PARQUET.open(file, own, columns, store)
            problems.found += own.found
            if part is None:
                return None
            parts.append(part)
        first = parts[0]
        for file, part in zip(list_parts(path), parts, strict=True):
            if part.schema.types != first.schema.types or part.names != first.names:
                problems.add(
                    f"{file.name} has other columns than {list_parts(path)[0].name}",
                    "give files with the same columns, in the same order and of the same types",
                )
                return None

        def fetch(name: str) -> Iterator[Any]:
            return (chunk for part in parts for chunk in part.fetch(name))

        rows = sum(part.n_rows for part in parts)
        whole = TableSource(first.schema, rows, fetch, problems, store)
        whole.cleaning, whole.notes = first.cleaning, first.notes
        whole.file_rows = tuple(part.n_rows for part in parts)
        whole.whole_episodes = any(part.whole_episodes for part in parts)
        if len(parts) > 1:
            # Each file has the checksum of its own rows.
            whole.metadata = dataclasses.replace(whole.metadata, checksum="", sha256="")

        def close() -> None:
            for part in parts:
                part.close()

        whole.close = close
        return whole

    def estimate_bytes(self, path: Path) -> int:
        """Return the sum over all files."""
        return sum(PARQUET.estimate_bytes(file) for file in list_parts(path))


PARQUET_FOLDER = ParquetFolder()
