from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nacre.logs import Log, read_log, validate_log
from nacre.logs.storage import stores
from tests.support.logs import make_log, write_npz


def problems_of(path: Path, **changes: Any) -> list[str]:
    return [str(p) for p in validate_log(write_npz(path / "log.npz", **changes))]


def test_an_episode_that_goes_on_after_it_terminated(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, terminated=[True, True, False, False])
    assert "column 'terminated', row 0: is true but its episode goes on in row 1" in text
    assert "give each episode its own number" in text


def test_an_episode_that_goes_on_after_it_was_truncated(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, truncated=[False, False, True, True])
    assert "column 'truncated', row 2: is true but its episode goes on in row 3" in text


def test_a_step_that_does_not_continue(tmp_path: Path) -> None:
    successors = [[1.0, 5.0], [9.0, 5.0], [3.0, 6.0], [4.0, 5.0]]
    (text,) = problems_of(tmp_path, next_observation=successors)
    assert (
        "column 'observation', row 3: does not continue from row 2, next_observation 6 at "
        "coordinate 1, found 5; remove duplicate rows" in text
    )


def test_a_step_that_does_not_continue_among_elements(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, observation=[0, 1, 2, 3], next_observation=[1, 0, 1, 0])
    assert "row 3: does not continue from row 2, next_observation 1, found 3" in text


def test_rounding_is_no_break(tmp_path: Path) -> None:
    close = [[1.0 + 5e-6, 5.0 + 2e-5], [9, 5], [3, 5], [4, 5]]
    assert problems_of(tmp_path, next_observation=close) == []
    off = [[1.0 + 5e-5, 5.0], [9, 5], [3, 5], [4, 5]]
    assert len(problems_of(tmp_path, next_observation=off)) == 1


def test_extreme_observations_are_compared_without_overflow(tmp_path: Path) -> None:
    (text,) = problems_of(
        tmp_path,
        observation=[[3e38], [1.0], [2.0], [3.0]],
        next_observation=[[-3e38], [9.0], [3.0], [4.0]],
    )
    assert "row 1: does not continue from row 0" in text


def test_a_repeated_row_shows_by_its_successor(tmp_path: Path) -> None:
    (text,) = problems_of(
        tmp_path,
        observation=[[0.0], [0.0], [1.0], [2.0]],
        next_observation=[[1.0], [1.0], [2.0], [3.0]],
        episode=[0, 0, 0, 0],
        reward=[1, 1, 2, 3],
        terminated=[False] * 4,
    )
    assert "column 'observation', row 1: repeats row 0, which led to 1 at coordinate 0" in text


def test_a_world_that_stands_still_is_no_repetition(tmp_path: Path) -> None:
    still = {
        "observation": [[0.0]] * 4,
        "action": [0] * 4,
        "reward": [1.0] * 4,
        "episode": [0] * 4,
        "terminated": [False] * 4,
    }
    assert problems_of(tmp_path, **still, next_observation=[[0.0]] * 4) == []
    assert problems_of(tmp_path, **still, next_observation=None) == []


def test_duplicate_steps(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, step=[4, 4, 0, 1])
    assert "column 'step', row 1: repeats step 4 of the same episode, already in row 0" in text
    assert "found 4; remove the duplicate row" in text


def test_a_duplicate_of_the_last_step_is_called_that_and_nothing_else(tmp_path: Path) -> None:
    (text,) = problems_of(
        tmp_path,
        observation=[[0.0], [1.0], [1.0], [0.0]],
        next_observation=[[1.0], [2.0], [2.0], [1.0]],
        episode=[0, 0, 0, 1],
        step=[0, 1, 1, 0],
        terminated=[False, True, True, True],
        truncated=None,
    )
    assert "row 2: repeats step 1" in text


def test_steps_with_a_gap(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, step=[0, 1, 3, 6])
    assert "column 'step', row 3: follows step 3 of row 2" in text
    assert "found 6; add the missing rows" in text


