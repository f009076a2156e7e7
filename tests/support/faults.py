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

CALLS = ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir", "ftruncate", "posix_fallocate")


class Faults:
    """Counts calls that change files under a folder, and lets one of them fail.

    Args:
        folder: Calls on other places, and on what has no place, count only if they are `fsync`.
        at: Which call fails, counted from 0; -1 for none.
        action: What happens instead of it.
    """

    def __init__(self, folder: Path, at: int, action: Callable[[], None]) -> None:
        self.folder, self.at, self.action = os.path.realpath(folder), at, action
        self.names: list[str] = []

    def count(self, name: str) -> None:
        """One more call."""
        self.names.append(name)
        if len(self.names) - 1 == self.at:
            self.action()

    def concerns(self, place: Any) -> bool:
        """Whether a call is about the folder."""
        if isinstance(place, int):
            with contextlib.suppress(OSError):
                return str(Path(f"/proc/self/fd/{place}").readlink()).startswith(self.folder)
            return False
        return str(os.path.realpath(os.fspath(place))).startswith(self.folder)


class _Written:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def write(self, data: Any) -> Any:
        self._faults.count("write")
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
            if "dir_fd" in options or faults.concerns(place):
                faults.count(name)
            return real(place, *arguments, **options)

        return call

    def open_counted(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        stream = opened(file, mode, *arguments, **options)
        if not set(mode) & set("wxa+") or not faults.concerns(file):
            return stream
        return _Written(stream, faults)

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
