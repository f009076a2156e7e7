"""Starts as people give them: numbers or files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.advice.starts import read_start
from nacre.errors import InputError
from nacre.logs import read_log
from nacre.policies import Signature

PLANE = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))
TABLE = Signature(Discrete(5), Discrete(2))


@pytest.mark.parametrize("text", ["1,-2;3,4e0", " 1, -2 ; 3 ,4;"])
def test_numbers_make_states(text: str) -> None:
    np.testing.assert_array_equal(read_start(text, PLANE), [[1.0, -2.0], [3.0, 4.0]])


def test_one_state_is_a_batch_of_one() -> None:
    assert read_start("0.5,1", PLANE).tolist() == [[0.5, 1.0]]


def test_discrete_states_are_numbers() -> None:
    assert read_start("3", TABLE).tolist() == [3]
    assert read_start("3,0", TABLE).tolist() == read_start("3;0", TABLE).tolist() == [3, 0]


@pytest.mark.parametrize("heading", ["", "x,y\n"])
def test_files_hold_a_state_in_each_row(tmp_path: Path, heading: str) -> None:
    states = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.save(tmp_path / "start.npy", states)
    (tmp_path / "start.csv").write_text(heading + "1,2\n3,4\n\n5,6\n")
    for name in ("start.npy", "start.csv"):
        np.testing.assert_array_equal(read_start(str(tmp_path / name), PLANE), states)
    np.save(tmp_path / "one.npy", states[0])
    np.testing.assert_array_equal(read_start(str(tmp_path / "one.npy"), PLANE), states[:1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,x", "--start '1,x': state 0: 'x' is not a number; give a .npy or .csv file"),
        ("", "state 0: '' is not a number"),
        ("1,2;3", "state 1 has 1 numbers, the first one 2"),
        ("1,2,3", "--start '1,2,3': start of shape (1, 3)"),
        ("1,nan", "start holds NaN or infinity"),
        ("start.txt", "'start.txt' is not a number"),
    ],
)
def test_wrong_numbers_are_named(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_start(text, PLANE)
    assert words in str(caught.value)
    assert len(caught.value.problems) == 1


def test_wrong_discrete_states_are_named() -> None:
    with pytest.raises(InputError, match=r"7\.0 is not one of the states 0\.\.4"):
        read_start("7", TABLE)


def test_wrong_files_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "texts.npy", np.array(["a", "b"]))
    np.save(tmp_path / "objects.npy", np.array([1, "b"], dtype=object), allow_pickle=True)
    (tmp_path / "words.csv").write_text("x,y\n1,north\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes(b"\xe9,1\n")
    (tmp_path / "none.npy").write_bytes(b"")
    for name, words in (
        ("texts.npy", "does not hold numbers"),
        ("objects.npy", "cannot be read"),
        ("none.npy", "cannot be read"),
        ("absent.npy", "cannot be read"),
        ("absent.csv", "cannot be read"),
        ("latin.csv", "cannot be read"),
        ("words.csv", "state 0: 'north' is not a number"),
        ("empty.csv", "holds no state"),
    ):
        with pytest.raises(InputError) as caught:
            read_start(str(tmp_path / name), PLANE)
        assert str(caught.value).startswith(f"{tmp_path / name}: {words}"), name


def test_rows_of_the_log_s_own_table_are_states(tmp_path: Path) -> None:
    """By their names, in whatever order, with texts and what is missing."""
    (tmp_path / "log.csv").write_text(
        "age,region,go,gain\n30,north,0,1\n,south,1,2\n52,north,1,3\n"
    )
    columns = {
        "episode": False,
        "terminated": True,
        "observation": ["age", "region"],
        "action": "go",
        "reward": "gain",
        "encode": {"region": "one_hot"},
        "missing": {"age": "median"},
    }
    log = read_log(tmp_path / "log.csv", columns=columns)
    signature = Signature(log.observation_space, log.action_space)
    start = tmp_path / "start.csv"
    start.write_text("region;note;age\nsouth;x;\nnorth;y;30\n")
    rows = read_start(str(start), signature, log)
    np.testing.assert_array_equal(rows, np.asarray(log.observations)[[1, 0]])
    start.write_text("age,region\n30,west\n")
    with pytest.raises(InputError, match=r"start.csv: state 0: column 'region': 'west' is none of"):
        read_start(str(start), signature, log)
