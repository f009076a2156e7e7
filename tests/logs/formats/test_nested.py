"""Nested tables: dictionaries by name, episodes as rows, RLDS, LeRobot's folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nacre.errors import InputError
from nacre.logs import read_log
from nacre.logs.schema.naming import observation_names


def write(path: Path, columns: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_dictionaries_are_flattened_by_name(tmp_path: Path) -> None:
    observation = [{"place": [float(i), 0.5], "speed": -float(i)} for i in range(3)]
    path = write(
        tmp_path / "log.parquet",
        {
            "episode": [0, 0, 0],
            "observation": observation,
            "action": [0, 1, 0],
            "reward": [1.0, 2.0, 3.0],
            "terminated": [False, False, True],
        },
    )
    log = read_log(path)
    np.testing.assert_array_equal(log.observations, [[0, 0.5, 0], [1, 0.5, -1], [2, 0.5, -2]])
    expected = ("observation.place[0]", "observation.place[1]", "observation.speed")
    assert observation_names(log) == expected


def test_rows_that_are_whole_episodes(tmp_path: Path) -> None:
    path = write(
        tmp_path / "log.parquet",
        {
            "observations": [[[0.0], [1.0]], [[5.0], [6.0], [7.0]]],
            "actions": [[[0.1], [0.2]], [[0.3], [0.4], [0.5]]],
            "rewards": [[1.0, 2.0], [3.0, 4.0, 5.0]],
            "dones": [[False, True], [False, False, True]],
        },
    )
    log = read_log(path)
    assert log.episode_lengths.tolist() == [2, 3]
    np.testing.assert_array_equal(log.returns(), [3, 12])
    np.testing.assert_array_equal(log.observations[:, 0], [0, 1, 5, 6, 7])


def test_rlds_ends_with_an_observation_that_is_no_transition(tmp_path: Path) -> None:
    def step(i: int, last: bool = False, terminal: bool = False) -> dict[str, Any]:
        return {
            "observation": {"state": [float(i)]},
            "action": [0.1 * i],
            "reward": float(i),
            "is_first": i == 0,
            "is_last": last,
            "is_terminal": terminal,
        }

    steps = [[step(0), step(1), step(2, True, True)], [step(0), step(1, True)]]
    log = read_log(write(tmp_path / "log.parquet", {"steps": steps}))
    assert log.episode_lengths.tolist() == [2, 1]
    np.testing.assert_array_equal(log.next_observations[:, 0], [1, 2, 1])
    np.testing.assert_array_equal(log.terminated, [False, True, False])
    np.testing.assert_array_equal(log.truncated, [False, False, True])
    np.testing.assert_array_equal(log.rewards, [0, 1, 0])


@pytest.fixture
def lerobot(tmp_path: Path) -> Path:
    folder = tmp_path / "pusht"
    for episode in range(2):
        n = 3
        write(
            folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet",
            {
                "observation.state": [[float(i), float(episode)] for i in range(n)],
                "observation.image": [{"bytes": b"png", "path": "a.png"}] * n,
                "action": [[0.5]] * n,
                "episode_index": [episode] * n,
                "frame_index": list(range(n)),
                "next.reward": [float(i) for i in range(n)],
                "next.done": [i == n - 1 for i in range(n)],
            },
        )
    write(folder / "meta" / "tasks.parquet", {"task": ["push"]})
    return folder


def test_a_folder_of_lerobot(lerobot: Path) -> None:
    log = read_log(lerobot)
    assert log.episode_lengths.tolist() == [3, 3]
    np.testing.assert_array_equal(log.observations[3:], [[0, 1], [1, 1], [2, 1]])
    np.testing.assert_array_equal(log.returns(), [3, 3])
    assert "holds bytes and was left out" in str(log.provenance["notes"])


def test_a_folder_of_hugging_face(tmp_path: Path) -> None:
    columns = {"x": [1.0, 2.0], "act": [0, 1], "reward": [0.0, 1.0], "done": [True, True]}
    for kind in ("test", "train"):
        write(tmp_path / "data" / f"{kind}-00000-of-00001.parquet", columns)
    log = read_log(tmp_path, columns={"observation": ("x",), "episode": False})
    assert len(log) == 2
    saved = tmp_path / "saved"
    saved.mkdir()
    with pa.OSFile(str(saved / "data-00000-of-00001.arrow"), "wb") as file:
        table = pa.table(columns)
        with pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    again = read_log(saved, columns={"observation": ("x",), "episode": False})
    np.testing.assert_array_equal(again.observations, log.observations)


def test_damaged_files_of_a_folder_are_named(lerobot: Path) -> None:
    (lerobot / "data" / "chunk-000" / "episode_000001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"episode_000001.parquet"):
        read_log(lerobot)
