"""Tables for notebooks: every text is escaped, nothing is styled."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from gymnasium.spaces import Box, Space


def format_table(
    title: str, rows: Sequence[Sequence[object]], heading: Sequence[object] = ()
) -> str:
    """A title and a table as HTML; the first cell of each row is its name."""
    lines = [f"<p><strong>{escape(title)}</strong></p>", "<table>"]
    if heading:
        cells = "".join(f"<th>{escape(str(cell))}</th>" for cell in heading)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    for name, *values in rows:
        cells = "".join(f"<td>{escape(str(value))}</td>" for value in values)
        lines.append(f"<tr><th>{escape(str(name))}</th>{cells}</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def show_space(space: Space[Any]) -> str:
    """A space in a few words: the outermost bounds of a box."""
    if isinstance(space, Box):
        return f"Box({space.low.min():.6g}, {space.high.max():.6g})"
    return str(space)
