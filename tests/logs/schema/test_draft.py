from __future__ import annotations

import numpy as np
import pytest

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.draft import Draft, apply_offsets, as_arrays
from nacre.logs.schema.parts import is_reserved


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("reward", True),
        ("observation_0", True),
        ("next_observation_12", True),
        ("reward_0", False),
        ("observation_x", False),
        ("step", False),
        ("", True),
        (3, True),
    ],
)
def test_names_of_transitions_are_reserved(name: object, reserved: bool) -> None:
    assert is_reserved(name) is reserved


def test_rows_are_selected_everywhere() -> None:
    draft = Draft({"reward": np.arange(4)}, {"wind": np.arange(8).reshape(4, 2)})
    draft.select_rows(np.array([3, 1]))
    np.testing.assert_array_equal(draft.fields["reward"], [3, 1])
    np.testing.assert_array_equal(draft.columns["wind"], [[6, 7], [2, 3]])


def test_ragged_lists_are_left_out_and_named() -> None:
    problems = Problems()
    arrays = as_arrays({"a": [[1, 2], [3]], "b": [1, 2]}, problems)
    assert list(arrays) == ["b"]
    assert "column 'a': is ragged" in str(problems.found[0])


def test_offsets_become_episodes() -> None:
    fields, problems = {"reward": np.zeros(5)}, Problems()
    apply_offsets(fields, [0, 2, 5], problems)
    np.testing.assert_array_equal(fields["episode"], [0, 0, 1, 1, 1])
    assert not problems
    apply_offsets(fields, [0, 5], problems)
    assert "both episode and offsets are given" in str(problems.found[0])


@pytest.mark.parametrize("offsets", [[0], [0, 4], [1, 5], [0, 3, 3, 5], [0.0, 5.0], [[0, 5]]])
def test_offsets_that_mark_no_episodes(offsets: list[float] | list[list[int]]) -> None:
    fields, problems = {"reward": np.zeros(5)}, Problems()
    apply_offsets(fields, offsets, problems)
    assert "episode" not in fields
    assert "rise from 0 to the number of rows, 5" in str(problems.found[0])
