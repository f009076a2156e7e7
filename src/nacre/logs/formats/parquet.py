"""Logs in Parquet, the native form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nacre.logs.checks.problems import Problems, show_reason
from nacre.logs.episodes import Log
from nacre.logs.schema.layout import lay_out
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import KEY, MARK, VERSION, encode_metadata, has_checksum
from nacre.logs.storage.stores import Store

if TYPE_CHECKING:
    from nacre.logs.formats.tables import TableSource

_BUFFER_BYTES = 2**20
_BATCH_ROWS = 2**14
_GROUP_ROWS = 2**17
# A file of a few rows with the same values again and again may be small, but not as small as this.
_MANY_ROWS = 10**7
_LARGEST_RATIO = 64


class Parquet:
    """Parquet, the native form."""

    suffixes = (".parquet",)
    native = True

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """Open a Parquet file; columns are read one by one when they are asked for."""
        return self._open(path, problems, columns, store)

    def open_compared(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> TableSource | None:
        """The same, without comparing single pages where the file has a checksum of them all."""
        return self._open(path, problems, columns, store, compared=True)

    def _open(
        self,
        path: Path,
        problems: Problems,
        columns: ColumnMap,
        store: Store,
        *,
        compared: bool = False,
    ) -> TableSource | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from nacre.logs.formats.cleaning import Cleaning
        from nacre.logs.formats.nested import is_nested
        from nacre.logs.formats.tables import TableSource

        try:
            footer = pq.read_metadata(path)
            file = pq.ParquetFile(
                path,
                metadata=footer,
                buffer_size=_BUFFER_BYTES,
                pre_buffer=False,
                page_checksum_verification=not (compared and has_checksum(footer.metadata)),
            )
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            problems.add(
                f"could not be read as Parquet ({show_reason(error)})",
                "write it anew or give another",
            )
            return None
        size = path.stat().st_size
        if n_rows > _MANY_ROWS and n_rows > _LARGEST_RATIO * size:
            problems.add(
                f"claims {n_rows} rows in {size} bytes", "write it anew, or only the rows there are"
            )
            return None

        if is_nested(schema):
            with file:
                return _read_nested(file, problems, columns, store)

        def fetch(name: str) -> Iterator[Any]:
            batches = file.iter_batches(_BATCH_ROWS, columns=[name], use_threads=False)
            return (batch.column(name) for batch in batches)

        source = TableSource(schema, n_rows, fetch, problems, store)
        source.cleaning = Cleaning.of(columns)
        source.close = file.close
        return source

    def estimate_bytes(self, path: Path) -> int:
        """Return about how much memory the arrays of a log would take, from the file's footer."""
        import pyarrow.parquet as pq

        footer = pq.read_metadata(path)
        groups = (footer.row_group(i) for i in range(footer.num_row_groups))
        return sum(
            4 * group.column(j).num_values for group in groups for j in range(group.num_columns)
        )

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a log as Parquet, vectors as lists of fixed size."""
        import pyarrow.parquet as pq

        from nacre.logs.formats.tables import build_schema, build_tables

        columns, metadata = lay_out(log), {KEY: encode_metadata(log), MARK: str(VERSION)}
        # Vectors hardly ever repeat: a dictionary of their numbers only takes time. Their bytes
        # are alike place by place, which makes files smaller, and LZ4 unpacks them fastest.
        plain = [name for name, values in columns.items() if values.ndim == 1]
        floats = [
            f"{name}.list.element"
            for name, values in columns.items()
            if values.ndim == 2 and values.dtype.kind == "f"
        ]
        options: dict[str, Any] = {
            "use_dictionary": plain,
            "use_byte_stream_split": floats,
            "compression": "lz4",
        }
        options["write_page_checksum"] = True
        with pq.ParquetWriter(stream, build_schema(columns, metadata), **options) as writer:
            for table in build_tables(columns, metadata, _GROUP_ROWS):
                writer.write_table(table, row_group_size=_GROUP_ROWS)


def _read_nested(
    file: Any, problems: Problems, columns: ColumnMap, store: Store
) -> TableSource | None:
    """The whole file, made flat in memory."""
    import pyarrow as pa

    from nacre.logs.formats.cleaning import Cleaning
    from nacre.logs.formats.tables import source_of_table

    try:
        source = source_of_table(file.read(), problems, store)
    except (pa.ArrowException, OSError, ValueError) as error:
        problems.add(f"could not be read ({show_reason(error)})", "write it anew or give another")
        return None
    source.cleaning = Cleaning.of(columns)
    return source


PARQUET = Parquet()
