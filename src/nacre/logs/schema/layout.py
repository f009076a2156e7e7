"""The columns of a log as files hold them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs.checks.problems import show
from nacre.logs.episodes import Log
from nacre.logs.storage.views import take_column


def lay_out(log: Log) -> dict[str, NDArray[Any]]:
    """Return the columns of a log by their names in files, one row a transition."""
    return {
        "episode": log.episode_ids,
        "observation": log.observations,
        "action": log.actions,
        "reward": log.rewards,
        "next_observation": log.next_observations,
        "terminated": log.terminated,
        "truncated": log.truncated,
        **log.columns,
    }


def spread(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns with each vector column spread over `name_0, name_1, …`.

    Raises:
        InputError: If two columns would have the same name then.
    """
    plain: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        parts = (
            {name: values}
            if values.ndim == 1
            else {f"{name}_{i}": take_column(values, i) for i in range(values.shape[1])}
        )
        for part in parts:
            if part in plain:
                raise InputError(f"log: two columns are called {show(part)}; rename one of them")
        plain.update(parts)
    return plain


def check_names(log: Log, forbidden: str = "", *taken: str) -> None:
    """Refuse names of further columns that the format cannot hold safely.

    Raises:
        InputError: For unprintable names, those with a character of `forbidden`, and `taken` ones.
    """
    wrong = [
        name
        for name in log.columns
        if not name.isprintable() or name in taken or any(c in name for c in forbidden)
    ]
    if wrong:
        raise InputError(
            [f"log: a column cannot be called {show(n)} in this format; rename it" for n in wrong]
        )
