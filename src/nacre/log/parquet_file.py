"""Logs in Parquet, the native form."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from nacre.log.episodes import Log
from nacre.log.layout import lay_out
from nacre.log.mapping import ColumnMap
from nacre.log.metadata import KEY, encode_metadata
from nacre.log.problems import Problems, show
from nacre.log.stores import MEMORY, Store
from nacre.log.tables import TableSource, build_table, build_tables

_BUFFER_BYTES = 2**20
_BATCH_ROWS = 2**16
_GROUP_ROWS = 2**17
_GROUP_BYTES = 2**27
_N_THREADS = 2
# A file of a few rows with the same values again and again may be small, but not as small as this.
_MANY_ROWS = 10**7
_LARGEST_RATIO = 64


def open_file(
    path: Path, problems: Problems, columns: ColumnMap, store: Store = MEMORY
) -> TableSource | None:
    """Open a Parquet file; columns are read one by one when they are asked for."""
    try:
        file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        problems.add(
            f"is no readable Parquet file ({show(str(error))})", "write it anew or give another"
        )
        return None
    size = path.stat().st_size
    if n_rows > _MANY_ROWS and n_rows > _LARGEST_RATIO * size:
        problems.add(
            f"claims {n_rows} rows in {size} bytes", "write it anew, or only the rows there are"
        )
        return None

    def fetch(name: str) -> Iterator[Any]:
        if _has_small_groups(file):
            yield from _decode_ahead(path, file, name)
            return
        for batch in file.iter_batches(_BATCH_ROWS, columns=[name], use_threads=False):
            yield batch.column(name)

    source = TableSource(schema, n_rows, fetch, problems, store)
    source.close = file.close
    return source


def _has_small_groups(file: Any) -> bool:
    """Return whether several row groups can be in memory at once."""
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    return all(g.num_rows <= _GROUP_ROWS and g.total_byte_size <= _GROUP_BYTES for g in groups)


def _decode_ahead(path: Path, file: Any, name: str) -> Iterator[Any]:
    """Yield the chunks of a column; threads decode the next row groups while one is copied."""
    readers = threading.local()

    def decode(group: int) -> Any:
        # A reader is not made for several threads.
        if not hasattr(readers, "file"):
            readers.file = pq.ParquetFile(
                path, metadata=file.metadata, buffer_size=_BUFFER_BYTES, pre_buffer=False
            )
        return readers.file.read_row_group(group, columns=[name], use_threads=False).column(name)

    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(_N_THREADS, "parquet") as threads:
        for group in range(file.metadata.num_row_groups):
            waiting.append(threads.submit(decode, group))
            if len(waiting) > _N_THREADS:
                yield from waiting.popleft().result().chunks
        while waiting:
            yield from waiting.popleft().result().chunks


def estimate_bytes(path: Path) -> int:
    """Return about how much memory the arrays of a log would take, from the file's footer."""
    footer = pq.read_metadata(path)
    groups = (footer.row_group(i) for i in range(footer.num_row_groups))
    return sum(4 * group.column(j).num_values for group in groups for j in range(group.num_columns))


def write_file(log: Log, stream: IO[bytes], path: Path) -> None:
    """Write a log as Parquet, vectors as lists of fixed size."""
    columns, metadata = lay_out(log), {KEY: encode_metadata(log)}
    schema = build_table({name: values[:1] for name, values in columns.items()}, metadata).schema
    # Vectors hardly ever repeat: a dictionary of their numbers only takes time. Their bytes are
    # alike place by place, which makes files smaller, and LZ4 unpacks them fastest.
    plain = [name for name, values in columns.items() if values.ndim == 1]
    floats = [
        f"{name}.list.element"
        for name, values in columns.items()
        if values.ndim == 2 and values.dtype.kind == "f"
    ]
    options = {"use_dictionary": plain, "use_byte_stream_split": floats, "compression": "lz4"}
    with pq.ParquetWriter(stream, schema, **options) as writer:
        for table in build_tables(columns, metadata, _GROUP_ROWS):
            writer.write_table(table, row_group_size=_GROUP_ROWS)
