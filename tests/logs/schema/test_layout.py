from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs.schema.layout import check_names, lay_out, spread
from tests.support.logs import make_log


def test_one_column_a_field_and_further_ones_last() -> None:
    log = make_log((2, 3), further=True)
    columns = lay_out(log)
    assert list(columns)[:7] == [
        "episode",
        "observation",
        "action",
        "reward",
        "next_observation",
        "terminated",
        "truncated",
    ]
    assert list(columns)[7:] == list(log.columns)
    assert {len(values) for values in columns.values()} == {5}
    np.testing.assert_array_equal(columns["episode"], [0, 0, 1, 1, 1])


def test_vectors_are_spread_over_numbered_columns() -> None:
    values = np.arange(6).reshape(3, 2)
    plain = spread({"mean": values, "count": np.arange(3)})
    assert list(plain) == ["mean_0", "mean_1", "count"]
    np.testing.assert_array_equal(plain["mean_1"], [1, 3, 5])
    with pytest.raises(InputError, match="two columns are called 'mean_0'; rename one of them"):
        spread({"mean": values, "mean_0": np.arange(3)})


def test_names_that_a_format_cannot_hold() -> None:
    log = make_log((2,))
    check_names(replace(log, columns={"fine": log.rewards}), "/", "taken")
    for name in ("line\nbreak", "a/b", "taken"):
        wrong = replace(log, columns={name: log.rewards})
        with pytest.raises(InputError, match=r"a column cannot be called .* in this format"):
            check_names(wrong, "/", "taken")
