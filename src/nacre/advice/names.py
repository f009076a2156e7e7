"""What states and actions are called where the log comes from, for records and pages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacre.logs import Log, action_labels, observation_labels, own_names
from nacre.logs.schema.encoding import ColumnEncoding, read_encodings, show_columns

MOST_COORDINATES = 6
MOST_NAMES = 1000
TEXTS = ("actions", "action_columns", "states", "state_columns")


@dataclass(frozen=True)
class Names:
    """Names as far as the log has some; each may be empty.

    Args:
        actions: Labels of discrete actions.
        action_columns: Names of an action vector's coordinates.
        states: Labels of discrete states.
        state_columns: Names of a state vector's coordinates.
        encodings: How columns of a table became a state vector; its states are shown as rows then.
    """

    actions: tuple[str, ...] = ()
    action_columns: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    state_columns: tuple[str, ...] = ()
    encodings: tuple[ColumnEncoding, ...] = ()

    @classmethod
    def of_log(cls, log: Log) -> Names:
        """What a log calls them; numbered coordinates have no names."""
        return cls(
            tuple(map(str, action_labels(log) or ())),
            own_names(log, "action"),
            tuple(map(str, observation_labels(log) or ())),
            own_names(log, "observation"),
            read_encodings(log.provenance.get("encoding")),
        )

    @classmethod
    def of_record(cls, facts: Mapping[str, Any]) -> Names:
        """What a record keeps of them; what is not a list of texts is left out."""
        kept = {
            name: tuple(map(str, facts[name]))
            for name in TEXTS
            if isinstance(facts.get(name), list | tuple)
        }
        return cls(**kept, encodings=read_encodings(facts.get("encodings")))

    def as_json(self) -> dict[str, list[Any]]:
        """For the record; what is not named is left out, and so are very many names."""
        named = {name: list(getattr(self, name)) for name in TEXTS}
        named["encodings"] = [encoding.as_json() for encoding in self.encodings]
        return {name: some for name, some in named.items() if 0 < len(some) <= MOST_NAMES}

    def name_action(self, action: Any) -> str:
        """A label, or numbers with the names of their coordinates."""
        return _name(action, self.actions, self.action_columns, "action")

    def name_state(self, state: Any) -> str:
        """The same for a state; the columns of a table where it was made from them."""
        if self.encodings and isinstance(state, list | tuple | np.ndarray):
            numbers = [
                float(one) for one in np.ravel(state) if isinstance(one, float | np.floating)
            ]
            if len(numbers) == sum(len(one.features) for one in self.encodings):
                shown = show_columns(self.encodings, numbers)
                rest = [] if len(shown) <= MOST_COORDINATES else ["…"]
                return ", ".join(shown[:MOST_COORDINATES] + rest)
        return _name(state, self.states, self.state_columns, "state")


def _name(value: Any, labels: Sequence[str], columns: Sequence[str], what: str) -> str:
    if isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0:
        return _name_vector(list(np.ravel(value)), columns)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return labels[int(value)] if 0 <= value < len(labels) else f"{what} {value}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _name_vector(numbers: Sequence[Any], columns: Sequence[str]) -> str:
    shown = [
        f"{one:.3g}" if isinstance(one, float | np.floating) else str(one)
        for one in numbers[:MOST_COORDINATES]
    ]
    rest = ", …" if len(numbers) > MOST_COORDINATES else ""
    if len(columns) == len(numbers):
        return ", ".join(f"{n} {v}" for n, v in zip(columns, shown, strict=False)) + rest
    return f"({', '.join(shown)}{rest})"


def name_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Names of candidates by their files: without the ending, with folders where two are alike."""
    parts = [Path(path).with_suffix("").parts for path in paths]
    names = []
    for place, own in enumerate(parts):
        others = [other for i, other in enumerate(parts) if i != place and other != own]
        depth = 1
        while depth < len(own) and any(other[-depth:] == own[-depth:] for other in others):
            depth += 1
        names.append("/".join(own[-depth:]))
    return names
