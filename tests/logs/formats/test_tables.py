from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems
from nacre.logs.formats.tables import TableSource, build_schema, build_table, build_tables

COLUMNS: dict[str, NDArray[Any]] = {
    "mean": np.arange(10, dtype=np.float32).reshape(5, 2),
    "count": np.arange(5),
}


def make_source(table: pa.Table) -> tuple[TableSource, Problems]:
    problems = Problems()
    return (
        TableSource(table.schema, len(table), lambda n: table.column(n).chunks, problems),
        problems,
    )


def test_tables_in_parts_are_the_whole_table() -> None:
    metadata = {"nacre": "{}"}
    parts = list(build_tables(COLUMNS, metadata, 2))
    assert [len(part) for part in parts] == [2, 2, 1]
    whole = build_table(COLUMNS, metadata)
    assert pa.concat_tables(parts).equals(whole)
    assert build_schema(COLUMNS, metadata).equals(whole.schema, check_metadata=True)
    assert whole.schema.field("mean").type.list_size == 2


def test_a_source_gives_back_what_a_table_was_built_from() -> None:
    source, problems = make_source(build_table(COLUMNS, None))
    assert source.names == ["mean", "count"]
    for name, values in COLUMNS.items():
        assert source.is_numeric(name)
        np.testing.assert_array_equal(source.load(name), values)
    assert not problems


def test_texts_are_numbered_with_or_without_labels() -> None:
    table = pa.table({"phase": pa.array(["red", "green", "red"]).dictionary_encode()})
    source, problems = make_source(table)
    assert not source.is_numeric("phase")
    categories = source.load_categories("phase")
    assert categories is not None
    assert categories.values == ("red", "green")
    np.testing.assert_array_equal(categories.codes, [0, 1, 0])
    assert not problems
    assert source.load("phase") is None
