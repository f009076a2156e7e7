from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.logs import Log, log_from_arrays, log_from_table, read_log, write_log
from tests.support.logs import assert_same, make_log, plain_columns


class Interchange:
    """A table that only knows the older of the two protocols."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __dataframe__(self, *arguments: Any, **options: Any) -> Any:
        return self._table.__dataframe__(*arguments, **options)


def flat_columns() -> dict[str, Any]:
    columns = plain_columns(observation=None, next_observation=None, action=[0, 1, 1, 0])
    return columns | {"observation_0": [0.0, 1, 2, 3], "observation_1": [5.0] * 4}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_tables_of_every_kind_are_the_same_log(make: Any, tmp_path: Any) -> None:
    reference = log_from_arrays({n: np.asarray(v) for n, v in plain_columns().items()})
    log = log_from_table(make(plain_columns()), provenance={"site": "north"})
    assert log.fingerprint() == reference.fingerprint()
    assert log.provenance["site"] == "north"


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_the_older_protocol_is_understood(make: Any) -> None:
    log = log_from_table(make(flat_columns()))
    older = log_from_table(Interchange(pa.table(flat_columns())))
    assert log.fingerprint() == older.fingerprint()


def test_categories_of_pandas_and_polars() -> None:
    phases = ["red", "green", "green", "red"]
    columns = {"action": "phase", "labels": {"action": ["red", "green"]}}
    plain = flat_columns()
    del plain["action"]
    logs = [
        log_from_table(pd.DataFrame(plain | {"phase": pd.Categorical(phases)}), columns=columns),
        log_from_table(pd.DataFrame(plain | {"phase": phases}), columns=columns),
        log_from_table(pl.DataFrame(plain | {"phase": phases}), columns=columns),
        log_from_table(
            pl.DataFrame(plain | {"phase": pl.Series(phases, dtype=pl.Categorical)}),
            columns=columns,
        ),
        log_from_arrays(plain | {"phase": np.array(phases)}, columns=columns),
    ]
    assert all(log.action_space == Discrete(2) for log in logs)
    assert len({log.fingerprint() for log in logs}) == 1


def test_an_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame(flat_columns()).iloc[[0, 1, 2, 3]]
    frame.index = pd.Index([7, 3, 9, 1])
    assert log_from_table(frame).columns == {}


def test_a_table_brings_its_metadata(tmp_path: Any) -> None:
    log = make_log(further=True)
    write_log(log, tmp_path / "log.arrow")
    table = pa.ipc.open_file(tmp_path / "log.arrow").read_all()
    assert_same(log_from_table(table), log)


def test_what_is_no_table() -> None:
    with pytest.raises(InputError, match="table: list is no table; give one of pandas"):
        log_from_table([1, 2])
    mixed = pd.DataFrame(flat_columns() | {"mixed": [1, "a", None, []]}, dtype=object)
    with pytest.raises(InputError, match="table: cannot be read by Arrow"):
        log_from_table(mixed)
    with pytest.raises(InputError, match="arrays is a DataFrame: give arrays by name"):
        log_from_arrays(pd.DataFrame(flat_columns()))


def test_arrays_named_as_in_d4rl() -> None:
    log = log_from_arrays(
        {
            "observations": [[0.0], [1.0], [2.0], [3.0], [4.0]],
            "actions": [[0.5]] * 5,
            "rewards": [1.0] * 5,
            "terminals": [False, True, False, False, False],
            "timeouts": [False, False, False, True, False],
            "infos": {"qpos": [1.0]},
        }
    )
    # The last row is an episode of its own, without an end or a successor.
    np.testing.assert_array_equal(log.observations[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(log.next_observations[:, 0], [1, 1, 3])
    np.testing.assert_array_equal(log.offsets, [0, 2, 3])
    np.testing.assert_array_equal(log.terminated, [0, 1, 0])
    np.testing.assert_array_equal(log.truncated, [0, 0, 1])


def test_problems_of_arrays_are_named() -> None:
    arrays = {n: np.asarray(v) for n, v in plain_columns().items()}
    with pytest.raises(InputError, match="arrays: column 'reward', row 1: is missing, NaN"):
        log_from_arrays(arrays | {"reward": np.array([1, np.nan, 1, 1])})
    with pytest.raises(InputError, match="column 'action': holds Python objects, which are never"):
        log_from_arrays(arrays | {"action": np.array([1, 2, 3, None], dtype=object)})
    with pytest.raises(InputError, match="column 'action': is ragged"):
        log_from_arrays(arrays | {"action": [[1], [1, 2], [1], [1]]})
    repeated = pa.Table.from_arrays([pa.array([1])] * 2, names=["episode", "episode"])
    with pytest.raises(InputError, match="table: column 'episode': appears more than once"):
        log_from_table(repeated)


def test_further_texts_are_left_out() -> None:
    log = log_from_arrays(plain_columns() | {"weather": ["sun"] * 4})
    assert isinstance(log, Log)
    assert log.columns == {}
    assert "the column 'weather' is not numeric" in str(log.provenance["notes"])


def test_reading_does_not_need_what_people_may_not_have() -> None:
    code = (
        "import sys\nfor name in ('polars', 'h5py', 'minari'): sys.modules[name] = None\n"
        "import nacre.logs, pyarrow as pa\n"
        "log = nacre.logs.log_from_table(pa.table({'episode': [0], 'obs': [[1.0]], 'act': [0],"
        " 'rew': [0.0], 'done': [True]}))\n"
        "print(len(log), 'jax' in sys.modules)"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "1 False"


def test_a_log_of_a_table_is_read_back(tmp_path: Any) -> None:
    log = log_from_table(pl.DataFrame(flat_columns()).rename({"reward": "rew"}))
    write_log(log, tmp_path / "log.csv")
    assert_same(read_log(tmp_path / "log.csv"), log)
