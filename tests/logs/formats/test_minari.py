from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import h5py
import minari
import numpy as np
import pytest
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer

from nacre.errors import InputError
from nacre.logs import action_labels, read_log, validate_log, write_log
from nacre.logs.storage import stores as stores_module
from tests.support.logs import assert_same

LENGTHS = (3, 1, 5)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


def write(
    name: str = "north/pump-v0",
    observation_space: Any = None,
    action_space: Any = None,
) -> list[EpisodeBuffer]:
    """Write a dataset with Minari; the second episode terminates, the others are cut."""
    observation_space = observation_space or spaces.Box(-10, 10, (2,), np.float64)
    action_space = action_space or spaces.Discrete(3)
    observation_space.seed(1)
    action_space.seed(2)
    generator = np.random.default_rng(3)
    buffers = []
    for i, length in enumerate(LENGTHS):
        ends = np.arange(length) == length - 1
        buffers.append(
            EpisodeBuffer(
                observations=_stack([observation_space.sample() for _ in range(length + 1)]),
                actions=_stack([action_space.sample() for _ in range(length)]),
                rewards=list(generator.normal(size=length)),
                terminations=list(ends & (i == 1)),
                truncations=list(ends & (i != 1)),
                infos={"speed": np.zeros(length + 1)},
            )
        )
    with warnings.catch_warnings():
        # Minari recommends to name an environment, which this dataset does not have.
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            name,
            buffers,
            observation_space=observation_space,
            action_space=action_space,
            algorithm_name="a rule",
        )
    return buffers


def _stack(samples: list[Any]) -> Any:
    if isinstance(samples[0], dict):
        return {key: _stack([sample[key] for sample in samples]) for key in samples[0]}
    if isinstance(samples[0], tuple):
        return tuple(_stack(list(part)) for part in zip(*samples, strict=True))
    return np.stack(samples)


def texts_of(name: Any) -> list[str]:
    return [str(problem) for problem in validate_log(name)]


def test_a_dataset_that_minari_wrote(root: Path) -> None:
    buffers = write()
    log = read_log("minari:north/pump-v0")
    observations = [np.asarray(buffer.observations) for buffer in buffers]
    np.testing.assert_array_equal(
        log.observations, np.concatenate([o[:-1] for o in observations]).astype(np.float32)
    )
    np.testing.assert_array_equal(
        log.next_observations, np.concatenate([o[1:] for o in observations]).astype(np.float32)
    )
    np.testing.assert_array_equal(log.actions, np.concatenate([b.actions for b in buffers]))
    np.testing.assert_allclose(log.rewards, np.concatenate([b.rewards for b in buffers]), rtol=1e-6)
    np.testing.assert_array_equal(log.offsets, [0, 3, 4, 9])
    np.testing.assert_array_equal(np.flatnonzero(log.terminated), [3])
    np.testing.assert_array_equal(np.flatnonzero(log.truncated), [2, 8])
    assert log.observation_space == spaces.Box(-10, 10, (2,), np.float32)
    assert log.action_space == spaces.Discrete(3)
    told = log.provenance["minari"]
    assert isinstance(told, dict)
    assert told["dataset_id"] == "north/pump-v0"
    assert told["algorithm_name"] == "a rule"
    for path in (root / "north/pump-v0", str(root / "north/pump-v0" / "data")):
        assert_same(read_log(path), log)


def test_it_agrees_with_minari_itself(tmp_path: Path) -> None:
    write(observation_space=spaces.Discrete(5), action_space=spaces.Box(-1, 1, (2,), np.float32))
    log = read_log("minari:north/pump-v0")
    for episode, own in zip(
        minari.load_dataset("north/pump-v0").iterate_episodes(), log.episodes(), strict=True
    ):
        np.testing.assert_array_equal(own.observations, episode.observations[:-1])
        np.testing.assert_array_equal(own.next_observations, episode.observations[1:])
        np.testing.assert_array_equal(own.actions, episode.actions)
        np.testing.assert_array_equal(own.terminated, episode.terminations)
    write_log(log, tmp_path / "log.parquet")
    assert_same(read_log(tmp_path / "log.parquet"), log)


@pytest.mark.parametrize(
    ("space", "what"),
    [
        (spaces.Box(0, 1, (2, 2)), r"Box of shape \(2, 2\)"),
        (spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0, 1, (1,))}), "Dict"),
    ],
)
def test_other_actions_are_refused_with_what_is_possible(space: Any, what: str) -> None:
    write(action_space=space)
    with pytest.raises(InputError, match=f"has the action space {what}.*; collect with a wrapper"):
        read_log("minari:north/pump-v0")


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 1, (2, 2), np.float64),
        spaces.Dict(
            {
                "choice": spaces.Discrete(3, start=1),
                "inner": spaces.Dict({"x": spaces.Box(0, 1, (2,)), "y": spaces.MultiBinary(2)}),
            }
        ),
        spaces.MultiDiscrete([2, 3]),
        spaces.Tuple((spaces.Box(0, 1, (1,)), spaces.Discrete(2))),
    ],
)
def test_observations_are_flattened_as_gymnasium_does(space: Any) -> None:
    (episode, *_) = write(observation_space=space)
    log = read_log("minari:north/pump-v0")
    space.seed(1)
    rows: Any = [spaces.flatten(space, space.sample()) for _ in range(LENGTHS[0] + 1)]
    np.testing.assert_allclose(log.observations[: LENGTHS[0]], rows[:-1], rtol=1e-6)
    np.testing.assert_allclose(log.next_observations[: LENGTHS[0]], rows[1:], rtol=1e-6)
    assert len(episode.rewards) == LENGTHS[0]


