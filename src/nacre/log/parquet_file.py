"""Logs in Parquet, the native form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from nacre.log.episodes import Log
from nacre.log.layout import lay_out
from nacre.log.mapping import ColumnMap
from nacre.log.metadata import KEY, decode_metadata, encode_metadata
from nacre.log.problems import Problems, show
from nacre.log.tables import TableSource, build_table

_BUFFER_BYTES = 2**20
_BATCH_ROWS = 2**16
_GROUP_ROWS = 2**18


def open_file(path: Path, problems: Problems, columns: ColumnMap) -> TableSource | None:
    """Open a Parquet file; columns are read one by one when they are asked for."""
    try:
        file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        schema = file.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        problems.add(
            f"is no readable Parquet file ({show(str(error))})", "write it anew or give another"
        )
        return None

    def fetch(name: str) -> Iterator[Any]:
        for batch in file.iter_batches(_BATCH_ROWS, columns=[name]):
            yield batch.column(name)

    text = (schema.metadata or {}).get(KEY.encode())
    return TableSource(schema, decode_metadata(text, problems), fetch, problems, file.close)


def write_file(log: Log, stream: IO[bytes]) -> None:
    """Write a log as Parquet, vectors as lists of fixed size."""
    table = build_table(lay_out(log), {KEY: encode_metadata(log)})
    pq.write_table(table, stream, row_group_size=_GROUP_ROWS, compression="zstd")
