from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from nacre.errors import InputError
from nacre.files.manifest import digest_json
from nacre.logs import Log, read_log, validate_log, write_log
from nacre.logs.formats import parquet as parquet_file
from tests.support.logs import assert_same, make_log, plain_columns, write_parquet


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    write_log(make_log(further=True), tmp_path / "log.parquet")
    schema = pq.read_schema(tmp_path / "log.parquet")
    assert schema.names[:7] == [
        "episode",
        "observation",
        "action",
        "reward",
        "next_observation",
        "terminated",
        "truncated",
    ]
    element = pa.field("element", pa.float32(), nullable=False)
    assert schema.field("observation").type == pa.list_(element, 2)
    assert schema.field("terminated").type == pa.bool_()
    document = json.loads(schema.metadata[b"nacre"])
    assert document["observation_space"] == {
        "type": "box",
        "low": ["-inf", "-inf"],
        "high": ["inf", "inf"],
    }
    assert document["provenance"] == {"world": "a test", "seed": 0}


def test_many_batches_and_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1000
    path = tmp_path / "log.parquet"
    log = Log.from_arrays(
        np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 7, np.arange(n), np.ones(n, bool)
    )
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(parquet_file, "_GROUP_ROWS", 300)
    monkeypatch.setattr(parquet_file, "_BATCH_ROWS", 128)
    write_log(log, path)
    assert pq.ParquetFile(path).num_row_groups == 4
    assert_same(read_log(path), log)


def test_ragged_rows_are_found_across_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(parquet_file, "_BATCH_ROWS", 1)
    vectors = [[0.0, 1.0], [1.0, 1.0], [1.0], [1.0, 1.0]]
    problems = validate_log(write_parquet(tmp_path / "log.parquet", observation=vectors))
    assert [p.row for p in problems] == [2]


def test_names_with_dots_and_common_beginnings(tmp_path: Path) -> None:
    further = {"a": [1] * 4, "a.b": [2] * 4, "a.b.c": [3] * 4}
    log = read_log(write_parquet(tmp_path / "log.parquet", **further))
    assert {name: int(values[0]) for name, values in log.columns.items()} == {
        "a": 1,
        "a.b": 2,
        "a.b.c": 3,
    }


def test_metadata_that_is_wrong(tmp_path: Path) -> None:
    table = pa.table(plain_columns())
    for text, what in (
        (b"\xff", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "is [], not an object"),
        (b'{"provenance": 3}', "has the provenance 3"),
        (b'{"columns": 3}', "has for 'columns' the form 3"),
        (b'{"columns": {"x": {"dtype": "object"}}}', "has for 'x' the form"),
        (b'{"columns": {"x": {"dtype": "bool", "width": -1}}}', "has for 'x' the form"),
        (b'{"observation_space": {"type": "cube"}}', "has the observation space type 'cube'"),
    ):
        path = tmp_path / "log.parquet"
        pq.write_table(table.replace_schema_metadata({b"nacre": text}), path)
        (problem,) = map(str, validate_log(path))
        assert what in problem
        assert "mend it, or remove it from the file" in problem


def test_metadata_may_be_partial(tmp_path: Path) -> None:
    table = pa.table(plain_columns()).replace_schema_metadata({b"nacre": b"{}"})
    pq.write_table(table, tmp_path / "log.parquet")
    expected = read_log(write_parquet(tmp_path / "plain.parquet"))
    assert_same(read_log(tmp_path / "log.parquet"), expected)


def test_damaged_pages_are_reported_by_column(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table = pa.table(plain_columns())
    pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    meta = pq.ParquetFile(path).metadata.row_group(0)
    column = next(
        meta.column(i) for i in range(meta.num_columns) if meta.column(i).path_in_schema == "reward"
    )
    start = column.data_page_offset
    data[start : start + 12] = b"\xff" * 12
    path.write_bytes(bytes(data))
    assert "column 'reward': cannot be read" in "\n".join(map(str, validate_log(path)))


def replace_rewards(path: Path, **metadata: str) -> None:
    """Another log under the metadata of the one that was written, which may be older ones."""
    table = pq.read_table(path)
    document = json.loads(table.schema.metadata[b"nacre"])
    told = dict(table.schema.metadata)
    if metadata:
        document = {key: document[key] for key in document if key not in ("crc32", "check")}
        document |= metadata
        told[b"nacre"] = json.dumps({**document, "check": digest_json(document)}).encode()
    rewards = pc.add(table["reward"], pa.scalar(1.0, pa.float32()))
    changed = table.set_column(table.schema.get_field_index("reward"), "reward", rewards)
    pq.write_table(changed.replace_schema_metadata(told), path)


def test_another_log_than_was_written_is_noticed(tmp_path: Path) -> None:
    path, log = tmp_path / "log.parquet", make_log(further=True)
    write_log(log, path)
    replace_rewards(path)
    with pytest.raises(InputError, match="is damaged: its digest does not fit; restore it"):
        read_log(path)
    # Files of earlier versions have a fingerprint in the place of the checksum.
    write_log(log, path)
    replace_rewards(path, sha256=log.fingerprint())
    with pytest.raises(InputError, match="is damaged: its digest does not fit; restore it"):
        read_log(path)
    # Whoever names columns asks for another log.
    assert read_log(path, columns={"reward": "reward"}).rewards[0] == log.rewards[0] + 1.0


def damage(path: Path, number: int) -> str:
    """Flip a bit in the last page of a column; return the column."""
    page, data = pq.ParquetFile(path).metadata.row_group(0).column(number), path.read_bytes()
    begin = page.dictionary_page_offset or page.data_page_offset
    place = begin + page.total_compressed_size - 1
    path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
    return str(page.path_in_schema)


@pytest.mark.parametrize("columns", [None, {"reward": "reward"}])
def test_every_damaged_page_is_noticed(tmp_path: Path, columns: dict[str, str] | None) -> None:
    path = tmp_path / "log.parquet"
    write_log(make_log(further=True), path)
    whole = path.read_bytes()
    for number in range(pq.ParquetFile(path).metadata.num_columns):
        path.write_bytes(whole)
        column = damage(path, number)
        assert validate_log(path, columns=columns), column


def test_files_of_a_folder_are_compared_page_by_page(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_log(make_log(further=True), tmp_path / f"{name}.parquet")
    assert not validate_log(tmp_path)
    damage(tmp_path / "b.parquet", 3)
    assert "cannot be read" in str(validate_log(tmp_path)[0])
