"""Dates and times in Arrow columns, as seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems, show, show_key

_SECONDS = pa.timestamp("s")
TIME_FORMATS = (
    *("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y"),
    *("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y"),
    *("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y"),
    *("%d-%m-%Y %H:%M", "%d-%m-%Y", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y%m%d"),
    *("%d.%m.%y %H:%M", "%d.%m.%y", "%d/%m/%y %H:%M", "%d/%m/%y", "%m/%d/%y %H:%M", "%m/%d/%y"),
    *("%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M %p", "%Y-%m-%d %I:%M %p"),
)
"""Ways to write times other than ISO 8601, days before months first."""
SAMPLE = 2000
"""Texts that are looked at to say how times are written."""


def read_times(
    name: str, kind: Any, chunks: list[Any], form: str | None, problems: Problems
) -> NDArray[np.float64] | None:
    """Return (N,) seconds since 1970, NaN where missing, or None after reporting.

    Args:
        name: The column.
        kind: Its plain Arrow type: dates, timestamps or texts. Times with a zone are taken as UTC.
        chunks: Its values.
        form: How texts are written, such as "%d.%m.%Y %H:%M"; ISO 8601 if not given.
        problems: Receives what is wrong.
    """
    column = pa.chunked_array(chunks, kind)
    if pa.types.is_large_string(kind):
        times = parse_times(column, form)
        given = pc.not_equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), "")
        rows = np.flatnonzero(pc.and_(given, pc.is_null(times)).to_numpy())
        written = "ISO 8601, such as 2024-01-31 08:30:00" if form is None else f"the form {form}"
        problems.add_rows(
            name,
            rows,
            lambda i: (f"is no time in {written}", show(column[int(rows[i])].as_py())),
            _suggest_format(name, column.filter(given)[:SAMPLE].to_pylist()) if len(rows) else "",
        )
        if len(rows):
            return None
    elif pa.types.is_temporal(kind) and not pa.types.is_time(kind):
        times = pc.cast(column, _SECONDS, safe=False)
    else:
        problems.add(
            f"has the type {show(str(kind))}, not dates or times",
            f'write encode.{show_key(name)} = "number" or "one_hot" in the column map',
            column=name,
        )
        return None
    seconds = pc.cast(pc.cast(times, pa.int64()), pa.float64())
    return np.asarray(seconds.to_numpy(), np.float64)


def _suggest_format(name: str, texts: list[str]) -> str:
    """What to do about texts that are no times as they should be."""
    formats = find_time_formats(texts)
    if formats:
        others = f", or {formats[1]} if months come first" if len(formats) > 1 else ""
        return f'write time_format.{show_key(name)} = "{formats[0]}" in the column map{others}'
    return (
        f'write time_format.{show_key(name)} = "…" in the column map with the form of yours, such '
        'as "%d %b %Y", or name another column'
    )


def find_time_formats(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return how all of these texts can be read as times; none needed for ISO 8601.

    Returns:
        The formats that fit, nothing for ISO 8601; None if the texts are no times.
    """
    if not texts:
        return None
    column = pa.array(texts, pa.large_string())
    if parse_times(column, None).null_count == 0:
        return ()
    fitting = [form for form in TIME_FORMATS if parse_times(column, form).null_count == 0]
    return tuple(fitting) or None


def parse_times(column: Any, form: str | None) -> Any:
    """Return texts as timestamps; null where one cannot be read."""
    trimmed = pc.utf8_trim_whitespace(column)
    if form is not None:
        times = pc.strptime(trimmed, format=form, unit="s", error_is_null=True)
        if "%Y" not in form:
            return times
        # 24 would be the year 24.
        whole = pc.match_substring_regex(trimmed, r"[0-9]{4}")
        return pc.if_else(whole, times, pa.scalar(None, times.type))
    # ISO 8601 with a T or a blank, down to the second or less.
    whole = pc.replace_substring_regex(trimmed, r"(\.[0-9]+)?(Z|[+-]00:?00)?$", "")
    forms = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")
    parsed = [
        pc.strptime(whole, format=one, unit="s", error_is_null=True) for one in (*forms, "%Y-%m-%d")
    ]
    return pc.coalesce(*parsed)
