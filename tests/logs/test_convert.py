from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import read_log, write_log
from nacre.logs.convert import convert_log
from tests.support.logs import SUFFIXES, assert_same, make_log, write_csv

TEXT = "ride,north,south,phase,pay,over\n0,1,2,red,1,0\n0,3,4,green,1,1\n"
ASSIGNMENTS = [
    "episode=ride",
    "observation=north,south",
    "action=phase",
    "reward=pay",
    "terminated=over",
    "labels.action=red,green",
]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_form_becomes_any_other(tmp_path: Path, suffix: str) -> None:
    log = make_log((5, 3), further=True)
    write_log(log, tmp_path / "log.npz")
    done = convert_log(tmp_path / "log.npz", tmp_path / f"new{suffix}")
    assert_same(done.log, log)
    assert_same(read_log(tmp_path / f"new{suffix}"), log)


def test_flags_of_a_command_line_and_what_is_told(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", TEXT)
    done = convert_log(path, tmp_path / "log.parquet", assignments=ASSIGNMENTS)
    document = json.loads(json.dumps(done.as_json()))
    assert document["columns"]["observation"] == ["north", "south"]
    assert document["labels"] == {"action": ["red", "green"]}
    assert document["transitions"] == 2
    assert document["sha256"] == read_log(tmp_path / "log.parquet").fingerprint()
    assert str(done).startswith(f"{path} → {tmp_path / 'log.parquet'}\nLog of 2 transitions")
    assert all(f"  note         {note}" in str(done) for note in done.notes)
    assert any("assumed a Box without bounds" in note for note in done.notes)


def test_hdf5_through_a_cache(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        file["observations"] = np.zeros((4, 2))
        file["actions"] = np.zeros((4, 1))
        file["rewards"] = np.ones(4)
        file["terminals"] = np.array([False, True, False, True])
    done = convert_log(
        tmp_path / "log.hdf5", tmp_path / "log.parquet", cache_dir=tmp_path / "cache"
    )
    assert_same(read_log(tmp_path / "log.parquet"), done.log)


def test_nothing_is_written_of_what_is_wrong(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", TEXT.replace("green", "blue"))
    with pytest.raises(InputError, match="is none of the labels 'red', 'green', found 'blue'"):
        convert_log(path, tmp_path / "log.parquet", assignments=ASSIGNMENTS)
    assert not (tmp_path / "log.parquet").exists()
