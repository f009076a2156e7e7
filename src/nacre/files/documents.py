"""Documents from outside: JSON and TOML are bounded in size, depth and keys before parsing."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
import zlib
from pathlib import Path
from typing import Any

LARGEST_TOML = 1_000_000
ARCHIVE_ERRORS = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    *(ValueError, KeyError, SyntaxError, NotImplementedError, RuntimeError, MemoryError),
)
"""What zip archives and NumPy's arrays in them raise where they are damaged."""
DEEPEST = 64
MOST_KEY_PARTS = 32

_MARK = re.compile(rb'["\[\]{}]')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class BoundsError(ValueError):
    """A document that is larger or deeper than any of ours."""


def parse_json(content: bytes, *, largest: int) -> Any:
    """The document of a text.

    Raises:
        BoundsError: If it is larger or nested deeper than allowed.
        ValueError: If it is not JSON.
    """
    if len(content) > largest:
        raise BoundsError(f"larger than {largest:,} bytes")
    check_depth(content)
    return json.loads(content)


def check_depth(content: bytes) -> None:
    """Raise `BoundsError` where brackets outside of texts are nested too deeply."""
    depth = position = 0
    while (match := _MARK.search(content, position)) is not None:
        position = match.end()
        mark = match.group()
        if mark == b'"':
            text = _STRING.match(content, match.start())
            if text is None:
                return
            position = text.end()
        elif mark in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise BoundsError(f"nested more than {DEEPEST} deep")
        else:
            depth -= 1


def read_toml(path: Path, *, largest: int = LARGEST_TOML) -> dict[str, Any]:
    """The document of a file that people write.

    Raises:
        BoundsError: If it is no regular file, or larger or nested deeper than allowed.
        OSError: If it cannot be read.
        ValueError: If it is not UTF-8 or not TOML.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BoundsError("no regular file")
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise BoundsError(f"larger than {largest:,} bytes")
    text = content.decode("utf-8-sig")
    check_toml(text)
    return tomllib.loads(text)


def check_toml(text: str) -> None:
    """Raise `BoundsError` where keys or nesting would keep the parser busy for long.

    Its work grows with the square of the parts of a dotted key, and lists are read by recursion.
    Texts are not told from keys here: none that people write has so many dots or brackets.
    """
    for part in re.split(r"[,=\[\]{}\n#]", text):
        if part.count(".") > MOST_KEY_PARTS:
            raise BoundsError(f"{part.strip()[:20]!r}… has more than {MOST_KEY_PARTS} parts")
    depth = 0
    for mark in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if mark in "[{" else max(0, depth - 1)
        if depth > DEEPEST:
            raise BoundsError(f"lists or tables nested more than {DEEPEST} deep")
