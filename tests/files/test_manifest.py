"""What a manifest notices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.errors import InputError
from nacre.files.commit import commit_files
from nacre.files.manifest import (
    FILE_NAME,
    digest_json,
    find_changes,
    list_names,
    read_checked,
    read_manifest,
)

FILES = {"a.json": b'{"x": 1}', "inner/b.bin": bytes(range(200))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    commit_files(tmp_path, FILES, kind="advice", absent=("inner/c.bin",))
    return tmp_path


def changes(folder: Path) -> list[str]:
    manifest = read_manifest(folder)
    assert manifest is not None
    return find_changes(folder, manifest)


@pytest.mark.parametrize("name", FILES)
def test_every_bit_of_every_file_is_noticed(folder: Path, name: str) -> None:
    assert changes(folder) == []
    content = FILES[name]
    for place in range(0, 8 * len(content), 7):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        (folder / name).write_bytes(changed)
        (problem,) = changes(folder)
        assert problem.startswith(f"{folder / name}: its content was changed; ")


def test_every_bit_of_the_manifest_is_noticed_or_changes_nothing(folder: Path) -> None:
    path = folder / FILE_NAME
    content = path.read_bytes()
    before = read_manifest(folder)
    refused = 0
    for place in range(0, 8 * len(content), 3):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        try:
            assert read_manifest(folder) == before
        except InputError:
            refused += 1
    assert refused > 2 * len(content)


@pytest.mark.parametrize("longer", [0, 1, 2])
def test_a_manifest_is_read_to_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, longer: int
) -> None:
    """One byte more than the largest is seen, even if it says nothing."""
    path = folder / FILE_NAME
    before, content = read_manifest(folder), path.read_bytes().rstrip()
    monkeypatch.setattr("nacre.files.manifest.LARGEST_FILE", len(content))
    path.write_bytes(content + b" " * longer)
    if longer == 0:
        assert read_manifest(folder) == before
    else:
        with pytest.raises(InputError, match="is damaged or was edited"):
            read_manifest(folder)


def test_what_is_missing_longer_or_does_not_belong_is_named(folder: Path) -> None:
    (folder / "inner" / "c.bin").write_bytes(b"")
    (folder / "a.json").write_bytes(b"longer than it was")
    (folder / "inner" / "b.bin").unlink()
    longer, missing, stranger = changes(folder)
    assert longer.startswith(f"{folder}/a.json: has 18 bytes, was written with 8;")
    assert missing.startswith(f"{folder}/inner/b.bin: is missing;")
    assert stranger == f"{folder}/inner/c.bin: does not belong to this advice; remove it"


def test_a_file_is_read_as_it_was_written_or_not_at_all(folder: Path) -> None:
    path = folder / "a.json"
    assert read_checked(path, 100) == FILES["a.json"]
    with pytest.raises(InputError, match="larger than 7 bytes"):
        read_checked(path, 7)
    path.write_bytes(b'{"x": 2}')
    with pytest.raises(InputError, match=r"is not the file that manifest\.json was written with"):
        read_checked(path, 100)
    (folder / FILE_NAME).unlink()
    assert read_checked(path, 100) == b'{"x": 2}'
    assert read_manifest(folder) is None
    assert list_names(folder) == (set(), set())


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "inner/../../x", ""])
def test_names_that_lead_out_of_the_folder_are_refused(folder: Path, name: str) -> None:
    document = json.loads((folder / FILE_NAME).read_bytes())
    del document["check"]
    document["files"][name] = {"bytes": 1, "sha256": "0"}
    document["check"] = digest_json(document)
    (folder / FILE_NAME).write_text(json.dumps(document))
    with pytest.raises(InputError, match="leads out of the folder"):
        read_manifest(folder)
    assert list_names(folder) == (set(), set())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 10**6, b'"' * 99, b"\xff\xfe", b"1"])
def test_anything_else_is_no_manifest(folder: Path, content: bytes) -> None:
    (folder / FILE_NAME).write_bytes(content)
    with pytest.raises(InputError, match="is damaged or was edited"):
        read_manifest(folder)
