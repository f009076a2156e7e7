"""Units of a log: equal in size, in order, and whole episodes where there are enough."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics.units import LEAST_UNITS, MOST_UNITS, find_units
from nacre.logs import Log


def make_log(*lengths: int) -> Log:
    n = sum(lengths)
    offsets = np.append(0, np.cumsum(lengths))
    ends = np.zeros(n, bool)
    ends[offsets[1:] - 1] = True
    rows = np.arange(n, dtype=np.float32)[:, None]
    return Log.from_arrays(
        rows, rows, np.zeros(n), np.zeros(n, bool), ends, rows + 1, offsets=offsets
    )


def test_few_episodes_are_a_unit_each() -> None:
    units = find_units(make_log(*[3] * 30), seed=0)
    assert units is not None
    assert units.are_episodes
    assert len(units) == 30
    np.testing.assert_array_equal(units.first_episodes, np.arange(30))
    np.testing.assert_array_equal(units.of_row, np.repeat(np.arange(30), 3))


@pytest.mark.parametrize("n", [MOST_UNITS, MOST_UNITS + 1, 505])
def test_many_episodes_share_units_of_equal_size(n: int) -> None:
    units = find_units(make_log(*[1] * n), seed=1)
    assert units is not None
    each = -(-n // MOST_UNITS)
    assert len(units) == n // each <= MOST_UNITS
    kept = units.of_row[units.of_row >= 0]
    np.testing.assert_array_equal(np.bincount(kept), each)
    assert np.all(np.diff(kept) >= 0)
    assert np.sum(units.of_row < 0) == n % each
    # The first row of a unit is that of its first episode, as episodes have one row here.
    first = [int(np.flatnonzero(units.of_row == unit)[0]) for unit in range(len(units))]
    np.testing.assert_array_equal(units.first_episodes, first)


def test_what_is_one_too_many_depends_on_the_seed() -> None:
    left = {
        int(np.flatnonzero(units.of_row < 0)[0])
        for seed in range(5)
        if (units := find_units(make_log(*[1] * 205), seed)) is not None
    }
    assert len(left) > 1


def test_long_episodes_are_cut_into_blocks() -> None:
    """1500 and 620 rows in blocks of 53: 28 and 11 of them, the rests in none."""
    units = find_units(make_log(1500, 620), seed=0)
    assert units is not None
    assert not units.are_episodes
    np.testing.assert_array_equal(np.bincount(units.first_episodes), [28, 11])
    np.testing.assert_array_equal(np.bincount(units.of_row[units.of_row >= 0]), 53)
    assert np.all(units.of_row[28 * 53 : 1500] == -1)
    assert units.of_row[1500] == 28
    assert np.all(units.of_row[1500 + 11 * 53 :] == -1)


def test_short_logs_have_none() -> None:
    assert find_units(make_log(*[10] * (LEAST_UNITS - 1)), seed=0) is None
    assert find_units(make_log(50 * LEAST_UNITS - 1), seed=0) is None
    assert find_units(make_log(50 * LEAST_UNITS), seed=0) is not None
