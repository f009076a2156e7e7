"""Action masks: columns that say which actions were allowed become a part of the observation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.logs import Log, read_log, write_log
from nacre.logs.description import describe_columns
from nacre.logs.schema.spaces import MaskedBox, SpaceError, space_from_json, space_to_json

OFFERS = """age,offer,spent,allowed_mail,allowed_none,allowed_call
30,none,1,1,1,0
40,mail,2,1,1,1
50,none,0,0,1,0
"""
MAP = {
    "episode": False,
    "terminated": True,
    "observation": ("age",),
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ("none", "mail", "call")},
}


def write(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text)
    return path


def test_labelled_masks_follow_the_order_of_the_labels(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, OFFERS), columns=MAP)
    np.testing.assert_array_equal(log.observations, [[30, 1, 1, 0], [40, 1, 1, 1], [50, 1, 0, 0]])
    assert isinstance(log.observation_space, MaskedBox)
    assert log.observation_space.n_masked == 3
    assert log.action_space == Discrete(3)
    table = {row["column"]: row["meaning"] for row in describe_columns(log)}
    assert table["allowed_call"] == "allowed"
    assert table["age"] == "observation"
    assert "no policy takes one that is not" in str(log.provenance["notes"])


def test_the_map_can_name_the_columns(tmp_path: Path) -> None:
    text = OFFERS.replace("allowed_", "can_")
    names = ("can_none", "can_mail", "can_call")
    named = read_log(write(tmp_path, text), columns=MAP | {"allowed": names})
    recognised = read_log(write(tmp_path, OFFERS), columns=MAP)
    np.testing.assert_array_equal(named.observations, recognised.observations)
    left_out = read_log(write(tmp_path, OFFERS), columns=MAP | {"ignore": names[:0] or ("age",)})
    assert left_out.observations.shape[1] == 4


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_masked_logs_come_back_from_every_format(tmp_path: Path, suffix: str) -> None:
    log = read_log(write(tmp_path, OFFERS), columns=MAP)
    write_log(log, tmp_path / f"again{suffix}")
    again = read_log(tmp_path / f"again{suffix}")
    assert isinstance(again.observation_space, MaskedBox)
    assert again.fingerprint() == log.fingerprint()


def test_masks_of_arrays_and_successors() -> None:
    mask = np.array([[1, 1], [1, 0], [0, 1], [1, 1]])
    observations = np.arange(4.0)[:, None]
    log = Log.from_arrays(
        observations,
        np.array([0, 0, 1, 1]),
        np.zeros(4),
        [False, True, False, True],
        next_observations=np.array([[1.0], [9.0], [3.0], [9.0]]),
        columns={"allowed": mask},
    )
    np.testing.assert_array_equal(log.observations[:, 1:], mask)
    # The last row of an episode has no following one: its own mask stands in.
    np.testing.assert_array_equal(log.next_observations[:, 1:], mask[[1, 1, 3, 3]])
    assert "allowed" not in log.columns


def test_a_mask_declares_actions_that_were_never_taken() -> None:
    log = Log.from_arrays(
        np.zeros((2, 1)), [0, 1], [0.0, 1.0], [True, True], columns={"allowed": np.ones((2, 4))}
    )
    assert log.action_space == Discrete(4)


def test_spaces_with_masks_have_a_form() -> None:
    space = MaskedBox(np.zeros(3, np.float32), np.ones(3, np.float32), 2)
    again = space_from_json(space_to_json(space))
    assert isinstance(again, MaskedBox)
    assert again.n_masked == 2
    with pytest.raises(ValueError, match="mask = 3"):
        space_from_json({**space_to_json(space), "mask": 3})


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("50,none,0,0,1,0", "50,none,0,0,0,1", "'allowed_none', row 2 (line 4): does not allow"),
        ("50,none,0,0,1,0", "50,none,0,0,0,0", "'allowed', row 2 (line 4): allows no action"),
        ("50,none,0,0,1,0", "50,none,0,0,1,7", "'allowed_call', row 2 (line 4): is neither true"),
        ("allowed_call", "allowed_visit", "there is no column 'allowed_call'; add it, or write"),
    ],
)
def test_wrong_masks_are_named(tmp_path: Path, old: str, new: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_log(write(tmp_path, OFFERS.replace(old, new)), columns=MAP)
    assert line in str(caught.value)


def test_numbered_states_have_masks_of_their_own(tmp_path: Path) -> None:
    text = "state,act,gain,allowed_0,allowed_1\n0,0,1,1,0\n1,1,2,1,1\n3,0,0,1,1\n"
    columns = {"episode": False, "terminated": True, "observation": "state", "reward": "gain"}
    plain = read_log(write(tmp_path, text), columns=columns)
    assert plain.observations.tolist() == [0, 1, 3]
    form = space_to_json(plain.observation_space)
    assert form == {"type": "discrete", "n": 4, "allowed": ["10", "11", "11", "11"]}
    assert space_to_json(space_from_json(form)) == form
    notes = plain.provenance["notes"]
    assert isinstance(notes, list)
    assert "1 of 4 states do not allow every action" in str(notes[-1])
    assert "1 states in which no row starts" in str(notes[-1])
    with pytest.raises(SpaceError, match='write 4 texts such as "101"'):
        space_from_json(form | {"allowed": ["10", "00", "11", "11"]})
    changing = text.replace("3,0,0,1,1", "0,0,0,1,1")
    told = r"row 2 \(line 4\): allows other actions than row 0 does in the same state, 0.*one_hot"
    with pytest.raises(InputError, match=told):
        read_log(write(tmp_path, changing), columns=columns)
    log = read_log(write(tmp_path, text), columns=columns | {"encode": {"state": "one_hot"}})
    assert log.observations.shape == (3, 5)
    vectors = text.replace("0,0,1,1,0", "0,0.5,1,1,0")
    with pytest.raises(InputError, match="actions are vectors"):
        read_log(write(tmp_path, vectors), columns=columns | {"encode": {"state": "one_hot"}})
