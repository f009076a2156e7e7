"""Checkpoints: every bit comes back, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import equinox as eqx
import jax
import numpy as np
import pytest
import safetensors
import safetensors.numpy

from nacre.errors import InputError
from nacre.learners import OccupancyConfig
from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint
from nacre.learners.net_actor_critic.step import State
from tests.support.learners import make_config, make_finite, set_up, singletons

HISTORY: list[dict[str, Any]] = [{"epoch": 0, "loss": 0.1}, {"epoch": 1, "loss": 1e-30}]


def make_state(n_states: int = 4) -> State:
    config = make_config({"discounted_states": True}, occupancy=OccupancyConfig(hidden=(4,)))
    finite = make_finite(n_states=n_states)
    return set_up(config, finite.log, finite.policy, singletons(1.0))[2]


def leaves_of(state: State) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(state, eqx.is_array))]


def other_numbers(state: State) -> State:
    """A state of the same form with other numbers in it."""
    rng = np.random.default_rng(0)
    changed: State = jax.tree.map(
        lambda leaf: (
            jax.numpy.asarray(np.asarray(rng.normal(size=leaf.shape), leaf.dtype))
            if eqx.is_array(leaf)
            else leaf
        ),
        state,
    )
    return changed


@pytest.fixture
def state() -> State:
    return make_state()


@pytest.fixture
def path(tmp_path: Path, state: State) -> Path:
    place = tmp_path / "run.safetensors"
    write_checkpoint(place, other_numbers(state), "mine", HISTORY)
    return place


def test_every_bit_and_the_history_come_back(path: Path, state: State) -> None:
    found, history = read_checkpoint(path, state, "mine")
    written = other_numbers(state)
    found_form, form = (cast(object, jax.tree.structure(tree)) for tree in (found, state))
    assert found_form == form
    for mine, theirs in zip(leaves_of(found), leaves_of(written), strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        assert mine.tobytes() == theirs.tobytes()
    assert history == HISTORY
    assert any(leaf.ndim == 0 for leaf in leaves_of(found))


def test_writing_again_replaces_and_leaves_nothing_behind(path: Path, state: State) -> None:
    write_checkpoint(path, state, "mine", HISTORY[:1])
    found, history = read_checkpoint(path, make_state(), "mine")
    assert len(history) == 1
    assert all(map(np.array_equal, leaves_of(found), leaves_of(state)))
    assert list(path.parent.iterdir()) == [path]


def test_folders_are_made(tmp_path: Path, state: State) -> None:
    path = tmp_path / "a" / "b" / "run.safetensors"
    write_checkpoint(path, state, "mine", [])
    assert read_checkpoint(path, state, "mine")[1] == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_failed_write_leaves_the_old_file_and_no_part(
    path: Path, state: State, failure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def fail(self: Path, target: Path) -> None:
        raise failure

    monkeypatch.setattr(Path, "replace", fail)
    expected = InputError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_checkpoint(path, state, "mine", HISTORY)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    if isinstance(caught.value, InputError):
        assert caught.value.problems == (
            f"{path}: cannot be written (No space left on device); choose another place",
        )


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, state: State) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(InputError, match=r"cannot be written .*; choose another place"):
        write_checkpoint(tmp_path / "file" / "run.safetensors", state, "mine", [])


def refuse(path: Path, state: State, identity: str = "mine") -> str:
    with pytest.raises(InputError) as caught:
        read_checkpoint(path, state, identity)
    (problem,) = caught.value.problems
    assert "\n" not in problem
    assert problem.startswith(f"{path}: ")
    assert "delete it to start again" in problem
    return problem


def test_another_runs_checkpoint_is_refused(path: Path, state: State) -> None:
    assert "checkpoint of another run" in refuse(path, state, "yours")


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_a_truncated_file_is_refused(path: Path, state: State, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    assert "not a readable checkpoint" in refuse(path, state)


def test_a_single_flipped_bit_is_noticed_wherever_it_is(path: Path, state: State) -> None:
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in (header, header + (len(whole) - header) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert "the checkpoint is damaged" in refuse(path, state)


def rewrite(path: Path, **changed: str) -> None:
    with safetensors.safe_open(path, framework="np") as file:
        metadata = file.metadata() | changed
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    path.write_bytes(safetensors.numpy.save(tensors, metadata=metadata))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"format": "99"}, "not a checkpoint of this version"),
        ({"history": json.dumps({"epoch": 0})}, "not a checkpoint of this version"),
        ({"history": "[{"}, "not a readable checkpoint"),
        ({"history": json.dumps(HISTORY[:1])}, "the checkpoint is damaged"),
    ],
)
def test_other_contents_are_refused(
    path: Path, state: State, changed: dict[str, str], problem: str
) -> None:
    rewrite(path, **changed)
    assert problem in refuse(path, state)


def test_files_of_other_programs_are_refused(tmp_path: Path, state: State) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(safetensors.numpy.save({"0000": np.zeros(3)}))
    assert "not a checkpoint of this version" in refuse(path, state)
    assert "not a readable checkpoint" in refuse(tmp_path, state)


def test_tensors_of_other_shapes_are_refused(path: Path, state: State) -> None:
    assert "its tensors do not fit this run" in refuse(path, make_state(n_states=5))
    without = eqx.tree_at(lambda s: s.occupancy, state, None)
    assert "its tensors do not fit this run" in refuse(path, without)