def test_steps_that_are_not_whole(tmp_path: Path) -> None:
    (text,) = problems_of(tmp_path, step=[0, 0.5, 0, 1])
    assert "column 'step', row 1: is no whole number, found 0.5" in text


def test_problems_name_the_row_in_the_file_also_when_rows_were_moved(tmp_path: Path) -> None:
    (text,) = problems_of(
        tmp_path,
        episode=[1, 0, 1, 0],
        observation=[[0.0], [10.0], [1.0], [99.0]],
        next_observation=[[1.0], [11.0], [2.0], [12.0]],
        terminated=[False, False, True, True],
        truncated=None,
    )
    assert (
        "row 3: does not continue from row 1, next_observation 11 at coordinate 0, found 99" in text
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_rows_in_any_order_with_steps_give_the_same_log(seed: int) -> None:
    log = make_log((3, 1, 4), seed=seed)
    step = np.arange(8) - np.repeat(log.offsets[:-1], log.episode_lengths)
    order = np.random.default_rng(seed).permutation(8)
    shuffled = _rebuild(log, order, step)
    labels = np.unique(log.episode_ids[order], return_index=True)
    appearance = labels[0][np.argsort(labels[1])]
    expected = log.select(appearance)
    for name in ("observations", "actions", "rewards", "terminated", "truncated", "offsets"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(expected, name))
    starts = np.repeat(expected.offsets[:-1], expected.episode_lengths)
    np.testing.assert_array_equal(shuffled.columns["step"], np.arange(8) - starts)


def _rebuild(log: Log, order: NDArray[Any], step: NDArray[Any] | None) -> Log:
    return Log.from_arrays(
        log.observations[order],
        log.actions[order],
        log.rewards[order],
        log.terminated[order],
        log.truncated[order],
        log.next_observations[order],
        episode=log.episode_ids[order],
        observation_space=log.observation_space,
        action_space=log.action_space,
        columns={} if step is None else {"step": step[order]},
    )


def test_interleaved_episodes_are_put_together_in_their_order(tmp_path: Path) -> None:
    log = make_log((4, 4))
    order = np.array([0, 4, 1, 5, 2, 6, 3, 7])
    again = _rebuild(log, order, None)
    assert again.fingerprint() == log.fingerprint()
    assert again.provenance["notes"] == [
        "rows were put in order by episode, and by step where that is given"
    ]


def test_the_comparison_is_the_same_in_blocks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stores, "BLOCK_BYTES", 24)
    log = make_log((5, 6))
    assert _rebuild(log, np.arange(11), None).fingerprint() == log.fingerprint()
    broken = log.next_observations.copy()
    broken[7] += 1
    path = tmp_path / "log.npz"
    np.savez(
        path,
        observation=log.observations,
        action=log.actions,
        reward=log.rewards,
        next_observation=broken,
        terminated=log.terminated,
        truncated=log.truncated,
        episode=log.episode_ids,
    )
    (problem,) = validate_log(path)
    assert problem.row == 8


def test_a_break_is_found_beside_actions_that_are_wrong(tmp_path: Path) -> None:
    texts = problems_of(
        tmp_path,
        action=[[0.0], [np.nan], [0.0], [0.0]],
        observation=[[0.0, 5.0]] * 4,
        reward=[1.0] * 4,
    )
    assert len(texts) == 3
    assert "row 1: repeats row 0, which led to 1 at coordinate 0, found 0" in texts[1]


def test_one_step_episodes_are_fine(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "log.npz", episode=[0, 1, 2, 3], terminated=[True] * 4)
    log = read_log(path)
    np.testing.assert_array_equal(log.episode_lengths, [1, 1, 1, 1])


def test_a_single_row_is_a_log() -> None:
    log = Log.from_arrays([[0.0]], [[0.0]], [1.0], [True])
    assert (len(log), log.n_episodes) == (1, 1)
