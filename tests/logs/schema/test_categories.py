from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.categories import Numbering, number_array


def test_values_are_numbered_as_they_first_appear_across_parts() -> None:
    numbering = Numbering("ride", None)
    numbering.add(["b", "a"], np.array([0, 1, 0]))
    numbering.add(["a", "c"], np.array([1, 0]))
    np.testing.assert_array_equal(numbering.finish(Problems()), [0, 1, 0, 2, 1])


def test_values_without_a_label_and_missing_ones_are_named_by_row() -> None:
    numbering, problems = Numbering("phase", ("red", "green")), Problems()
    numbering.add(["green", "blue", None], np.array([0, 1]))
    numbering.add(["red", "blue", None], np.array([0, 2, -1]))
    assert numbering.finish(problems) is None
    assert [(problem.row, problem.value) for problem in problems.found] == [
        (1, "'blue'"),
        (3, "None"),
        (4, "None"),
    ]


def test_nothing_has_no_numbers() -> None:
    values = Numbering("phase", None).finish(Problems())
    assert values is not None
    assert values.shape == (0,)


@pytest.mark.parametrize(
    "values", [np.array(["b", "a", "b"]), np.array([b"b", b"a", b"b"]), np.array([7, 3, 7])]
)
def test_arrays_of_texts_bytes_and_numbers(values: NDArray[Any]) -> None:
    np.testing.assert_array_equal(number_array("x", values, None, Problems()), [0, 1, 0])


def test_arrays_that_hold_no_categories() -> None:
    for values in (np.zeros((2, 2)), np.array([None, 1], dtype=object)):
        problems = Problems()
        assert number_array("x", values, None, problems) is None
        assert "store one text or number a row" in str(problems.found[0])
