"""A folder is tried by writing, and an advice in it stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.cli.folders import check_folder
from nacre.errors import InputError


def test_a_folder_that_is_not_there_is_not_there_afterwards(tmp_path: Path) -> None:
    check_folder(tmp_path / "advice", force=False)
    check_folder(None, force=False)
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_advice_stays_without_force(tmp_path: Path) -> None:
    (tmp_path / "decision.json").write_text("{}")
    with pytest.raises(InputError, match="holds an earlier advice; give another folder, or --fo"):
        check_folder(tmp_path, force=False)
    check_folder(tmp_path, force=True)
    assert (tmp_path / "decision.json").read_text() == "{}"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match="taken: is a file; give a folder"):
        check_folder(tmp_path / "taken", force=False)
    # Nobody, not even root, can write there.
    with pytest.raises(InputError, match="nacre"):
        check_folder(Path("/proc/nacre"), force=False)
