from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.categories import gather_array, gather_categories, number_categories


def test_values_are_numbered_as_they_first_appear_across_parts() -> None:
    parts = [(["b", "a"], np.array([0, 1, 0])), (["a", "c"], np.array([1, 0]))]
    categories = gather_categories(parts)
    assert categories.values == ("b", "a", "c")
    np.testing.assert_array_equal(
        number_categories("ride", categories, None, Problems()), [0, 1, 0, 2, 1]
    )
    np.testing.assert_array_equal(categories.count(), [2, 2, 1])


def test_values_without_a_label_and_missing_ones_are_named_by_row() -> None:
    problems = Problems()
    categories = gather_categories(
        [
            (["green", "blue", None], np.array([0, 1])),
            (["red", "blue", None, " ", np.nan], np.array([0, 2, -1, 3, 4])),
        ]
    )
    assert number_categories("phase", categories, ("red", "green"), problems) is None
    assert [(problem.row, problem.value) for problem in problems.found] == [
        (1, "'blue'"),
        (3, None),
        (4, None),
        (5, None),
        (6, None),
    ]


def test_missing_values_alone_point_to_dropping_them_and_may_be_allowed() -> None:
    problems = Problems()
    categories = gather_categories([(["red", None], np.array([0, 1]))])
    assert number_categories("light on", categories, ("red",), problems) is None
    assert 'write missing."light on" = "drop" in the column map' in str(problems.found[0])
    codes = number_categories("light on", categories, ("red",), Problems(), may_miss=True)
    np.testing.assert_array_equal(codes, [0, -1])


def test_nothing_has_no_numbers() -> None:
    values = number_categories("phase", gather_categories([]), None, Problems())
    assert values is not None
    assert values.shape == (0,)


@pytest.mark.parametrize(
    "values", [np.array(["b", "a", "b"]), np.array([b"b", b"a", b"b"]), np.array([7, 3, 7])]
)
def test_arrays_of_texts_bytes_and_numbers(values: NDArray[Any]) -> None:
    categories = gather_array("x", values, Problems())
    assert categories is not None
    np.testing.assert_array_equal(categories.codes, [0, 1, 0])


def test_arrays_that_hold_no_categories() -> None:
    for values in (np.zeros((2, 2)), np.array([None, 1], dtype=object)):
        problems = Problems()
        assert gather_array("x", values, problems) is None
        assert "store one text or number a row" in str(problems.found[0])
