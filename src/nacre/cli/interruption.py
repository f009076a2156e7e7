"""What is said to somebody who interrupts a long command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import typer

from nacre.advice.kept_tasks import count_kept


@contextlib.contextmanager
def explain_interruption(tasks: Path | None) -> Iterator[None]:
    """Whoever interrupts an advice hears what is kept of it, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if tasks is None:
            typer.echo("interrupted; nothing is kept: give --out to be able to go on", err=True)
        else:
            typer.echo(
                f"interrupted; {count_kept(tasks)} finished tasks are kept in {tasks}; run the "
                "same command again to go on, or with --fresh to begin anew",
                err=True,
            )
        raise
