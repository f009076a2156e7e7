from __future__ import annotations

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log

POSITIONS = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0]])


def build(
    terminated: list[int], truncated: list[int] | None = None, episode: list[int] | None = None
) -> Log:
    return Log.from_arrays(
        POSITIONS,
        np.zeros(6, int),
        np.arange(6.0),
        terminated,
        truncated,
        episode=episode or [0, 0, 0, 1, 1, 2],
        columns={"row": np.arange(6)},
    )


def notes_about(log: Log, word: str) -> list[str]:
    notes = log.provenance["notes"]
    assert isinstance(notes, list)
    return [str(note) for note in notes if word in str(note)]


def test_successors_come_from_the_following_row() -> None:
    log = build([0, 0, 1, 0, 1, 1])
    np.testing.assert_array_equal(log.next_observations[:, 0], [1, 2, 2, 11, 11, 20])
    np.testing.assert_array_equal(log.columns["row"], np.arange(6))
    assert notes_about(log, "dropped") == []


def test_the_last_row_of_an_episode_that_did_not_terminate_only_serves_as_successor() -> None:
    log = build([0, 0, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(log.columns["row"], [0, 1, 3, 4, 5])
    np.testing.assert_array_equal(log.next_observations[:, 0], [1, 2, 11, 11, 20])
    np.testing.assert_array_equal(log.truncated, [False, True, False, False, False])
    np.testing.assert_array_equal(log.terminated, [False, False, False, True, True])
    np.testing.assert_array_equal(log.offsets, [0, 2, 4, 5])
    assert notes_about(log, "dropped") == [
        "1 last rows of episodes that did not terminate were dropped: without next_observation "
        "they have no successor"
    ]


def test_an_episode_of_one_such_row_is_dropped() -> None:
    log = build([0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(log.columns["row"], [0, 1, 2, 3])
    np.testing.assert_array_equal(log.next_observations[:, 0], [1, 2, 2, 11])
    np.testing.assert_array_equal(log.offsets, [0, 3, 4])
    np.testing.assert_array_equal(log.truncated, [False, False, False, True])
    assert notes_about(log, "dropped")[0].startswith("2 last rows")
    assert notes_about(log, "only row") == ["1 of these were the only row of their episode"]


def test_dropping_everything_is_refused() -> None:
    with pytest.raises(InputError, match=r"no row has a successor.*add next_observations"):
        build([0] * 6, episode=list(range(6)))


def test_without_an_end_an_episode_counts_as_truncated() -> None:
    log = Log.from_arrays(
        POSITIONS,
        np.zeros(6, int),
        np.zeros(6),
        [False, False, True, False, False, False],
        next_observations=POSITIONS + 1.0,
        episode=[0, 0, 0, 1, 1, 2],
    )
    np.testing.assert_array_equal(log.truncated, [False, False, False, False, True, True])
    assert notes_about(log, "count as truncated") == [
        "2 episodes without an end, terminated or truncated, count as truncated"
    ]
    assert log.n_open_ends == 2


def test_both_flags_may_be_set() -> None:
    log = build([0, 0, 1, 0, 1, 1], [0, 0, 1, 0, 0, 0])
    assert log.terminated[2]
    assert log.truncated[2]


def test_given_flags_are_not_changed() -> None:
    truncated = np.zeros(6, dtype=bool)
    Log.from_arrays(
        POSITIONS,
        np.zeros(6, int),
        np.zeros(6),
        np.zeros(6, bool),
        truncated,
        POSITIONS,
        episode=range(6),
    )
    assert not truncated.any()


def test_notes_are_added_to_earlier_ones() -> None:
    for earlier in (["first"], "first"):
        log = Log.from_arrays(
            [[0.0]],
            [0],
            [0],
            [True],
            provenance={"notes": earlier},  # type: ignore[dict-item]
        )
        notes = log.provenance["notes"]
        assert isinstance(notes, list)
        assert notes[0] == "first"
        assert len(notes) == 3
        assert log._noted("more").provenance["notes"] == [*notes, "more"]
