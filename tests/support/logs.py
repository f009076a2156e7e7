"""Small logs for the tests, by seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from gymnasium.spaces import Box, Discrete
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from nacre.logs import Log

SUFFIXES = (".parquet", ".csv", ".npz", ".arrow", ".csv.gz", ".csv.zst")


def make_log(
    lengths: tuple[int, ...] = (3, 1, 4),
    *,
    discrete_observations: bool = False,
    discrete_actions: bool = False,
    width: int = 2,
    further: bool = False,
    seed: int = 0,
) -> Log:
    """A log whose even episodes terminate and whose odd ones are truncated."""
    generator = np.random.default_rng(seed)
    n = sum(lengths)
    offsets = np.append(0, np.cumsum(lengths))
    path: list[NDArray[Any]]
    if discrete_observations:
        path = [generator.integers(5, size=length + 1) for length in lengths]
    else:
        path = [generator.normal(size=(length + 1, width)) for length in lengths]
    ends = offsets[1:] - 1
    terminated, truncated = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    terminated[ends[::2]] = True
    truncated[ends[1::2]] = True
    actions = (
        generator.integers(3, size=n) if discrete_actions else generator.uniform(-1, 1, (n, 2))
    )
    columns: dict[str, NDArray[Any]] = {
        "mean": generator.normal(size=(n, 3)).astype(np.float32),
        "chance": generator.uniform(size=n),
        "count": generator.integers(-4, 4, size=n).astype(np.int16),
        "night": generator.uniform(size=n) < 0.5,
        "single": generator.normal(size=(n, 1)),
    }
    return Log.from_arrays(
        np.concatenate([p[:-1] for p in path]),
        actions,
        generator.normal(size=n),
        terminated,
        truncated,
        np.concatenate([p[1:] for p in path]),
        offsets=offsets,
        observation_space=Discrete(5) if discrete_observations else Box(-np.inf, np.inf, (width,)),
        action_space=Discrete(3) if discrete_actions else Box(-1, 1, (2,)),
        provenance={"world": "a test", "seed": seed},
        columns=columns if further else {},
    )


@st.composite
def logs(draw: st.DrawFn) -> Log:
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    return make_log(
        tuple(lengths),
        discrete_observations=draw(st.booleans()),
        discrete_actions=draw(st.booleans()),
        width=draw(st.integers(1, 4)),
        further=draw(st.booleans()),
        seed=draw(st.integers(0, 10_000)),
    )


def assert_same(a: Log, b: Log) -> None:
    """Equal in every value, dtype and space; provenance included."""
    for name in (
        "observations",
        "actions",
        "rewards",
        "next_observations",
        "terminated",
        "truncated",
        "offsets",
    ):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right, err_msg=name)
    assert a.columns.keys() == b.columns.keys()
    for name, values in a.columns.items():
        assert values.dtype == b.columns[name].dtype, name
        np.testing.assert_array_equal(values, b.columns[name], err_msg=name)
    assert a.observation_space == b.observation_space
    assert a.action_space == b.action_space
    assert a.provenance == b.provenance
    assert a.fingerprint() == b.fingerprint()


def plain_columns(**changes: Any) -> dict[str, Any]:
    """Two episodes of two rows on a line, as lists; None among `changes` removes a column."""
    columns: dict[str, Any] = {
        "episode": [0, 0, 1, 1],
        "observation": [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]],
        "action": [[0.5], [0.5], [-0.5], [0.25]],
        "reward": [1.0, 2.0, 3.0, 4.0],
        "terminated": [False, True, False, False],
        "truncated": [False, False, False, True],
        "next_observation": [[1.0, 5.0], [9.0, 5.0], [3.0, 5.0], [4.0, 5.0]],
    }
    columns.update(changes)
    return {name: values for name, values in columns.items() if values is not None}


def write_parquet(path: Path, **changes: Any) -> Path:
    """Write `plain_columns(**changes)` as somebody else might, without metadata."""
    pq.write_table(pa.table(plain_columns(**changes)), path)
    return path


def write_npz(path: Path, **changes: Any) -> Path:
    return save_npz(path, plain_columns(**changes))


def save_npz(path: Path, columns: Mapping[str, ArrayLike]) -> Path:
    """Write columns of whatever names as an archive."""
    # The names could be those of options, says the type of savez.
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
    np.savez(path, **arrays)
    return path


def write_csv(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
