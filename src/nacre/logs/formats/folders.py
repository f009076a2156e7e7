"""Folders of Parquet or Arrow files: datasets of Hugging Face, LeRobot's episodes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource

_BESIDE = ("meta", "videos", "images")
"""Folders of LeRobot that hold no transitions."""


class Folder:
    """A folder with Parquet files, or with the Arrow files of `save_to_disk`. Read-only."""

    suffixes: tuple[str, ...] = ()
    native = True

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return the folder if it holds such files."""
        path = Path(name)
        try:
            return path if path.is_dir() and _list_files(path) else None
        except (OSError, ValueError):
            return None

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Open all files of the folder, in the order of their names, as one table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from nacre.logs.formats.cleaning import Cleaning
        from nacre.logs.formats.tables import source_of_table

        tables = []
        for file in _list_files(path):
            try:
                if file.suffix == ".parquet":
                    tables.append(pq.read_table(file, page_checksum_verification=True))
                else:
                    tables.append(pa.ipc.open_stream(pa.memory_map(str(file))).read_all())
                    tables[-1].validate(full=True)
            except (pa.ArrowException, OSError, ValueError) as error:
                problems.add(
                    f"{file.name} could not be read ({show_reason(error)})",
                    "download the dataset anew, or take the file out of the folder",
                )
        if problems:
            return None
        try:
            table = pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            problems.add(
                f"its files have different columns ({show_reason(error)})",
                "give a folder of one dataset, or one split of it",
            )
            return None
        source = source_of_table(table, problems, store)
        source.cleaning = Cleaning.of(columns)
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return the size of the files, twice: most are compressed."""
        return 2 * sum(file.stat().st_size for file in _list_files(path))


def _list_files(path: Path) -> list[Path]:
    """Data files by name, of the split for training if there are several."""
    found = sorted(
        file
        for ending in ("*.parquet", "*.arrow")
        for file in path.rglob(ending)
        if not set(file.relative_to(path).parts[:-1]) & set(_BESIDE)
    )
    training = [file for file in found if file.name.startswith("train-")]
    return training or found


FOLDER = Folder()
