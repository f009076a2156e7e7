"""The folder that an advice is written to: tried before the work begins."""

from __future__ import annotations

from pathlib import Path

from nacre.advice.record import FILE_NAME
from nacre.errors import InputError
from nacre.files.commit import check_writable


def check_folder(out: Path | None, *, force: bool) -> None:
    """Advice can be written there, and replaces none unless it is forced to.

    Raises:
        InputError: If it is a file, cannot be written, or holds an advice that may not go.
    """
    if out is None:
        return
    if out.is_file():
        raise InputError(f"{out}: is a file; give a folder")
    if (out / FILE_NAME).exists() and not force:
        raise InputError(
            f"{out}: holds an earlier advice; give another folder, or --force to replace it"
        )
    check_writable(out)
