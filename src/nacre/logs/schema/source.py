"""Columns by name, wherever they lie."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from nacre.logs.schema.categories import Categories
from nacre.logs.schema.metadata import Metadata
from nacre.logs.storage.stores import Store


class Source(Protocol):
    """A file that has been opened: names at once, columns when asked for."""

    names: list[str]
    metadata: Metadata
    store: Store

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""
        ...

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read.

        Args:
            name: The column.
            part: The field that it is for, if it is for one.
        """
        ...

    def load_categories(self, name: str) -> Categories | None:
        """Return the different values of a column, or None after reporting."""
        ...

    def load_times(self, name: str, form: str | None) -> NDArray[Any] | None:
        """Return (N,) seconds since 1970, NaN where missing, or None after reporting."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...
