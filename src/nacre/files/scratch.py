"""Folders for a while: gone at the end, and recognised and removed where a kill left them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from nacre.files.locks import try_lock

PREFIX = ".nacre-partial-"


@contextlib.contextmanager
def open_scratch(root: Path) -> Iterator[Path]:
    """A new folder that is gone afterwards, unless it has been renamed.

    It is locked as long as it is in use; what others left in the same place is removed first.
    """
    for leftover in root.glob(f"{PREFIX}*"):
        _remove_abandoned(leftover)
    folder, handle = _make(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _make(root: Path) -> tuple[Path, int]:
    while True:
        folder = root / f"{PREFIX}{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        if os.name != "posix":
            return folder, os.open(os.devnull, os.O_RDONLY)
        handle = os.open(folder, os.O_RDONLY)
        try_lock(handle)
        # Somebody who cleans up may have taken it before it was locked.
        if folder.exists():
            return folder, handle
        os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            if try_lock(handle):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)
