"""Locks between processes. The system frees them when their holder ends, also by a kill."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_HELD = threading.local()


def try_lock(file: IO[bytes] | int) -> bool:
    """Lock an open file for as long as it is open; False if another process has it."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def lock_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Wait until nobody else writes in a folder; where it cannot be locked, go on without.

    The folder itself is locked: no file is left behind. Whoever holds it may ask again.

    Args:
        folder: An existing folder.
        shared: Others may read at the same time; nobody may write.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
        stat = os.fstat(handle)
    except OSError:
        yield
        return
    held: set[tuple[int, int]] = _HELD.__dict__.setdefault("folders", set())
    identity = (stat.st_dev, stat.st_ino)
    try:
        if identity in held or sys.platform == "win32":
            yield
            return
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        held.add(identity)
        try:
            yield
        finally:
            held.discard(identity)
    finally:
        os.close(handle)
