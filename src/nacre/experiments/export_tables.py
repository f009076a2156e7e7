"""Tables of what other libraries export, from the record of `scripts/compare_exports.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nacre.experiments.listing import format_markdown
from nacre.experiments.records import Record


def write_exports(records: Sequence[Record]) -> str:
    """Exports that were read, and by how much their actions differ; then what was refused."""
    read = [
        [
            one["library"],
            one["learner"],
            one["world"],
            one["form"],
            "yes" if one["outcome"] == "read" else "no",
            f"{one['difference']:.1e}",
        ]
        for one in records
        if one["outcome"] != "refused"
    ]
    header = ["library", "learner", "world", "export", "right actions", "largest difference"]
    refused = [one for one in records if one["outcome"] == "refused"]
    files = {one["form"]: one["library"] for one in refused}
    told = [
        [
            library,
            f"`{form}`" if form.startswith(".") else form,
            str(sum(one["form"] == form for one in refused)),
            next(one["told"] for one in refused if one["form"] == form).partition("; ")[2],
        ]
        for form, library in files.items()
    ]
    tables = [format_markdown(header, read)]
    if told:
        tables.append(format_markdown(["library", "form", "refused", "what to do"], told))
    return "\n\n".join(tables)


TABLES: dict[str, tuple[Path, Callable[[Sequence[Record]], str]]] = {
    "exports": (Path("policies/exports.jsonl"), write_exports),
}
