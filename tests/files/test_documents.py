"""Bounds of JSON and TOML, found before a parser is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nacre.files.documents import DEEPEST, BoundsError, check_toml, parse_json, read_toml


def test_brackets_in_texts_do_not_count() -> None:
    document = {"text": "[" * 500 + '\\"' + "{" * 500, "list": [[1, 2], [3]]}
    assert parse_json(json.dumps(document).encode(), largest=10_000) == document


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_depth_is_bounded(opening: bytes) -> None:
    with pytest.raises(BoundsError, match=f"nested more than {DEEPEST} deep"):
        parse_json(opening * (DEEPEST + 1), largest=10_000)
    deep = opening * DEEPEST + b"1" + {b"[": b"]"}.get(opening, b"}") * DEEPEST
    assert parse_json(deep, largest=10_000)


def test_size_is_bounded() -> None:
    with pytest.raises(BoundsError, match="larger than 3 bytes"):
        parse_json(b"1234", largest=3)
    with pytest.raises(ValueError):
        parse_json(b'{"a": "x', largest=99)


@pytest.mark.parametrize(
    "text",
    [
        "a." * 40 + "b = 1",
        "[" + "a." * 40 + "b]",
        "x = {" + "a." * 40 + "b = 1}",
        "x = " + "[" * 99,
    ],
)
def test_keys_and_nesting_of_toml_are_bounded(text: str) -> None:
    with pytest.raises(BoundsError):
        check_toml(text)


def test_what_people_write_is_fine() -> None:
    rows = ",\n".join("[" + ", ".join(["0.125"] * 200) + "]" for _ in range(100))
    check_toml(f"[cost]\nweights = [\n{rows}\n]\n# done. really.\n")


def test_files_are_bounded_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_bytes(b"\xef\xbb\xbfreward = 1\n")
    assert read_toml(path) == {"reward": 1}
    with pytest.raises(BoundsError, match="larger than 9 bytes"):
        read_toml(path, largest=9)
    path.write_text("x = " + "[" * 3000)
    with pytest.raises(BoundsError, match="nested"):
        read_toml(path)
    os.mkfifo(tmp_path / "pipe.toml")
    for place in (tmp_path / "pipe.toml", Path("/dev/zero")):
        with pytest.raises(BoundsError, match="no regular file"):
            read_toml(place)
