"""Who acted in each episode: read from the log, or the old policy alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs.acting import ACTING, find_acting, read_episode_numbers, select_own
from tests.support.rollout import add_columns, play

LOG = play([False] * 4)


def test_without_the_column_the_old_policy_acted() -> None:
    assert find_acting(LOG).tolist() == [0, 0, 0, 0]
    assert select_own(LOG) is LOG


def test_the_old_policys_episodes_are_chosen() -> None:
    log = add_columns(LOG, {ACTING: [0, 1, 0, 2]})
    assert find_acting(log).tolist() == [0, 1, 0, 2]
    own = select_own(log)
    np.testing.assert_array_equal(own.rewards, LOG.select([0, 2]).rewards)


@pytest.mark.parametrize(("row", "value"), [(3, 1.0), (3, 0.5), (0, -1.0)])
def test_numbers_are_whole_and_the_same_in_an_episode(row: int, value: float) -> None:
    numbers = np.zeros(len(LOG))
    numbers[row] = value
    log = dataclasses.replace(LOG, columns={ACTING: numbers})
    with pytest.raises(InputError, match="give one whole number from 0 on, the same in all rows"):
        read_episode_numbers(log, ACTING, "live.parquet")
