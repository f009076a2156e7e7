"""What is wrong with a log, said so that its owner can mend it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 60
SHOWN_NAMES = 12


def show(value: object) -> str:
    """Return `value` on one line, control characters escaped, long texts cut."""
    if isinstance(value, np.floating):
        text = f"{float(value):.9g}"
    elif isinstance(value, np.generic):
        text = repr(value.item())
    else:
        text = repr(value)
    if len(text) > SHOWN_CHARACTERS:
        text = f"{text[:SHOWN_CHARACTERS]}…"
    return text


def show_reason(error: object) -> str:
    """Return the first line of what another library says, cut where it is long."""
    text = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def show_names(names: Iterable[str]) -> str:
    """Return column names as a list for a message, the first dozen spelled out."""
    shown = [show(name) for name in names]
    rest = len(shown) - SHOWN_NAMES
    if rest > 0:
        shown = [*shown[:SHOWN_NAMES], f"and {rest} more"]
    return ", ".join(shown) or "none"


def show_key(name: str) -> str:
    """Return a column's name as a key of TOML, in quotes where it needs them."""
    if re.fullmatch("[A-Za-z0-9_-]+", name):
        return name
    # JSON escapes as TOML does, but leaves one control character as it is.
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def show_path(path: object) -> str:
    """Return a path as it was given, escaped only where a terminal would stumble over it."""
    text = str(path)
    return text if text.isprintable() else repr(text)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a log: where, what was found there, and how to mend it.

    Attributes:
        message: What is wrong.
        remedy: What to do about it.
        file: The file, absent when the log was given as arrays.
        column: The column, with the coordinate for vectors.
        row: The row of the file or array, counted from 0, header and comments not counted.
        line: The line of a text file, counted from 1.
        value: What was found there, already made printable.
    """

    message: str
    remedy: str
    file: str | None = None
    column: str | None = None
    row: int | None = None
    line: int | None = None
    value: str | None = None

    def __str__(self) -> str:
        place = []
        if self.column is not None:
            place.append(f"column {show(self.column)}")
        if self.row is not None:
            line = "" if self.line is None else f" (line {self.line})"
            place.append(f"row {self.row}{line}")
        heads = [self.file or "log", *([", ".join(place)] if place else [])]
        found = "" if self.value is None else f", found {self.value}"
        return f"{': '.join(heads)}: {self.message}{found}; {self.remedy}"


@dataclass
class Problems:
    """Collects the problems of one log and knows how its rows and columns are called.

    Attributes:
        file: Named in every problem.
        labels: What a field is called where the log comes from, if not by its own name.
        parts: The columns over which a field is spread, if it is.
        lines: Gives the line of each row of a text file; asked only when a problem is found.
        rows: The row of the file for each row that was read, if some were left out or moved.
        unreadable: Whether some rows could not be read at all.
        found: The problems so far.
    """

    file: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Sequence[str]] = field(default_factory=dict)
    lines: Callable[[], NDArray[np.int64]] | None = None
    rows: NDArray[np.int64] | None = None
    unreadable: bool = False
    found: list[Problem] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found)

    def as_error(self) -> InputError:
        """The error that names all of them."""
        return InputError([str(problem) for problem in self.found])

    def label(self, name: str, element: int | None = None) -> str:
        """Return the name of a field, or of one coordinate of it, as its owner knows it."""
        if element is None:
            return self.labels.get(name, name)
        if name in self.parts:
            return self.parts[name][element]
        return f"{self.labels.get(name, name)}[{element}]"

    def add(
        self, message: str, remedy: str, *, column: str | None = None, value: str | None = None
    ) -> None:
        """Add a problem of the log or of a whole column."""
        self.found.append(Problem(message, remedy, self.file, column, value=value))

    def add_rows(
        self,
        name: str | None,
        rows: NDArray[Any],
        describe: Callable[[int], tuple[str, str | None]],
        remedy: str,
        *,
        elements: NDArray[Any] | None = None,
    ) -> None:
        """Add the same kind of problem in several rows, the first few of them one by one.

        Args:
            name: The field; None if it is the row as a whole.
            rows: Rows as they were read.
            describe: Gives message and printable value of the i-th of these rows.
            remedy: What to do.
            elements: The coordinate of a vector, by row.
        """
        if len(rows) == 0:
            return
        lines = self.lines() if self.lines is not None else None
        for i in range(min(len(rows), SHOWN_ROWS)):
            row = int(rows[i] if self.rows is None else self.rows[rows[i]])
            element = None if elements is None else int(elements[i])
            column = None if name is None else self.label(name, element)
            line = int(lines[row]) if lines is not None and row < len(lines) else None
            message, value = describe(i)
            self.found.append(Problem(message, remedy, self.file, column, row, line, value))
        rest = len(np.unique(rows[SHOWN_ROWS:]))
        if rest:
            more = f"and {rest} more {'row' if rest == 1 else 'rows'} with the same problem"
            self.add(more, remedy, column=None if name is None else self.label(name))


def tell_twins(texts: Iterable[object]) -> str:
    """What to think of where two labels differ only in case or blanks; nothing if none do."""
    seen: dict[str, str] = {}
    for text in sorted(str(text) for text in texts):
        first = seen.setdefault(" ".join(text.split()).casefold(), text)
        if first != text:
            return f"; {show(first)} and {show(text)} stay two: mend the file if they are one"
    return ""
