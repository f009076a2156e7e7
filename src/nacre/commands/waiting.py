"""What people see while a log is read: that something happens, and for how long already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from nacre.log import Log, read_log


@contextlib.contextmanager
def open_wait(label: str, *, quiet: bool) -> Iterator[None]:
    """A turning sign on standard error; nothing when quiet or not on a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        progress.add_task(label, total=None)
        yield


def read_log_aloud(source: str | Path, *, columns: Path | None = None, quiet: bool) -> Log:
    """Read a log and show that it is being read."""
    with open_wait(f"reading {source}", quiet=quiet):
        return read_log(source, columns=columns)
