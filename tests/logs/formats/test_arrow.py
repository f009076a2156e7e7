from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nacre.errors import InputError
from nacre.logs import read_log, write_log
from nacre.logs.formats import arrow as arrow_file
from nacre.logs.schema.layout import lay_out
from tests.support.logs import assert_same, make_log, plain_columns, write_parquet


def test_the_file_holds_the_columns_of_the_log(tmp_path: Path) -> None:
    log = make_log(further=True)
    write_log(log, tmp_path / "log.feather")
    table = pa.ipc.open_file(tmp_path / "log.feather").read_all()
    columns = lay_out(log)
    assert table.column_names == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(np.array(table[name].to_pylist()), values, err_msg=name)


def test_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_file, "_BATCH_ROWS", 3)
    log = make_log((5, 3, 2), further=True)
    write_log(log, tmp_path / "log.arrow")
    assert pa.ipc.open_file(tmp_path / "log.arrow").num_record_batches == 4
    assert_same(read_log(tmp_path / "log.arrow"), log)


def test_streams_of_arrow_are_read_and_others_refused(tmp_path: Path) -> None:
    table = pa.table(plain_columns())
    with pa.ipc.new_stream(tmp_path / "log.arrow", table.schema) as writer:
        writer.write_table(table)
    own = read_log(write_parquet(tmp_path / "log.parquet"))
    assert read_log(tmp_path / "log.arrow").fingerprint() == own.fingerprint()
    (tmp_path / "log.feather").write_bytes(b"no arrow at all")
    with pytest.raises(InputError, match="could not be read as Arrow"):
        read_log(tmp_path / "log.feather")