def test_labels_name_the_elements_of_a_space() -> None:
    write()
    log = read_log("minari:north/pump-v0", columns={"labels": {"action": [0, 1, 2]}})
    assert log.provenance["labels"] == {"action": [0, 1, 2]}
    np.testing.assert_array_equal(log.actions, read_log("minari:north/pump-v0").actions)
    with pytest.raises(InputError, match=r"column 'action', row .: is none of the labels '0', '7'"):
        read_log("minari:north/pump-v0", columns={"labels": {"action": [0, 7]}})


@pytest.mark.parametrize("name", ["", "..", "a/../b", "/etc", "a//b", "a b", "a/.", "a\\b"])
def test_what_is_no_identifier(name: str) -> None:
    (text,) = texts_of(f"minari:{name}")
    assert "is no identifier; write it as minari:mujoco/ant/expert-v0" in text


def test_what_is_not_here(tmp_path: Path) -> None:
    (text,) = texts_of("minari:mujoco/ant/expert-v0")
    assert text == (
        "minari:mujoco/ant/expert-v0: is not on this machine; download it first: "
        "minari download mujoco/ant/expert-v0 (pip install 'nacre[minari]' brings it)"
    )
    (tmp_path / "empty").mkdir()
    (text,) = texts_of(tmp_path / "empty")
    assert "is a directory; give a file, a Minari dataset or a folder with Parquet or CSV" in text


def change(root: Path, change: Any) -> Path:
    path = root / "north/pump-v0" / "data"
    with h5py.File(path / "main_data.hdf5", "a") as file:
        change(file)
    return path


def test_episodes_that_do_not_fit(root: Path) -> None:
    write()

    def spoil(file: Any) -> None:
        del file["episode_0/actions"]
        del file["episode_1/rewards"]
        file["episode_1/rewards"] = np.ones(4)
        del file["episode_2/terminations"]
        file["episode_2/terminations"] = h5py.ExternalLink("x.h5", "/y")
        file["episode_3"] = np.ones(3)

    texts = "\n".join(texts_of(change(root, spoil)))
    assert "column 'episode_0/actions': is missing" in texts
    assert "column 'episode_1/observations': has 2 rows where 5 are expected" in texts
    assert "column 'episode_2/terminations': is a link, which is never followed" in texts
    assert "column 'episode_3/observations': is missing" in texts


def test_episodes_of_different_widths(root: Path) -> None:
    write()

    def spoil(file: Any) -> None:
        del file["episode_2/observations"]
        file["episode_2/observations"] = np.ones((6, 3))

    (text,) = texts_of(change(root, spoil))
    assert "'episode_2/observations': has rows of shape (3,) where (2,) is expected" in text


def test_a_dataset_without_episodes(root: Path) -> None:
    write()
    (text,) = texts_of(change(root, lambda file: file.clear()))
    assert "has no episodes" in text


def test_metadata_that_cannot_be_read(root: Path) -> None:
    write()
    path = root / "north/pump-v0" / "data" / "metadata.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"data_format": "arrow"}))
    assert "is kept as 'arrow'; write it with data_format='hdf5'" in texts_of(path.parent)[0]
    path.write_text(json.dumps(document | {"action_space": "[]"}))
    assert "has the action space" in texts_of(path.parent)[0]
    path.write_text("[]")
    assert "has no readable metadata.json" in texts_of(path.parent)[0]
    path.write_text(json.dumps(document))
    (path.parent / "main_data.hdf5").unlink()
    assert "could not be read as HDF5" in texts_of(path.parent)[0]


def test_paths_that_the_system_refuses() -> None:
    assert "cannot be read" in texts_of("a\0b.csv")[0]


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    whole = read_log("minari:north/pump-v0")
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(stores_module, "BLOCK_BYTES", 8)
    assert_same(read_log("minari:north/pump-v0"), whole)


def test_several_choices_at_once_are_one_action_of_combinations() -> None:
    buffers = write(action_space=spaces.MultiDiscrete([3, 2], start=[0, 1]))
    log = read_log("minari:north/pump-v0")
    assert log.action_space == spaces.Discrete(6)
    chosen = np.concatenate([buffer.actions for buffer in buffers])
    np.testing.assert_array_equal(log.actions, chosen[:, 0] * 2 + chosen[:, 1] - 1)
    labels = action_labels(log)
    assert labels is not None
    assert [labels[action] for action in log.actions] == [f"{a}, {b}" for a, b in chosen]


def test_actions_that_count_from_another_number_keep_it_as_their_label() -> None:
    buffers = write(action_space=spaces.Discrete(3, start=1))
    log = read_log("minari:north/pump-v0")
    np.testing.assert_array_equal(log.actions, np.concatenate([b.actions for b in buffers]) - 1)
    assert action_labels(log) == ("1", "2", "3")
