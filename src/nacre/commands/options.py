"""Options that commands share."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of text for people.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of all random draws.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what was asked for.")]

# "\b" in an epilog keeps the line breaks of a paragraph.
