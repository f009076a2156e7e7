"""Calls to the system that fail, or kill the process, at the n-th time."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

CALLS = (
    *("fsync", "replace", "rename", "mkdir", "unlink", "rmdir", "link", "symlink"),
    *("ftruncate", "truncate", "posix_fallocate", "write", "pwrite", "sendfile", "copy_file_range"),
)


class Faults:
    """Counts calls that change files under a folder, and lets one of them fail.

    Args:
        folder: Calls on other places, and on what has no place, do not count.
        at: Which call fails, counted from 0; -1 for none.
        action: What happens instead of it.

    Attributes:
        calls: Names and places of all calls so far.
    """

    def __init__(self, folder: Path, at: int, action: Callable[[], None]) -> None:
        self.folder, self.at, self.action = os.path.realpath(folder), at, action
        self.calls: list[tuple[str, str]] = []

    @property
    def names(self) -> list[str]:
        """Of all calls so far."""
        return [name for name, _ in self.calls]

    def count(self, name: str, place: str) -> None:
        """One more call; the one whose turn it is fails."""
        self.calls.append((name, place))
        if len(self.calls) - 1 == self.at:
            self.action()

    def locate(self, place: Any, within: int | None = None) -> str:
        """Where in the folder a path or an open file is; nothing if it is elsewhere."""
        if isinstance(place, int):
            place = _follow(place)
            if not place.startswith("/"):
                # A pipe or the like.
                return ""
        elif within is not None:
            place = Path(_follow(within), os.fsdecode(place))
        # The last part may be a link that is to be removed: it is not followed.
        path = Path.cwd() / os.fsdecode(place)
        found = str(path.parent.resolve() / path.name)
        return found if f"{found}/".startswith(f"{self.folder}/") else ""


def _follow(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    return "/"


class _Written:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faults: Faults, place: str) -> None:
        self._file, self._faults, self._place = file, faults, place

    def write(self, data: Any) -> Any:
        self._faults.count("write", self._place)
        return self._file.write(data)

    def __enter__(self) -> Any:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextlib.contextmanager
def fail_at(folder: Path, at: int, action: Callable[[], None]) -> Iterator[Faults]:
    """Count the calls of a block; the one with the number `at` fails."""
    faults = Faults(folder, at, action)
    opened = io.open

    def wrap(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(place: Any, *arguments: Any, **options: Any) -> Any:
            found = faults.locate(place, options.get("dir_fd"))
            if found:
                faults.count(name, found)
            return real(place, *arguments, **options)

        return call

    def open_counted(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        place = faults.locate(file) if set(mode) & set("wxa+") else ""
        if place:
            faults.count("open", place)
        stream = opened(file, mode, *arguments, **options)
        return _Written(stream, faults, place) if place else stream

    with contextlib.ExitStack() as stack:
        for name in CALLS:
            if hasattr(os, name):
                stack.enter_context(mock.patch.object(os, name, wrap(name)))
        stack.enter_context(mock.patch.object(io, "open", open_counted))
        stack.enter_context(mock.patch.object(builtins, "open", open_counted))
        yield faults


def raise_error(number: int) -> Callable[[], None]:
    """An error of the system."""

    def action() -> None:
        raise OSError(number, os.strerror(number))

    return action


def die() -> None:
    """End this process at once, as a kill does."""
    os.kill(os.getpid(), signal.SIGKILL)


ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EROFS)
