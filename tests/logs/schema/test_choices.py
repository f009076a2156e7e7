"""Several choices at once are one action: the number of their combination."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

from nacre.errors import InputError
from nacre.logs import Log, action_labels

CHOICES = np.array([[0, 5], [2, 4], [1, 5]])


def make(actions: np.ndarray, space: MultiDiscrete) -> Log:
    n = len(actions)
    return Log.from_arrays(
        np.zeros((n, 2)), actions, np.zeros(n), np.ones(n, bool), action_space=space
    )


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_combinations_count_as_numpy_counts_them(kind: type) -> None:
    space = MultiDiscrete([3, 2], start=[0, 4])
    log = make(CHOICES.astype(kind), space)
    assert log.action_space == Discrete(6)
    expected = np.ravel_multi_index(tuple((CHOICES - space.start).T), (3, 2))
    np.testing.assert_array_equal(log.actions, expected)
    labels = action_labels(log)
    assert labels is not None
    assert [labels[action] for action in log.actions] == ["0, 5", "2, 4", "1, 5"]


def test_what_is_no_choice_is_named() -> None:
    with pytest.raises(InputError, match=r"row 1: is no choice of its space, found 9"):
        make(np.array([[0, 0], [1, 9]]), MultiDiscrete([3, 2]))
    with pytest.raises(InputError, match=r"has the shape \(2,\) where its space has 2 choices"):
        make(np.array([0, 1]), MultiDiscrete([3, 2]))
    with pytest.raises(InputError, match=r"1,600 combinations of choices, more than 1,000"):
        make(np.zeros((2, 2), int), MultiDiscrete([40, 40]))
