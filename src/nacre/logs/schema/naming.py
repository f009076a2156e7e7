"""What the coordinates and elements of a log are called where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nacre.logs.episodes import Log
from nacre.logs.schema.mapping import Label
from nacre.logs.schema.spaces import JSON


def observation_names(log: Log) -> tuple[str, ...]:
    """Return the names of the observations' coordinates, (d,).

    They are the columns from which the log was read, else `observation_0, observation_1, …`. A
    Discrete space has one.
    """
    return _names(log, "observation", _width(log.observations.shape))


def action_names(log: Log) -> tuple[str, ...]:
    """Return the names of the actions' coordinates, (k,), likewise."""
    return _names(log, "action", _width(log.actions.shape))


def observation_labels(log: Log) -> tuple[Label, ...] | None:
    """Return what the elements of a Discrete observation space stand for, if that is known."""
    return _labels(log, "observation")


def action_labels(log: Log) -> tuple[Label, ...] | None:
    """Return what the elements of a Discrete action space stand for, if that is known."""
    return _labels(log, "action")


def own_names(log: Log, part: Literal["observation", "action"]) -> tuple[str, ...]:
    """Return the names of a vector's coordinates where each has a column of its own, else none."""
    recorded = _entry(log.provenance, "columns", part)
    shape = log.observations.shape if part == "observation" else log.actions.shape
    if not isinstance(recorded, list) or len(recorded) != _width(shape):
        return ()
    return tuple(str(name) for name in recorded)


def _width(shape: tuple[int, ...]) -> int | None:
    return shape[1] if len(shape) == 2 else None


def _names(log: Log, part: str, width: int | None) -> tuple[str, ...]:
    recorded = _entry(log.provenance, "columns", part)
    if isinstance(recorded, list) and len(recorded) == (1 if width is None else width):
        return tuple(str(name) for name in recorded)
    if width is None:
        return (recorded if isinstance(recorded, str) else part,)
    stem = recorded if isinstance(recorded, str) else part
    return tuple(f"{stem}_{i}" for i in range(width))


def _labels(log: Log, part: str) -> tuple[Label, ...] | None:
    recorded = _entry(log.provenance, "labels", part)
    if not isinstance(recorded, list):
        return None
    return tuple(label for label in recorded if isinstance(label, str | bool | int | float))


def _entry(provenance: Mapping[str, JSON], key: str, part: str) -> JSON:
    entries = provenance.get(key)
    return entries.get(part) if isinstance(entries, dict) else None
