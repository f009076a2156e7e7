"""Manifests: they say what the files hold, and tell when a file has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.errors import InputError
from nacre.experiments.manifest import NAME, check_manifest, name_fields, write_manifest
from nacre.experiments.records import write_lines
from nacre.experiments.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
LINES = [
    {
        "row": "a",
        "seed": seed,
        "learner": {"discount": 0.9, "critics": {"hidden": [8]}},
        "commit": commit,
        "versions": {"jax": "1"},
    }
    for seed, commit in ((4, "abc"), (5, "abc"), (6, "def"))
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "poles" / "paper.jsonl", LINES)
    write_manifest(tmp_path / "poles")
    return tmp_path / "poles"


def test_a_manifest_by_hand(folder: Path) -> None:
    manifest = json.loads((folder / NAME).read_text())
    assert manifest["format"] == 1
    described = manifest["files"]["paper.jsonl"]
    assert len(described.pop("sha256")) == 64
    assert described == {
        "made_by": "nacre reproduce poles --configuration paper",
        "records": 3,
        "rows": {"a": [4, 5, 6]},
        "fields": ["commit", "learner", "row", "seed", "versions"],
        "configuration": ["critics.hidden", "discount"],
        "commits": {"abc": 2, "def": 1},
        "versions": {"jax 1": 3},
    }


def test_changes_are_found(folder: Path) -> None:
    check_manifest(folder)
    write_lines(folder / "paper.jsonl", LINES[:2])
    with pytest.raises(InputError, match=r"paper.jsonl: not as manifest.json says; restore"):
        check_manifest(folder)
    (folder / "paper.jsonl").rename(folder / "default.jsonl")
    with pytest.raises(InputError, match=r"default.jsonl: not in .*\n.*paper.jsonl: missing"):
        check_manifest(folder)


def test_manifests_that_cannot_be_used_are_named(folder: Path) -> None:
    (folder / NAME).write_text('{"format": 0}')
    with pytest.raises(InputError, match=r"manifest.json: format 0, expected 1"):
        check_manifest(folder)
    (folder / NAME).unlink()
    with pytest.raises(InputError, match=r"manifest.json: not a readable manifest"):
        check_manifest(folder)


def test_fields_are_named_by_their_way() -> None:
    assert list(name_fields({"a": {"b": 1, "c": [{"d": 1}]}, "e": None})) == ["a.b", "a.c", "e"]


@pytest.mark.parametrize("table", TABLES)
def test_results_that_are_kept_are_as_their_manifests_say(table: str) -> None:
    check_manifest(ROOT / "results" / table)


@pytest.mark.parametrize("edited", [b"\xff\n", b"{}\n", b"5\n", b"[" * 5000])
def test_a_file_that_was_edited_is_told_and_not_parsed(folder: Path, edited: bytes) -> None:
    (folder / "paper.jsonl").write_bytes(edited)
    with pytest.raises(InputError, match=r"paper.jsonl: not as manifest.json says; restore"):
        check_manifest(folder)


@pytest.mark.parametrize(
    "text", ["5", "[]", '{"format": 1}', '{"format": 1, "files": {"a": 5}}', "[" * 5000]
)
def test_manifests_that_hold_something_else_are_told(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text)
    with pytest.raises(InputError, match=r"manifest.json: not a readable manifest"):
        check_manifest(folder)
