"""A log by its address: what tasks take along instead of its arrays."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.errors import InputError
from nacre.logs.addresses import show_address
from nacre.logs.schema.mapping import ColumnMap

if TYPE_CHECKING:
    from nacre.logs.episodes import Log


@dataclass(frozen=True)
class LogReference:
    """Where a log lies, and how it was read.

    Args:
        address: An absolute path, or an address such as s3://bucket/log.
        columns: Which column holds what.
        spaces: Given by the caller.
        cache_dir: Where its arrays are mapped.
    """

    address: str
    columns: ColumnMap
    spaces: tuple[tuple[str, Any], ...] = ()
    cache_dir: str | None = None

    def open(self, sha256: str) -> Log:
        """Read the log where this runs.

        Raises:
            InputError: If it cannot be read there, or is not the log of this fingerprint.
        """
        from nacre.logs.files import read_log

        given = {f"{name}_space": space for name, space in self.spaces}
        try:
            log = read_log(self.address, columns=self.columns, cache_dir=self.cache_dir, **given)
        except InputError as error:
            raise InputError(
                [f"worker on {platform.node()}: {problem}" for problem in error.problems]
            ) from None
        found = log.fingerprint()
        if found != sha256:
            raise InputError(
                f"{show_address(self.address)}: has changed since the work began (SHA-256 "
                f"{found[:12]} instead of {sha256[:12]}); begin anew"
            )
        return log


def name_address(path: str | os.PathLike[str]) -> str:
    """A path as other processes find it; addresses stay as they are."""
    text = os.fspath(path)
    return text if ":" in text else str(Path(text).absolute())
