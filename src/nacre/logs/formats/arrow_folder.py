"""Folders of Arrow files, as Hugging Face's `save_to_disk` writes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.formats.parquet_folder import list_parts
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource

_ENDING = "*.arrow"


class ArrowFolder:
    """The Arrow files of a folder, in the order of their names. Read-only."""

    suffixes: tuple[str, ...] = ()
    native = True

    def locate(self, name: str | os.PathLike[str], problems: Problems) -> Path | None:
        """Return the folder if it holds such files."""
        path = Path(name)
        try:
            return path if path.is_dir() and list_parts(path, _ENDING) else None
        except (OSError, ValueError):
            return None

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Open all files of the folder as one table."""
        import pyarrow as pa

        from nacre.logs.formats.cleaning import Cleaning
        from nacre.logs.formats.tables import source_of_table

        tables = []
        for file in list_parts(path, _ENDING):
            try:
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
        if not source.whole_episodes:
            source.file_rows = tuple(one.num_rows for one in tables)
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return the size of the files."""
        return sum(file.stat().st_size for file in list_parts(path, _ENDING))


ARROW_FOLDER = ArrowFolder()
