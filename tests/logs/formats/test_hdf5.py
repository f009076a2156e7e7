from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import read_log, validate_log, write_log
from nacre.logs.formats import hdf5 as hdf5_module
from nacre.logs.storage import stores as stores_module

N = 12


def arrays(**changes: Any) -> dict[str, Any]:
    """Three episodes of four rows: terminated, cut, and open at the end of the file."""
    generator = np.random.default_rng(5)
    terminals, timeouts = np.zeros(N, bool), np.zeros(N, bool)
    terminals[3] = timeouts[7] = True
    plain: dict[str, Any] = {
        "observations": generator.normal(size=(N, 3)).astype(np.float32),
        "actions": generator.uniform(-1, 1, size=(N, 2)).astype(np.float32),
        "rewards": generator.normal(size=N).astype(np.float32),
        "terminals": terminals,
        "timeouts": timeouts,
    }
    plain.update(changes)
    return {name: values for name, values in plain.items() if values is not None}


def write(path: Path, **changes: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in arrays(**changes).items():
            file[name] = values
    return path


def texts_of(path: Path) -> list[str]:
    return [str(problem) for problem in validate_log(path)]


@pytest.mark.parametrize("suffix", [".hdf5", ".h5"])
def test_a_dataset_as_d4rl_writes_it(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"log{suffix}")
    with h5py.File(path, "a") as file:
        file["infos/qpos"] = np.zeros((N, 4))
        file["metadata/algorithm"] = "none"
    log = read_log(path)
    expected = arrays()
    kept = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]
    np.testing.assert_array_equal(log.observations, expected["observations"][kept])
    np.testing.assert_array_equal(log.actions, expected["actions"][kept])
    np.testing.assert_array_equal(log.offsets, [0, 4, 7, 10])
    np.testing.assert_array_equal(np.flatnonzero(log.terminated), [3])
    np.testing.assert_array_equal(np.flatnonzero(log.truncated), [6, 9])
    assert log.columns == {}


def test_successors_are_read_where_they_are_given(tmp_path: Path) -> None:
    observations = arrays()["observations"]
    following = np.concatenate([observations[1:], observations[:1]])
    log = read_log(write(tmp_path / "log.hdf5", next_observations=following))
    assert len(log) == N
    np.testing.assert_array_equal(log.next_observations, following)


def test_compression_and_blocks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = read_log(write(tmp_path / "plain.h5"))
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(stores_module, "BLOCK_BYTES", 24)
    for options in ({"compression": "gzip", "shuffle": True}, {"compression": "lzf"}):
        with h5py.File(tmp_path / "packed.h5", "w") as file:
            for name, values in arrays().items():
                file.create_dataset(name, data=values, **options)
        assert read_log(tmp_path / "packed.h5").fingerprint() == plain.fingerprint()


def test_other_names_and_fixed_texts_by_a_map(tmp_path: Path) -> None:
    words = np.array([b"left", b"right"] * 6)
    path = write(tmp_path / "log.h5", actions=words, rewards=None, pay=np.ones(N))
    columns = {"reward": "pay", "labels": {"action": ["left", "right"]}}
    log = read_log(path, columns=columns)
    np.testing.assert_array_equal(log.actions[:3], [0, 1, 0])


def test_what_is_no_column_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "log.h5", note="written by hand", gain=3.0, extra=np.arange(N))
    with h5py.File(path, "a") as file:
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
        file["kind"] = np.dtype("f4")
        file["nothing"] = h5py.Empty("f4")
    log = read_log(path)
    assert list(log.columns) == ["extra"]
    for name in ("note", "gain", "elsewhere", "kind", "nothing"):
        assert f"the column '{name}' is not numeric and was left out" in str(log.provenance)


class Canary:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("a pickle was read",)


def test_attributes_are_never_unpickled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "log.h5")
    with h5py.File(path, "a") as file:
        file.attrs["policy"] = np.void(pickle.dumps(Canary()))
        file["observations"].attrs["policy"] = np.void(pickle.dumps(Canary()))
        file["opaque"] = np.void(pickle.dumps(Canary()))
    assert read_log(path).columns == {}
    assert capsys.readouterr().out == ""


def test_links_lead_nowhere(tmp_path: Path) -> None:
    write(tmp_path / "other.h5")
    for link in (h5py.ExternalLink("other.h5", "/rewards"), h5py.SoftLink("/pay")):
        path = write(tmp_path / "log.h5", rewards=None)
        with h5py.File(path, "a") as file:
            file["pay"] = np.ones(N)
            file["rewards"] = link
        (text,) = texts_of(path)
        assert "column 'rewards': is a link, which is never followed; store the array" in text


