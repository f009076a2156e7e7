"""How each column of the log was understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.sections.base import Context
from nacre.report.templates import render
from nacre.report.text import clean

KEYS = ("column", "meaning", "type", "encoding", "missing", "range")


@dataclass(frozen=True)
class Columns:
    """A row for each column of the table that the log was read from."""

    name: str = "columns"

    def render(self, context: Context) -> Markup | None:
        """Nothing where the log came as numbers."""
        found = context.record.log.get("columns")
        listed = found if isinstance(found, list) else []
        rows = [
            [clean(str(row.get(key, ""))) for key in KEYS]
            for row in listed
            if isinstance(row, Mapping)
        ]
        return render("sections/columns.html", keys=KEYS, rows=rows) if rows else None
