"""Raw rows of a table as observations, with NumPy alone: a part of the file `predict.py`.

The same as `nacre.logs.schema.encoding` does when a log is read, for one row.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

import numpy as np

MISSING = (
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "Null"),
    *("None", "none", "NONE", "?", "-", "."),
)
CYCLES = {"time": (86400.0, 604800.0), "date": (604800.0,)}


def list_columns(inputs: dict[str, Any]) -> list[str]:
    """The columns of a row that are needed; none if they are not known."""
    if inputs.get("encoding"):
        return [one["column"] for one in inputs["encoding"]]
    names = (inputs.get("columns") or {}).get("observation")
    labelled = isinstance(names, str) and (inputs.get("labels") or {}).get("observation")
    return [names] if labelled else list(names) if isinstance(names, list) else []


def encode_row(inputs: dict[str, Any], row: dict[str, Any]) -> np.ndarray:
    """The observation of a raw row, as when the log was read."""
    names = (inputs.get("columns") or {}).get("observation")
    labels = (inputs.get("labels") or {}).get("observation")
    if isinstance(names, str) and labels:
        return np.asarray(_find_label(row, names, labels))
    encodings = inputs.get("encoding") or [
        {"column": name, "kind": "number"} for name in names or ()
    ]
    if not encodings:
        raise ValueError("the policy does not know the columns of a table; give numbers")
    written = inputs.get("written") or {}
    numbers = [number for one in encodings for number in _encode(one, row, written)]
    return np.array(numbers, np.float32)


def _encode(encoding: dict[str, Any], row: dict[str, Any], written: dict[str, Any]) -> list[float]:
    """The numbers of one column, as when the log was read."""
    column, kind, fill = encoding["column"], encoding["kind"], encoding.get("fill")
    if column not in row:
        raise ValueError(f"column {column!r} is not in the row")
    value, labels = row[column], encoding.get("labels", [])
    text = "" if value is None or value != value else str(value).strip()
    number = kind not in CYCLES and not any(isinstance(label, str) for label in labels)
    absent = not text or (number and text in (*MISSING, *written.get("missing_values", ())))
    if kind == "one_hot":
        width = len(labels) + bool(encoding.get("other")) + (encoding.get("missing") == "category")
        if absent and encoding.get("missing") != "category":
            raise ValueError(f"column {column!r} is missing")
        other = len(labels) if encoding.get("other") else None
        one = width - 1 if absent else _find_label(row, column, labels, other)
        return [float(i == one) for i in range(width)]
    if absent and fill is None:
        raise ValueError(f"column {column!r} is missing")
    if absent:
        place = float(fill or 0.0)
    elif kind == "ordinal":
        place = float(_find_label(row, column, labels))
    elif kind in CYCLES:
        place = _find_seconds(text, encoding.get("time_format"))
    else:
        place = _read_number(value, text, encoding.get("unit"), written)
    numbers = [place]
    if kind in CYCLES:
        angles = [2 * math.pi * math.fmod(place, length) / length for length in CYCLES[kind]]
        numbers = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    return numbers if fill is None else [*numbers, float(absent)]


def _read_number(value: Any, text: str, unit: str | None, written: dict[str, Any]) -> float:
    """A number, or a text as the table has it: with a unit, groups of digits, a decimal comma."""
    if not isinstance(value, str):
        return float(value)
    for sign, plain in ((unit, ""), (written.get("thousands"), ""), (written.get("decimal"), ".")):
        text = text.replace(sign, plain) if sign else text
    text = re.sub(r"^\(\s*(.*?)\s*\)$", r"-\1", re.sub("^[\u2212\u2013]\\s*", "-", text.strip()))
    return float({"true": "1", "false": "0"}.get(text.lower(), text))


def _find_label(
    row: dict[str, Any], column: str, labels: list[Any], other: int | None = None
) -> int:
    value = row[column]
    for place, label in enumerate(labels):
        if _matches(value, label):
            return place
    if other is not None:
        return other
    raise ValueError(f"column {column!r}: {value!r} is none of {labels}")


def _matches(value: Any, label: Any) -> bool:
    if isinstance(label, str) or not isinstance(value, str):
        return bool(value == label)
    try:
        return bool(_read_number(value, value.strip(), None, {}) == label)
    except ValueError:
        return False


def _find_seconds(text: str, form: str | None) -> float:
    read = datetime.datetime
    time = read.fromisoformat(text) if form is None else read.strptime(text, form)
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.UTC)
    return float(math.floor(time.timestamp()))
