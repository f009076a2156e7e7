from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from nacre.logs.formats.csv_rows import Layout, Rows, read_rows
from nacre.logs.storage.stores import MEMORY, MappedStore, Store
from tests.support.logs import write_csv

NAMES = ("a", "b", "c")


def values_of(rows: Rows, name: str) -> list[object]:
    return [value for chunk in rows.fetch(name) for value in chunk.to_pylist()]


@pytest.fixture(params=["memory", "mapped"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Both ways of keeping rows give the same ones."""
    (tmp_path / "store").mkdir()
    return MEMORY if request.param == "memory" else MappedStore(tmp_path / "store")


def test_types_are_guessed_unless_they_are_given(tmp_path: Path, store: Store) -> None:
    path = write_csv(tmp_path / "log.csv", "# comment\na,b,c\n1,2,x\n3,,y\n")
    rows = read_rows(path, Layout(NAMES, 1, {"a": pa.float32()}), store)
    assert (rows.n_rows, rows.ragged) == (2, ())
    assert [str(kind) for kind in rows.schema.types] == ["float", "int64", "string"]
    assert values_of(rows, "a") == [1.0, 3.0]
    assert values_of(rows, "b") == [2, None]
    assert values_of(rows, "c") == ["x", "y"]


def test_ragged_rows_are_left_out_and_counted(tmp_path: Path, store: Store) -> None:
    path = write_csv(tmp_path / "log.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n1,2,3,4\n")
    rows = read_rows(path, Layout(NAMES, 0), store)
    assert rows.ragged == ((1, 2), (3, 4))
    assert values_of(rows, "c") == [3, 8]


def test_a_text_among_given_numbers_leaves_its_column_as_text(tmp_path: Path, store: Store) -> None:
    path = write_csv(tmp_path / "log.csv", "a,b,c\n1,2,true\nmuch,3,false\n")
    rows = read_rows(path, Layout(NAMES, 0, {"a": pa.float32()}), store)
    assert values_of(rows, "a") == ["1", "much"]
    assert values_of(rows, "b") == [2, 3]
    assert values_of(rows, "c") == [True, False]
