from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log, read_log, validate_log, write_log
from tests.support.logs import assert_same, make_log, plain_columns, write_npz


class Canary:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def npy(shape: str, dtype: str, data: bytes) -> bytes:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    padded = header + " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + data


def replace_member(path: Path, name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> Path:
    write_npz(path)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    members[f"{name}.npy"] = content
    with zipfile.ZipFile(path, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


def test_python_objects_are_refused_by_name_and_never_unpickled(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    objects = np.empty(4, dtype=object)
    objects[:] = [Canary(canary)] * 4
    for name in ("reward", "further", "nacre"):
        path = write_npz(tmp_path / "log.npz", **{name: objects})
        with pytest.raises(InputError) as caught:
            read_log(path)
        text = "\n".join(caught.value.problems)
        assert f"'{name}'" in text
        if name != "nacre":
            assert f"column '{name}': holds Python objects, which are never read" in text
    assert not canary.exists()
    pickle.loads(pickle.dumps(Canary(canary))).close()  # noqa: S301
    assert canary.exists()


def test_a_header_that_claims_a_billion_rows_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    content = npy("(1000000000, 27)", "<f8", b"\0" * 64)
    path = replace_member(tmp_path / "log.npz", "observation", content)
    (text,) = map(str, validate_log(path))
    assert "column 'observation': is no array that can be read" in text
    assert "claims (1000000000, 27) float64" in text


def test_a_directory_that_lies_about_sizes_is_refused(tmp_path: Path) -> None:
    content = npy("(1000000000,)", "<f8", b"\0" * 64)
    path = replace_member(tmp_path / "log.npz", "reward", content)
    data = path.read_bytes()
    true, claimed = len(content), len(content) - 64 + 8_000_000_000 % 2**32
    entry = data.rindex(b"reward.npy") - 46
    assert int.from_bytes(data[entry + 24 : entry + 28], "little") == true
    lie = data[: entry + 24] + claimed.to_bytes(4, "little") + data[entry + 28 :]
    path.write_bytes(lie)
    (text,) = map(str, validate_log(path))
    assert f"claims {claimed} bytes, packed in {true}" in text
    huge = data[: entry + 20] + (2**31).to_bytes(4, "little") * 2 + data[entry + 28 :]
    path.write_bytes(huge)
    assert "column 'reward'" in str(validate_log(path)[0])


def test_negative_shapes_are_refused(tmp_path: Path) -> None:
    path = replace_member(tmp_path / "log.npz", "reward", npy("(-4,)", "<f8", b"\0" * 32))
    assert "column 'reward'" in str(validate_log(path)[0])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an array at all",
        b"\x93NUMPY\x09\x00" + b"\0" * 60,
        npy("(4,", "<f8", b"\0" * 32),
        npy("__import__('os').abort()", "<f8", b"\0" * 32),
        npy("(4,)", "nonsense", b"\0" * 32),
    ],
)
def test_members_that_are_no_arrays(tmp_path: Path, content: bytes) -> None:
    problems = validate_log(replace_member(tmp_path / "log.npz", "reward", content))
    assert "column 'reward': is no array that can be read" in str(problems[0])


def test_other_compression_is_refused_and_the_usual_one_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.arange(4.0))
    path = replace_member(tmp_path / "log.npz", "reward", buffer.getvalue(), zipfile.ZIP_LZMA)
    problems = validate_log(path)
    assert "compressed by another method" in str(problems[0])
    replace_member(path, "reward", buffer.getvalue(), zipfile.ZIP_DEFLATED)
    np.testing.assert_array_equal(read_log(path).rewards, np.arange(4))
    large: dict[str, Any] = {
        name: np.repeat(np.asarray(v)[:1], 5000, 0) for name, v in plain_columns().items()
    }
    large["episode"] = np.arange(5000)
    np.savez_compressed(path, **large)
    assert len(read_log(path)) == 5000


def test_damaged_data_is_reported_by_column(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz")
    data = bytearray(path.read_bytes())
    place = data.index(np.array([1.0, 2.0, 3.0, 4.0]).tobytes())
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))
    assert "column 'reward': is no array that can be read" in str(validate_log(path)[0])
    assert "Bad CRC-32" in str(validate_log(path)[0])


def test_damage_beyond_the_header_is_found_when_the_array_is_read(tmp_path: Path) -> None:
    n = 200_000
    path = tmp_path / "log.npz"
    noise = np.random.default_rng(0).normal(size=n)
    flags = np.ones(n, bool)
    np.savez(
        path,
        episode=np.arange(n),
        observation=np.zeros(n, int),
        action=np.zeros(n, int),
        reward=noise,
        terminated=flags,
    )
    data = bytearray(path.read_bytes())
    data[data.index(noise[-8:].tobytes())] ^= 0xFF
    path.write_bytes(bytes(data))
    (text,) = map(str, validate_log(path))
    assert "column 'reward': cannot be read (Bad CRC-32" in text


def test_versions_of_the_array_format(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.arange(4.0), version=(2, 0))
    path = replace_member(tmp_path / "log.npz", "reward", buffer.getvalue())
    np.testing.assert_array_equal(read_log(path).rewards, np.arange(4))


def test_column_order_in_memory_does_not_matter(tmp_path: Path) -> None:
    expected = read_log(write_npz(tmp_path / "a.npz"))
    observation = np.asfortranarray(plain_columns()["observation"])
    assert_same(read_log(write_npz(tmp_path / "b.npz", observation=observation)), expected)


def test_texts_are_left_out(tmp_path: Path) -> None:
    log = read_log(write_npz(tmp_path / "log.npz", weather=["sun"] * 4))
    assert dict(log.columns) == {}
    assert "the column 'weather' is not numeric and was left out" in str(log.provenance["notes"])


def test_metadata_is_one_text(tmp_path: Path) -> None:
    write_log(make_log(), tmp_path / "log.npz")
    with np.load(tmp_path / "log.npz", allow_pickle=False) as arrays:
        document = json.loads(str(arrays["nacre"]))
        assert document["provenance"] == {"world": "a test", "seed": 0}
        np.testing.assert_array_equal(arrays["reward"], make_log().rewards)
    for wrong in ([1.0] * 4, ["{}"] * 4):
        texts = "\n".join(map(str, validate_log(write_npz(tmp_path / "log.npz", nacre=wrong))))
        assert "the metadata under 'nacre' is no single text" in texts


@pytest.mark.parametrize("name", ["../up", "a\\b", "c:d", "nacre", "e\0f"])
def test_names_that_an_archive_cannot_hold_are_not_written(tmp_path: Path, name: str) -> None:
    log = Log.from_arrays([[0.0]], [0], [0], [True], columns={name: [1]})
    with pytest.raises(InputError, match="cannot be called"):
        write_log(log, tmp_path / "log.npz")


def test_a_column_called_file_is_fine(tmp_path: Path) -> None:
    log = Log.from_arrays([[0.0]], [0], [0], [True], columns={"file": [1]})
    write_log(log, tmp_path / "log.npz")
    assert_same(read_log(tmp_path / "log.npz"), log)
