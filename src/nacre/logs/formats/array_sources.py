"""Sources whose columns are whole arrays of NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.categories import Categories, gather_array
from nacre.logs.schema.metadata import Metadata
from nacre.logs.storage.stores import MEMORY, Store


class WholeArrays(ABC):
    """A `Source` that loads each column at once.

    Args:
        names: The columns.
        problems: Receives what is wrong with them.
        metadata: What the file says about them.
        store: Where they go.
    """

    def __init__(
        self,
        names: list[str],
        problems: Problems,
        metadata: Metadata | None = None,
        store: Store = MEMORY,
    ) -> None:
        self.names = names
        self.metadata = Metadata() if metadata is None else metadata
        self.store = store
        self.problems = problems

    @abstractmethod
    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers, truth values or vectors of them."""

    @abstractmethod
    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return a column as (N,) or (N, w), or None after reporting why it cannot be read."""

    def load_categories(self, name: str) -> Categories | None:
        """Return the different values of a column, or None after reporting."""
        values = self.load(name)
        return None if values is None else gather_array(name, values, self.problems)

    def load_times(self, name: str, form: str | None) -> NDArray[Any] | None:
        """Return (N,) seconds since 1970, NaN where missing, or None after reporting."""
        import pyarrow as pa

        from nacre.logs.formats.arrow_times import read_times

        values = self.load(name)
        if values is None:
            return None
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8", "replace")
        column = pa.array(values)
        if pa.types.is_string(column.type):
            column = column.cast(pa.large_string())
        return read_times(name, column.type, [column], form, self.problems)

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""


class ArraySource(WholeArrays):
    """Arrays that are in memory already.

    Args:
        arrays: (N,) or (N, w) each, by name.
        problems: Receives what is wrong with them.
        metadata: Spaces and provenance, as far as known.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        problems: Problems,
        metadata: Metadata | None = None,
    ) -> None:
        super().__init__(list(arrays), problems, metadata)
        self._arrays = arrays

    def is_numeric(self, name: str) -> bool:
        """Return whether an array holds numbers, or objects, which are refused when loaded."""
        return self._arrays[name].dtype.kind in "biufO"

    def load(self, name: str, part: str | None = None) -> NDArray[Any] | None:
        """Return an array as it is."""
        return self._arrays[name]

    def close(self) -> None:
        """Do nothing: the arrays belong to the caller."""
