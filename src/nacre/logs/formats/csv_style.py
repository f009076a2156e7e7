"""How a text file is written: separator, decimal sign and encoding, recognised from its head."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nacre.logs.schema.mapping import ColumnMap

HEAD_BYTES = 2**16
MOST_ABOVE = 20
"""Lines among which the line of names is looked for."""
SEPARATORS = (",", ";", "\t", "|")
MISSING_TEXTS = (
    *("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null"),
    *("None", "none", "NONE", "?", "-", "."),
)
"""What stands for a missing number; in columns of texts, only nothing at all does."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WINDOWS = frozenset(range(0x80, 0xA0)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D}
"""Bytes that are signs such as € on Windows, and control characters in Latin-1."""
_COMMA = re.compile(r"\s*[+-]?[0-9]+,([0-9]+)\s*")
_POINT = re.compile(r"\s*[+-]?[0-9]*\.[0-9]+\s*")


@dataclass(frozen=True)
class Style:
    """How a text file is written.

    Attributes:
        separator: Between columns.
        decimal: Before decimals.
        text_encoding: As Python calls it.
        quoted_lines: Whether a text in quotes goes over several lines.
        missing_texts: What stands for a missing number.
        notes: What was recognised, where it is not the usual.
    """

    separator: str = ","
    decimal: str = "."
    text_encoding: str = "utf-8"
    quoted_lines: bool = False
    missing_texts: tuple[str, ...] = MISSING_TEXTS
    notes: tuple[str, ...] = ()


def recognise_style(head: bytes, columns: ColumnMap) -> Style:
    """Return how a file is written: as the map says, else as its head looks.

    Args:
        head: Its first bytes, from the line of names on, with the mark that says its encoding.
        columns: What the user says of it.

    Raises:
        UnicodeDecodeError: If the head is not in that encoding.
    """
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    encoding = columns.text_encoding or marked or "utf-8"
    text = codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    separator = columns.separator or _find_separator(text)
    rows = list(csv.reader(text.splitlines(keepends=True), delimiter=separator))
    # The last row may have been cut.
    cells = [cell for row in rows[1:-1] or rows[1:] for cell in row]
    decimal = columns.decimal or _find_decimal(cells, separator)
    notes = []
    if separator != "," and columns.separator is None:
        notes.append(f"columns are separated by {separator!r}, as was recognised")
    if decimal != "." and columns.decimal is None:
        notes.append("decimals follow a comma, as was recognised")
    if marked not in (None, "utf-8") and columns.text_encoding is None:
        notes.append(f"the text is in {marked}, as its first bytes say")
    return Style(
        separator,
        decimal,
        encoding,
        any("\n" in cell for row in rows[:-1] for cell in row),
        (*MISSING_TEXTS, *columns.missing_values),
        tuple(notes),
    )


def _find_separator(text: str) -> str:
    """The sign that divides the first line, and most others alike; a title is not divided."""
    lines = [line for line in text.splitlines()[:50] if line.strip()]
    if len(lines) > 2:
        lines = lines[:-1]
    found = (_divide(lines[start:]) for start in range(min(MOST_ABOVE, len(lines))))
    return next((sign for sign in found if sign), ",")


def _divide(lines: Sequence[str]) -> str:
    best, most = "", 1.0
    for separator in SEPARATORS:
        counts = [len(row) for row in csv.reader(lines, delimiter=separator)]
        if not counts or counts[0] < 2:
            continue
        alike = Counter(counts)[counts[0]] / len(counts)
        if alike * counts[0] > most:
            best, most = separator, alike * counts[0]
    return best


def count_title_lines(rows: Sequence[Sequence[str]]) -> int:
    """How many lines lie above the names of the columns, as spreadsheets have titles.

    A first line with two or more names is the line of names. One with a single text among empty
    cells, or with fewer cells than most lines have, is a title, if one of the next lines has a
    different text in each of its cells.
    """
    width = Counter(map(len, rows[:50])).most_common(1)[0][0]
    first = [cell for cell in rows[0] if cell.strip()]
    if width < 2 or len(first) > 1 or max(len(rows[0]), width) - len(first) < 2:
        return 0
    for place, row in enumerate(rows[1:MOST_ABOVE], start=1):
        cells = {cell.strip() for cell in row}
        if len(row) == len(cells) == width and not any(map(_is_value, cells)):
            return place
    return 0


def _is_value(cell: str) -> bool:
    return not cell or cell[0].isdigit() or _POINT.fullmatch(cell) is not None


def _find_decimal(cells: Sequence[str], separator: str) -> str:
    """A comma if it can be nothing else: where it separates no columns nor groups of digits."""
    if separator == ",":
        return "."
    commas = [match[1] for cell in cells if (match := _COMMA.fullmatch(cell))]
    points = sum(_POINT.fullmatch(cell) is not None for cell in cells)
    if commas and not points and any(len(digits) != 3 for digits in commas):
        return ","
    return "."


def guess_encoding(lines: Iterable[bytes]) -> str:
    """What a text that is no UTF-8 was most likely saved in: Windows' own code or Latin-1."""
    used = set().union(*map(set, lines)) & set(range(0x80, 0xA0))
    return "cp1252" if used and used <= _WINDOWS else "latin-1"
