"""A log in many files, larger than memory: each file is checked by itself, where an engine says.

What is put together are numbers of episodes, and a file has whole episodes: the result does not
depend on how many files there are. A worker holds one file at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs.addresses import is_address, list_addresses, show_address
from nacre.logs.files import read_log
from nacre.logs.formats.parquet_folder import list_parts
from nacre.logs.reference import name_address
from nacre.logs.schema.mapping import ColumnMap
from nacre.parallel.engine import EngineSource, map_tasks


@dataclass(frozen=True)
class Survey:
    """What the files of a log hold.

    Args:
        files: How many there are.
        lengths: (E,) transitions of each episode, in the order of the files.
        returns: (E,) discounted sums of rewards.
        terminated: (E,) whether the world ended it.
        rewards: The smallest and the largest.
    """

    files: int
    lengths: NDArray[np.int64]
    returns: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    rewards: tuple[float, float]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        n_episodes = len(self.lengths)
        spread = float(self.returns.std(ddof=1)) if n_episodes > 1 else None
        return {
            "files": self.files,
            "transitions": int(self.lengths.sum()),
            "episodes": n_episodes,
            "terminated": int(self.terminated.sum()),
            "longest": int(self.lengths.max()),
            "mean_return": float(self.returns.mean()),
            "standard_error": None if spread is None else spread / float(np.sqrt(n_episodes)),
            "rewards": list(self.rewards),
        }


@dataclass(frozen=True)
class _Task:
    address: str
    columns: ColumnMap
    discount: float


@dataclass(frozen=True)
class _Answer:
    """Of one file: what it holds, the kinds of its states and actions, or what is wrong."""

    survey: Survey | None
    spaces: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def survey_log(
    address: str,
    *,
    columns: ColumnMap | None = None,
    discount: float = 1.0,
    engine: EngineSource | None = None,
) -> Survey:
    """Check every file of a log by itself, and put together what they hold.

    Args:
        address: A folder of Parquet files, here or behind an address such as s3://bucket/log; one
            file is a log too.
        columns: Which column holds what.
        discount: γ of the returns.
        engine: Where files are read; here, one after the other, if not given.

    Raises:
        InputError: With every problem of every file.
    """
    tasks = [_Task(one, columns or ColumnMap(), discount) for one in list_files(address)]
    answers: list[_Answer] = [_Answer(None)] * len(tasks)
    for index, answer in map_tasks(_read, tasks, engine=engine):
        answers[index] = answer
    problems = [problem for answer in answers for problem in answer.problems]
    first = answers[0].spaces
    problems += [
        f"{show_address(task.address)}: holds {', '.join(answer.spaces)}, the first file "
        f"{', '.join(first)}; give files of the same log"
        for task, answer in zip(tasks, answers, strict=True)
        if not problems and answer.spaces != first
    ]
    if problems:
        raise InputError(problems)
    return _combine([one.survey for one in answers if one.survey is not None])


def list_files(address: str) -> list[str]:
    """The files of a log, in the order of their names.

    Raises:
        InputError: If there are none.
    """
    if is_address(address):
        return list_addresses(address)
    path = Path(address)
    parts = list_parts(path) if path.is_dir() else []
    return [name_address(part) for part in parts] or [name_address(path)]


def _read(task: _Task) -> _Answer:
    try:
        log = read_log(task.address, columns=task.columns)
    except InputError as error:
        return _Answer(None, problems=tuple(error.problems))
    last = log.offsets[1:] - 1
    rewards = np.asarray(log.rewards)
    survey = Survey(
        1,
        np.asarray(log.episode_lengths, np.int64),
        log.returns(task.discount),
        np.asarray(log.terminated)[last],
        (float(rewards.min()), float(rewards.max())),
    )
    return _Answer(survey, (_describe(log.observation_space), _describe(log.action_space)))


def _describe(space: Space[Any]) -> str:
    """The kind of a space; how many numbers a discrete one has differs from file to file."""
    if isinstance(space, Box):
        return f"vectors of {space.shape[0]}" if space.shape else "numbers"
    return type(space).__name__


def _combine(parts: Sequence[Survey]) -> Survey:
    return Survey(
        len(parts),
        np.concatenate([one.lengths for one in parts]),
        np.concatenate([one.returns for one in parts]),
        np.concatenate([one.terminated for one in parts]),
        (min(one.rewards[0] for one in parts), max(one.rewards[1] for one in parts)),
    )
