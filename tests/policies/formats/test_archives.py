"""Zip archives that want to do harm."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.formats import archives
from nacre.policies.formats.archives import Archive


def pack(
    *members: tuple[str | zipfile.ZipInfo, bytes | str], compression: int = zipfile.ZIP_STORED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        Archive(content, "model.zip")
    assert all(problem.startswith("model.zip: ") for problem in caught.value.problems)
    return "\n".join(caught.value.problems)


def test_plain_members_are_read() -> None:
    archive = Archive(pack(("a", b"1"), ("b/c", b"2")), "model.zip")
    assert archive.names == ("a", "b/c")
    assert archive.read("b/c") == b"2"
    with pytest.raises(InputError, match="has no member 'd'"):
        archive.read("d")


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "a\\..\\up", ".."])
def test_names_that_lead_out(name: str) -> None:
    assert "leads out of the archive" in refusal(pack((name, b"x")))


def test_links() -> None:
    member = zipfile.ZipInfo("link")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "'link' is a symbolic link" in refusal(pack((member, b"/etc/passwd")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_doubled_names() -> None:
    assert "'a' is there twice" in refusal(pack(("a", b"1"), ("a", b"2")))


def test_bombs_by_ratio() -> None:
    content = pack(("zeros", bytes(10_000_000)), compression=zipfile.ZIP_DEFLATED)
    assert len(content) < 20_000
    assert "'zeros' claims to unpack from" in refusal(content)


def test_bombs_by_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_TOTAL", 5000)
    noise = np.random.default_rng(0).bytes(3000)
    assert "larger than" in refusal(pack(("a", noise), ("b", noise)))
    zeros = pack(("a", bytes(3000)), ("b", bytes(3000)), compression=zipfile.ZIP_DEFLATED)
    assert "claims to unpack to" in refusal(zeros)


def test_too_many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    assert "has 4 members" in refusal(pack(*((str(i), b"") for i in range(4))))


def test_a_size_that_lies_does_not_unpack_more() -> None:
    content = bytearray(pack(("a", bytes(1000)), compression=zipfile.ZIP_DEFLATED))
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 10)
    archive = Archive(bytes(content), "model.zip")
    with pytest.raises(InputError, match="is damaged"):
        archive.read("a")


def test_encrypted_members() -> None:
    content = bytearray(pack(("a", b"1")))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.rindex(magic) + offset] |= 1
    assert "'a' is encrypted" in refusal(bytes(content))


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04" + bytes(100), b"\0" * 1000])
def test_no_archive(content: bytes) -> None:
    assert "cannot be read as a zip file" in refusal(content)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Archive(tmp_path / "none.zip", "none.zip")
