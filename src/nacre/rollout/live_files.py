"""Several files of one live log as one: one a stage, one a day, one a site."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.acting import read_episode_numbers
from nacre.logs.checks.completion import OPEN_ENDS

ROWS = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
LIVE_COLUMNS = ("stage", "unit", "arm", "time", "period", "site")
"""What a live log may say of its episodes besides."""


def join_files(files: Mapping[str, Log], stages: Sequence[int] = ()) -> Log:
    """The episodes of all files, by stage and unit where these are logged, else file after file.

    A single file stays as it is.

    Args:
        files: What each file holds, by its name, in their order.
        stages: The stage of each; asked where a file has no column `stage`.

    Raises:
        InputError: If a file has a column that another lacks, or they do not fit together.
    """
    names, last = list(files), len(files) - 1
    if not last:
        return files[names[0]]
    logs = []
    for place, log in enumerate(files.values()):
        # Where no episode of an earlier file has an end, ends are not logged: all of them count.
        whole = log if place < last and log.n_open_ends > 1 else drop_open_end(log)[0]
        logs.append(_mark_stage(whole, stages[place]) if stages else whole)
    _check_columns(names, logs)
    joined = join_logs(logs, " and ".join(names))
    provenance = {**joined.provenance, "notes": [], OPEN_ENDS: 0}
    joined = dataclasses.replace(joined, provenance=provenance)
    order = _find_order(joined, logs, names)
    return joined if order is None else joined.select(order)


def drop_open_end(log: Log) -> tuple[Log, bool]:
    """A growing log ends within an episode; readers mark that as truncated and say so."""
    if not log.n_open_ends or log.n_episodes < 2:
        return log, False
    left = log.select(range(log.n_episodes - 1))
    provenance = {**log.provenance, OPEN_ENDS: log.n_open_ends - 1}
    return dataclasses.replace(left, provenance=provenance), True


def join_logs(
    logs: Sequence[Log], source: str, columns: Mapping[str, NDArray[Any]] | None = None
) -> Log:
    """Logs one after the other; columns that all have stay, further ones are added.

    Raises:
        InputError: If their spaces differ.
    """
    first, *others = logs
    for other in others:
        for name in ("observation_space", "action_space"):
            if getattr(other, name) != getattr(first, name):
                raise InputError(
                    f"{source}: {name.replace('_', ' ')} {getattr(other, name)}, but that of the "
                    f"log before is {getattr(first, name)}; log the same columns in the same units"
                )
    shared = [name for name in first.columns if all(name in other.columns for other in others)]
    kept = {
        name: np.concatenate([np.asarray(log.columns[name]) for log in logs]) for name in shared
    }
    lengths = np.concatenate([log.episode_lengths for log in logs])
    return Log.from_arrays(
        *(np.concatenate([np.asarray(getattr(log, name)) for log in logs]) for name in ROWS),
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=first.observation_space,
        action_space=first.action_space,
        provenance=first.provenance,
        columns={**kept, **(columns or {})},
    )


def _mark_stage(log: Log, number: int) -> Log:
    if "stage" in log.columns:
        return log
    return join_logs([log], "live log", {"stage": np.full(len(log), number)})


def _check_columns(names: Sequence[str], logs: Sequence[Log]) -> None:
    for column in LIVE_COLUMNS:
        having = [column in log.columns for log in logs]
        if any(having) and not all(having):
            raise InputError(
                f"{names[having.index(False)]}: has no column {column!r}, but "
                f"{names[having.index(True)]} has one; log the same columns in all files"
            )


def _find_order(joined: Log, logs: Sequence[Log], names: Sequence[str]) -> list[int] | None:
    """Episodes by stage and unit; None where nothing says so, or a file is out of order itself."""
    keys = [name for name in ("stage", "unit", "period") if name in joined.columns]
    if not {"unit", "period"} & {*keys}:
        return None
    for log, name in zip(logs, names, strict=True):
        listed = np.stack([read_episode_numbers(log, key, name) for key in keys], axis=1).tolist()
        if listed != sorted(listed):
            return None
    columns = [read_episode_numbers(joined, key) for key in keys]
    order: list[int] = np.lexsort(columns[::-1]).tolist()
    return order
