"""TOML documents that people write: read from a file or a text, and written again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.documents import BoundsError, check_toml
from nacre.logs.checks.problems import show, show_key, show_path

LARGEST_FILE = 1_000_000


def read_document(path: Path, what: str) -> dict[str, Any]:
    """The document in a file.

    Args:
        path: The file.
        what: What it should be, for messages, such as "a cost.toml".

    Raises:
        InputError: If there is no such file, if it is too large, or if it is not TOML.
    """
    return parse_document(_read_text(path, what), show_path(path))


def parse_document(text: str, source: str) -> dict[str, Any]:
    """The document that a text holds; `source` is what to call it in messages."""
    try:
        check_toml(text)
        return tomllib.loads(text)
    except BoundsError as error:
        raise InputError(f"{source}: {error}; shorten it") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {_word_syntax(str(error))}") from None
    except (ValueError, RecursionError):
        raise InputError(
            f"{source}: holds a number too long or lists too deep to be read; shorten it"
        ) from None


def format_document(document: Mapping[str, Any]) -> str:
    """The text of a document: plain values first, then a block for each table.

    Lists of tables have blocks at the top of a document; further inside they stand on one line.

    Raises:
        InputError: If there is a value that TOML has no form for.
    """
    listed = {name: value for name, value in document.items() if _holds_tables(value)}
    rest = {name: value for name, value in document.items() if name not in listed}
    blocks = _format_table("", rest)
    for name, entries in listed.items():
        for entry in entries:
            blocks += _format_table(show_key(name), entry, "[[", "]]")
    return "\n".join(blocks)


def _format_table(
    path: str, table: Mapping[str, Any], opening: str = "[", closing: str = "]"
) -> list[str]:
    """The block of a table, and those of the tables in it; the document itself has no heading."""
    inner = {name: value for name, value in table.items() if isinstance(value, Mapping)}
    pairs = "".join(
        f"{show_key(name)} = {_format_value(value)}\n"
        for name, value in table.items()
        if name not in inner
    )
    heading = f"{opening}{path}{closing}\n" if path else ""
    blocks = [heading + pairs] if heading or pairs else []
    for name, value in inner.items():
        key = show_key(name)
        blocks += _format_table(f"{path}.{key}" if path else key, value)
    return blocks


def _holds_tables(value: Any) -> bool:
    listed = isinstance(value, list | tuple) and len(value) > 0
    return listed and all(isinstance(entry, Mapping) for entry in value)


def _format_text(text: str) -> str:
    # JSON escapes as TOML does, but leaves one control character as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(
            f"{show_key(key)} = {_format_value(entry)}" for key, entry in value.items()
        )
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_format_value(entry) for entry in value)}]"
    if isinstance(value, str):
        return _format_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    raise InputError(f"{show(value)} has no form in TOML; keep it in Python")


def _read_text(path: Path, what: str) -> str:
    place = show_path(path)
    if not path.is_file():
        problem = "is no regular file" if path.exists() else "does not exist"
        problem = "is a directory" if path.is_dir() else problem
        raise InputError(f"{place}: {problem}; give the path of {what}")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{place}: cannot be read ({error.strerror}); mend its access") from None
    if len(content) > LARGEST_FILE:
        raise InputError(f"{place}: is larger than 1 MB; give the path of {what}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}: byte {error.start} is not UTF-8; save the file in that encoding"
        ) from None


def _word_syntax(text: str) -> str:
    """The parser ends its messages with "(at line 1, column 2)"; places come first here."""
    what, _, where = text.rpartition(" (at ")
    return f"{where.removesuffix(')')}: not valid TOML: {what}"
