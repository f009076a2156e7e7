"""What people see while they wait: how far it is, and how long it will still take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from nacre.cli.policy_flags import PolicyFlags
from nacre.logs import Log, read_columns, read_log
from nacre.logs.addresses import is_address, show_address
from nacre.policies import CloneConfig, Policy

if TYPE_CHECKING:
    from nacre.learners.base import Candidate

OPEN_FILES = Path("/proc/self/fd")
"""Where the system tells which files this process has open, if it does."""


@contextlib.contextmanager
def open_wait(
    label: str,
    *,
    quiet: bool,
    source: str | os.PathLike[str] | None = None,
) -> Iterator[Callable[[int, int], None]]:
    """A sign of life on standard error; nothing when quiet or not on a terminal.

    Yields:
        What may be told how much is done, and of how much.

    Args:
        label: What is being done.
        quiet: Show nothing.
        source: A file that is read meanwhile; how far tells how long it will still take.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda done, total: None
        return
    with ReadingProgress(label, source, console) as bar:

        def tell(done: int, total: int) -> None:
            bar.update(bar.task_ids[0], completed=done, total=total, left="left")

        yield tell


def read_log_aloud(
    source: str | Path,
    *,
    columns: Path | None = None,
    assignments: Sequence[str] | None = None,
    cache_dir: Path | None = None,
    quiet: bool,
) -> Log:
    """Read a log and show how far that is."""
    shown = show_address(str(source)) if is_address(source) else source
    with open_wait(f"reading {shown}", quiet=quiet, source=source):
        column_map = read_columns(columns, assignments or ())
        return read_log(source, columns=column_map, cache_dir=cache_dir)


def read_policy_aloud(
    source: str | Path, log: Log, flags: PolicyFlags, *, seed: int, quiet: bool
) -> tuple[Policy, dict[str, Any]]:
    """Read a policy with its provenance, and show how far that is if it has to be cloned."""
    with open_wait(f"reading the policy {source}", quiet=quiet) as tell:
        clone = CloneConfig(on_steps=tell)
        return flags.read_with_provenance(source, log=log, seed=seed, clone=clone)


def read_candidates(
    paths: Sequence[Path], log: Log, flags: PolicyFlags, *, seed: int, quiet: bool
) -> list[Candidate]:
    """Policies of the user's own, named by their files."""
    from nacre.advice.names import name_files
    from nacre.learners.base import Candidate

    found = []
    for path, name in zip(paths, name_files(paths), strict=True):
        proposed, _ = read_policy_aloud(path, log, flags.for_others, seed=seed, quiet=quiet)
        found.append(Candidate(name, proposed, f"given as {path.name}"))
    return found


def find_position(source: str | os.PathLike[str]) -> int:
    """Bytes of a file up to where this process reads it now; 0 where that cannot be known.

    Whoever reads need not tell: the system knows. Files that are read here and there, as Parquet
    is, have no such place; `count_read` tells of them.
    """
    wanted = os.path.realpath(source)
    with contextlib.suppress(OSError):
        for entry in OPEN_FILES.iterdir():
            # Files are closed while we look.
            with contextlib.suppress(OSError, ValueError, IndexError):
                if str(entry.readlink()) == wanted:
                    told = (OPEN_FILES.with_name("fdinfo") / entry.name).read_text()
                    return int(told.split()[1])
    return 0


def count_read() -> int:
    """Bytes that this process has read so far, of whatever; 0 where that cannot be known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(OPEN_FILES.with_name("io").read_text().split()[1])
    return 0


class ReadingProgress(Progress):
    """A bar that looks by itself how far a file has been read."""

    def __init__(self, label: str, source: str | os.PathLike[str] | None, console: Console) -> None:
        self._source = source
        self._before = count_read()
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self.add_task(label, total=None, left="")

    def get_renderables(self) -> Iterable[RenderableType]:
        """Look, then draw."""
        # While the bar is being made there is no task yet.
        if self._source is not None and self.tasks:
            size = self._find_size(self._source)
            position = find_position(self._source) or min(count_read() - self._before, size)
            if position > 0:
                # One more than there are: what was read is still to be checked.
                self.update(self.task_ids[0], completed=position, total=size + 1, left="left")
        yield from super().get_renderables()

    @staticmethod
    def _find_size(source: str | os.PathLike[str]) -> int:
        """Bytes of a file; 0 where there is none, as behind minari:ID."""
        with contextlib.suppress(OSError):
            return Path(source).stat().st_size
        return 0
