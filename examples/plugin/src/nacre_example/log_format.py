"""A log format from outside nacre: JSON lines, one object a transition.

    {"nacre": {"observation_space": …, "action_space": …, "provenance": …}}
    {"episode": 0, "observation": [0.1, 2.0], "action": 1, "reward": 0.5, …}

The first line is optional: files of other programs are read without it. This entry point in
`pyproject.toml` registers the format:

    [project.entry-points."nacre.log_formats"]
    jsonl = "nacre_example.log_format:JSON_LINES"
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from nacre.logs import ColumnMap, Log
from nacre.logs.checks.problems import Problems, show
from nacre.logs.formats.array_sources import ArraySource
from nacre.logs.schema.draft import as_arrays
from nacre.logs.schema.layout import lay_out
from nacre.logs.schema.metadata import KEY, Metadata, decode_metadata, encode_metadata
from nacre.logs.storage.stores import Store, blocks


class JsonLines:
    """JSON lines: vectors are lists, flags are true and false. Read and written."""

    suffixes = (".jsonl", ".ndjson")

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> ArraySource | None:
        """Read all lines; the checks name rows by their lines."""
        lines, rows = _parse_lines(path, problems)
        metadata = Metadata()
        if rows and rows[0].keys() == {KEY}:
            metadata = decode_metadata(json.dumps(rows[0][KEY]), problems)
            lines, rows = lines[1:], rows[1:]
        if not problems:
            _check_keys(lines, rows, problems)
        if problems:
            return None
        problems.lines = lambda: np.asarray(lines, dtype=np.int64)
        names = list(rows[0]) if rows else []
        arrays = as_arrays({name: [row[name] for row in rows] for name in names}, problems)
        return ArraySource(arrays, problems, metadata)

    def estimate_bytes(self, path: Path) -> int:
        """Return the size of the file: a number takes more room as text than as float32."""
        return path.stat().st_size

    def write(self, log: Log, stream: IO[bytes], path: Path) -> None:
        """Write a log, a few megabytes at a time: it may be larger than memory."""
        columns = lay_out(log)
        # Types such as int16 are lost in JSON: the metadata keeps those of further columns.
        metadata = json.loads(encode_metadata(log, log.columns))
        stream.write(_encode_line({KEY: metadata}))
        for block in blocks(*columns.values()):
            parts = [values[block].tolist() for values in columns.values()]
            for row in zip(*parts, strict=True):
                stream.write(_encode_line(dict(zip(columns, row, strict=True))))


def _encode_line(document: dict[str, Any]) -> bytes:
    return (json.dumps(document) + "\n").encode()


def _parse_lines(path: Path, problems: Problems) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the number and the object of every line that is not blank."""
    rows: dict[int, dict[str, Any]] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                row = str(error)
            if isinstance(row, dict):
                rows[number] = row
            elif row is not None:
                problems.add(
                    f"line {number} is no JSON object, found {show(row)}",
                    "write one JSON object a line",
                )
                break
    return list(rows), list(rows.values())


def _check_keys(lines: list[int], rows: list[dict[str, Any]], problems: Problems) -> None:
    for line, row in zip(lines, rows, strict=True):
        if row.keys() != rows[0].keys():
            different = sorted(row.keys() ^ rows[0].keys())[0]
            problems.add(
                f"line {line} differs from line {lines[0]} in the key {show(different)}",
                "give every line the same keys",
            )
            return


JSON_LINES = JsonLines()