def test_values_in_other_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "other.h5")
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        layout = h5py.VirtualLayout(shape=(N,), dtype="f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "rewards", shape=(N,))
        file.create_virtual_dataset("rewards", layout)
    assert "column 'rewards': keeps its values in other files" in texts_of(path)[0]
    (tmp_path / "raw").write_bytes(b"\0" * 4 * N)
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        raw = [(str(tmp_path / "raw"), 0, 4 * N)]
        file.create_dataset("rewards", shape=(N,), dtype="f4", external=raw)
    assert "column 'rewards': keeps its values in other files" in texts_of(path)[0]


def test_objects_and_groups_are_refused(tmp_path: Path) -> None:
    ragged = np.empty(N, dtype=object)
    ragged[:] = [np.arange(i % 3, dtype=np.float64) for i in range(N)]
    path = tmp_path / "log.h5"
    with h5py.File(path, "w") as file:
        for name, values in arrays(observations=None).items():
            file[name] = values
        data = file.create_dataset("observations", (N,), dtype=h5py.vlen_dtype(np.float64))
        data[:] = ragged
    assert "column 'observations': holds Python objects, which are never" in texts_of(path)[0]
    path = write(tmp_path / "log.h5", actions=np.zeros(N, dtype=[("x", "f4")]))
    assert "column 'actions': has the dtype" in texts_of(path)[0]
    path = write(tmp_path / "log.h5", rewards=1.0)
    assert "column 'rewards': is no array with rows; store one array a column" in texts_of(path)[0]
    path = write(tmp_path / "log.h5", rewards=None, **{"rewards/all": np.ones(N)})
    assert "column 'reward': is missing; there are 'actions'" in texts_of(path)[0]


@pytest.mark.parametrize("options", [{}, {"chunks": (2**20,)}, {"chunks": True}])
def test_a_billion_rows_are_only_a_claim(tmp_path: Path, options: dict[str, Any]) -> None:
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        packing = {"compression": "gzip"} if options else {}
        file.create_dataset("rewards", shape=(10**9,), dtype="f4", **options, **packing)
    (text,) = texts_of(path)
    assert "column 'rewards': claims (1000000000,), 4000000000 bytes, but holds 0" in text


def test_chunks_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(hdf5_module, "LARGEST_CHUNK", 16)
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        file.create_dataset("rewards", data=np.ones(N), chunks=(4,), compression="gzip")
    (text,) = texts_of(path)
    assert "column 'rewards': has chunks of 32 bytes; write it in chunks of up to 16" in text


def test_filters_that_would_be_loaded_from_elsewhere_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        space = h5py.h5s.create_simple((N,))
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((4,))
        plan.set_filter(4242, h5py.h5z.FLAG_OPTIONAL, (1,))
        h5py.h5d.create(file.id, b"rewards", h5py.h5t.NATIVE_FLOAT, space, plan)
    (text,) = texts_of(path)
    assert "column 'rewards': is compressed by the filter 4242, which is not known; use" in text


def test_lengths_that_differ(tmp_path: Path) -> None:
    (text,) = texts_of(write(tmp_path / "log.h5", rewards=np.ones(N - 1)))
    assert "column 'rewards': has 11 rows where the others have 12" in text


def test_files_that_are_no_hdf5(tmp_path: Path) -> None:
    (tmp_path / "log.h5").write_bytes(b"nothing of the kind")
    (text,) = texts_of(tmp_path / "log.h5")
    assert "could not be read as HDF5" in text
    whole = write(tmp_path / "whole.h5").read_bytes()
    for length in (len(whole) // 3, len(whole) - 40):
        (tmp_path / "log.h5").write_bytes(whole[:length])
        assert texts_of(tmp_path / "log.h5")


@pytest.mark.parametrize("mark", [b"SNOD", b"TREE"])
def test_a_damaged_list_of_arrays_is_told(
    tmp_path: Path, mark: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    path = write(tmp_path / "log.h5")
    path.write_bytes(path.read_bytes().replace(mark, b"XXXX"))
    (text,) = texts_of(path)
    assert "could not be read as HDF5" in text


def test_arrays_that_cannot_be_unpacked_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "log.h5", rewards=None)
    with h5py.File(path, "a") as file:
        data = file.create_dataset("rewards", (N,), "f4", chunks=(N,), compression="gzip")
        data.id.write_direct_chunk((0,), b"\xff" * 40)
    (text,) = texts_of(path)
    assert "column 'rewards': cannot be read (" in text


def test_without_h5py_the_message_names_the_extra(tmp_path: Path) -> None:
    path = write(tmp_path / "log.h5")
    code = (
        "import os, sys; sys.modules['h5py'] = None; os.environ['NACRE_ISOLATION'] = 'off'\n"
        f"import nacre.logs; print(*nacre.logs.validate_log({str(path)!r}))"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "needs h5py, which is not installed; pip install 'nacre[hdf5]'" in result.stdout


def test_it_is_not_written(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.h5"))
    with pytest.raises(InputError, match=r"which is not known; use one of \.parquet, \.csv"):
        write_log(log, tmp_path / "again.h5")
