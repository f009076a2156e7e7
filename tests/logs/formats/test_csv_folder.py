"""Folders of CSV files: read as the one file that they are together."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nacre.errors import InputError
from nacre.logs import read_log

HEAD = "who,age,offer,spent"
MAP = {
    "episode": "who",
    "terminated": True,
    "observation": ["age"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["mail", "call"]},
}


def write_parts(folder: Path, *parts: str) -> Path:
    folder.mkdir()
    for number, rows in enumerate(parts):
        (folder / f"2024-{number:02d}.csv").write_bytes(f"{HEAD}\n{rows}".encode())
    return folder


def test_files_lie_below_each_other(tmp_path: Path) -> None:
    """Whole numbers and fractions, a byte order mark, no last line end, a packed part."""
    folder = write_parts(tmp_path / "parts", "ann,30,mail,1\nbob,41,call,2", "cat,52.5,mail,0.5\n")
    marked = folder / "2024-00.csv"
    marked.write_bytes("\ufeff".encode() + marked.read_bytes())
    (folder / "2024-09.csv.gz").write_bytes(gzip.compress(f"{HEAD}\nann,31,call,3\n".encode()))
    whole = tmp_path / "whole.csv"
    rows = "ann,30,mail,1\nbob,41,call,2\ncat,52.5,mail,0.5\nann,31,call,3\n"
    whole.write_text(f"{HEAD}\n{rows}")
    read = read_log(folder, columns=MAP)
    assert read.fingerprint() == read_log(whole, columns=MAP).fingerprint()
    assert read.episode_lengths.tolist() == [2, 1, 1]
    notes = read.provenance["notes"]
    assert isinstance(notes, list)
    assert any("rows of 3 files" in str(note) for note in notes)


def test_other_columns_are_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    folder = write_parts(tmp_path / "parts", "ann,30,mail,1\n")
    (folder / "2024-07.csv").write_text("who,years,offer,spent\nbob,1,call,2\n")
    with pytest.raises(InputError, match=r"2024-07.csv has the columns .*years.*; give files with"):
        read_log(folder, columns=MAP)
