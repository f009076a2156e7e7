"""Logs in Arrow's own file format, also called Feather."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.episodes import Log
from nacre.logs.schema.layout import lay_out
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import KEY, MARK, VERSION, encode_metadata
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource

_BATCH_ROWS = 2**16
_MAGIC = b"ARROW1"


class Arrow:
    """Arrow's file format, and streams of Arrow that were written to files."""

    suffixes = (".arrow", ".feather")
    native = True

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Open an Arrow file, or a stream that was written to one; it is mapped, not copied."""
        import pyarrow as pa

        from nacre.logs.formats.cleaning import Cleaning
        from nacre.logs.formats.tables import TableSource

        try:
            mapped = pa.memory_map(str(path))
            schema, batches = _read_batches(mapped)
            # A name that is no text raises here.
            list(schema.names)
            for batch in batches:
                # Lengths that lie would be followed beyond the end of the file.
                batch.validate(full=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            problems.add(
                f"could not be read as Arrow ({show_reason(error)})",
                "write it with pyarrow.feather.write_feather",
            )
            return None

        def fetch(name: str) -> Iterator[Any]:
            index = schema.names.index(name)
            return (batch.column(index) for batch in batches)

        n_rows = sum(batch.num_rows for batch in batches)
        source = TableSource(schema, n_rows, fetch, problems, store)
        source.cleaning = Cleaning.of(columns)
        source.close = mapped.close
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return the size of the file: its arrays are kept as they are in memory."""
        return path.stat().st_size

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a log as an Arrow file, vectors as lists of fixed size."""
        import pyarrow as pa

        from nacre.logs.formats.tables import build_schema, build_tables

        columns, metadata = lay_out(log), {KEY: encode_metadata(log), MARK: str(VERSION)}
        with pa.ipc.new_file(stream, build_schema(columns, metadata)) as writer:
            for table in build_tables(columns, metadata, _BATCH_ROWS):
                writer.write_table(table)


def _read_batches(mapped: Any) -> tuple[Any, list[Any]]:
    import pyarrow as pa

    if mapped.read(len(_MAGIC)) != _MAGIC:
        mapped.seek(0)
        stream = pa.ipc.open_stream(mapped)
        return stream.schema, list(stream)
    reader = pa.ipc.open_file(mapped)
    return reader.schema, [reader.get_batch(i) for i in range(reader.num_record_batches)]


ARROW = Arrow()
