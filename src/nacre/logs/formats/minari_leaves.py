"""Observations of Minari that are dictionaries, tuples or several choices, flattened by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.logs.schema.spaces import SpaceError

_DEEPEST = 8


@dataclass(frozen=True)
class Leaf:
    """One array among those of an observation.

    Attributes:
        path: Its names in the file, below `observations`.
        choices: How many values each of its numbers can have, where they are choices: these become
            one number for each value. Other numbers stay as they are.
        start: The first value of each.
    """

    path: tuple[str, ...]
    choices: tuple[int, ...] = ()
    start: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What its column is called behind `observation`, with the dots."""
        return "".join(f".{part}" for part in self.path)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (n, w) numbers of (n, …) values."""
        rows = values.reshape(len(values), -1)
        if not self.choices:
            return rows.astype(np.float32)
        marks = [
            np.arange(first, first + n) == rows[:, [place]]
            for place, (n, first) in enumerate(zip(self.choices, self.start, strict=True))
        ]
        return np.concatenate(marks, axis=1).astype(np.float32)


def list_leaves(form: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[Leaf]:
    """Return the arrays of a space in Minari's JSON.

    Raises:
        SpaceError: If it is of another kind.
    """
    kind = form.get("type")
    if kind in ("Dict", "Tuple") and len(path) < _DEEPEST:
        below = form["subspaces"]
        named = (
            below.items() if kind == "Dict" else ((f"_index_{i}", s) for i, s in enumerate(below))
        )
        return [leaf for name, one in named for leaf in list_leaves(one, (*path, str(name)))]
    if kind in ("Box", "MultiBinary"):
        return [Leaf(path)]
    if kind == "Discrete":
        return [Leaf(path, (int(form["n"]),), (int(form.get("start", 0)),))]
    if kind == "MultiDiscrete":
        choices = tuple(int(n) for n in np.ravel(form["nvec"]))
        start = np.ravel(form.get("start") or np.zeros(len(choices)))
        return [Leaf(path, choices, tuple(int(first) for first in start))]
    raise SpaceError(str(kind))
