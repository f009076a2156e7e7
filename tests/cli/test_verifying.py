"""What `nacre verify` recognises, and what it names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.cli.verifying import verify_path
from nacre.errors import InputError
from nacre.files.commit import commit_files
from nacre.logs import read_log, write_log
from nacre.policies import TabularPolicy, write_policy
from tests.support.logs import make_log


def test_folders_of_files(tmp_path: Path) -> None:
    commit_files(tmp_path, {"a.txt": b"a", "b.txt": b"b"}, kind="test")
    assert verify_path(tmp_path).checked == "2 files"
    assert verify_path(tmp_path / "a.txt").kind == "test"
    assert verify_path(tmp_path / "manifest.json").kind == "test"
    (tmp_path / "a.txt").write_bytes(b"x")
    (tmp_path / "b.txt").unlink()
    with pytest.raises(InputError) as error:
        verify_path(tmp_path)
    changed, missing = error.value.problems
    assert changed.startswith(f"{tmp_path}/a.txt: its content was changed")
    assert missing.startswith(f"{tmp_path}/b.txt: is missing")


def test_caches_and_logs(tmp_path: Path) -> None:
    path = tmp_path / "log.npz"
    log = make_log()
    write_log(log, path)
    assert log.fingerprint() in verify_path(path).checked
    read_log(path, cache_dir=tmp_path / "cache")
    assert verify_path(tmp_path / "cache").checked == "every chunk of 1 logs"
    (entry,) = (tmp_path / "cache").iterdir()
    assert verify_path(entry).kind == "cached log"
    content = bytearray((entry / "rewards.npy").read_bytes())
    content[-1] ^= 1
    (entry / "rewards.npy").write_bytes(content)
    for place in (entry, entry.parent):
        with pytest.raises(InputError, match=r"rewards\.npy: is damaged"):
            verify_path(place)


def test_policies(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    write_policy(TabularPolicy.from_probabilities(np.full((2, 2), 0.5)), path)
    assert verify_path(path).kind == "policy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"p\.safetensors: is damaged: its digest does not fit"):
        verify_path(path)


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_what_is_nothing_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"nothing that nacre could verify|is not there"):
        verify_path(tmp_path / name)
