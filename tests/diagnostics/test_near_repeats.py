"""Near repeats: rounding is the same episode, anything more is another."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.near_repeats import TOLERANCE, merge_near_repeats
from nacre.logs import Log

E, T = 8, 5


def make_log(changes: np.ndarray) -> Log:
    """Episodes 0 to 5, then 1 and 3 again with these changes (2, T, 3) of their observations."""
    paths = np.random.default_rng(100).normal(size=(6, T, 3))
    paths = np.concatenate([paths, paths[[1, 3]] + changes])
    rows = paths.reshape(-1, 3)
    ends = np.arange(E * T) % T == T - 1
    return Log.from_arrays(
        rows.astype(np.float64),
        np.zeros((E * T, 1)),
        np.zeros(E * T),
        np.zeros(E * T, bool),
        ends,
        np.roll(rows, -1, axis=0),
        offsets=np.arange(0, E * T + 1, T),
    )


def merge(
    log: Log, alike: np.ndarray | None = None, comparable: np.ndarray | None = None
) -> list[int]:
    same = np.zeros(E, np.uint64) if alike is None else alike.astype(np.uint64)
    free = np.ones(E, bool) if comparable is None else comparable
    return [int(one) for one in merge_near_repeats(log, np.arange(E), same, free)]


def test_equal_up_to_rounding_is_the_same_episode() -> None:
    log = make_log(0.1 * TOLERANCE * np.random.default_rng(0).normal(size=(2, T, 3)))
    assert merge(log) == [0, 1, 2, 3, 4, 5, 1, 3]


@pytest.mark.parametrize("step", [0, T - 1], ids=["start", "end"])
def test_one_difference_makes_another_episode(step: int) -> None:
    changes = np.zeros((2, T, 3))
    changes[0, step, 1] = 0.01
    assert merge(make_log(changes)) == [0, 1, 2, 3, 4, 5, 6, 3]


def test_other_actions_or_rewards_are_never_merged() -> None:
    log = make_log(np.zeros((2, T, 3)))
    assert merge(log, alike=np.arange(E)) == list(range(E))
    some = np.zeros(E)
    some[6] = 1
    assert merge(log, alike=some) == [0, 1, 2, 3, 4, 5, 6, 3]


def test_what_may_not_be_compared_stays() -> None:
    free = np.ones(E, bool)
    free[7] = False
    assert merge(make_log(np.zeros((2, T, 3))), comparable=free) == [0, 1, 2, 3, 4, 5, 1, 7]


def test_identities_known_before_are_kept() -> None:
    log = make_log(np.zeros((2, T, 3)))
    known = np.array([0, 1, 2, 3, 4, 4, 5, 6])
    merged = merge_near_repeats(log, known, np.zeros(E, np.uint64), np.ones(E, bool))
    assert merged.tolist() == [0, 1, 2, 3, 4, 4, 1, 3]


def test_discrete_states_have_no_rounding() -> None:
    log = Log.from_arrays(
        np.zeros(4, np.int32),
        np.zeros(4, np.int32),
        np.zeros(4),
        np.ones(4, bool),
        next_observations=np.zeros(4, np.int32),
        offsets=np.arange(5),
    )
    identity = np.arange(4)
    merged = merge_near_repeats(log, identity, np.zeros(4, np.uint64), np.ones(4, bool))
    np.testing.assert_array_equal(merged, identity)
