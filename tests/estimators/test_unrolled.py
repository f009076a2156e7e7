"""Episodes side by side, by hand."""

from __future__ import annotations

import numpy as np

from nacre.estimators.unrolled import unroll
from nacre.logs import Log

LOG = Log.from_arrays(
    np.arange(6, dtype=np.float32)[:, None],
    np.zeros((6, 1)),
    np.zeros(6),
    np.zeros(6, bool),
    np.array([False, False, True, True, False, True]),
    np.arange(1, 7, dtype=np.float32)[:, None],
    offsets=np.array([0, 3, 4, 6]),
)


def test_rows_ends_and_what_is_over() -> None:
    table = unroll(LOG, 3)
    np.testing.assert_array_equal(table.rows, [[0, 1, 2], [3, -1, -1], [4, 5, -1]])
    np.testing.assert_array_equal(table.seen, table.rows >= 0)
    np.testing.assert_array_equal(table.last, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_longer_episodes_end_where_the_table_does() -> None:
    table = unroll(LOG, 2)
    np.testing.assert_array_equal(table.rows, [[0, 1], [3, -1], [4, 5]])
    np.testing.assert_array_equal(table.last, [[0, 1], [1, 0], [0, 1]])


def test_a_table_longer_than_every_episode_holds_each_row_once() -> None:
    table = unroll(LOG, 9)
    np.testing.assert_array_equal(np.sort(table.rows[table.seen]), np.arange(6))
    np.testing.assert_array_equal(table.rows[table.last], LOG.offsets[1:] - 1)
