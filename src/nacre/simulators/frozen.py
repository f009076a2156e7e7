"""Arrays of worlds that nobody can change."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def freeze_arrays(world: object, names: Iterable[str]) -> None:
    """Replace fields of a frozen dataclass by read-only float64 copies."""
    for name in names:
        array = np.array(getattr(world, name), dtype=np.float64)
        array.flags.writeable = False
        object.__setattr__(world, name, array)
