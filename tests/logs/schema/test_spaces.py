from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.logs.schema.spaces import (
    SpaceError,
    canonical_space,
    infer_space,
    space_from_json,
    space_to_json,
)

bounds = st.floats(width=32, allow_nan=False)


@settings(deadline=None)
@given(st.lists(st.tuples(bounds, bounds), min_size=1, max_size=5))
def test_boxes_survive_json(pairs: list[tuple[float, float]]) -> None:
    low, high = np.array([sorted(pair) for pair in pairs], dtype=np.float32).T
    space = Box(low, high, dtype=np.float32)
    text = json.dumps(space_to_json(space), allow_nan=False)
    assert space_from_json(json.loads(text)) == space


def test_discrete_survives_json() -> None:
    assert space_to_json(Discrete(7)) == {"type": "discrete", "n": 7}
    assert space_from_json({"type": "discrete", "n": 7}) == Discrete(7)


def test_missing_bounds_may_be_null() -> None:
    space = space_from_json({"type": "box", "low": [None, 0], "high": [None, "inf"]})
    low = np.array([-np.inf, 0], dtype=np.float32)
    assert space == Box(low, np.full(2, np.inf, dtype=np.float32), dtype=np.float32)


def test_bounds_beyond_any_float_are_infinite() -> None:
    space = space_from_json({"type": "box", "low": [-(10**400)], "high": [10**400]})
    assert space == Box(-np.inf, np.inf, (1,))


def test_boxes_become_float32() -> None:
    wide = Box(np.array([-1e300]), np.array([0.1]), dtype=np.float64)
    space = canonical_space(wide)
    low, high = np.array([[-np.inf], [0.1]], dtype=np.float32)
    assert space == Box(low, high, dtype=np.float32)
    assert canonical_space(Box(0, 255, (3,), np.uint8)) == Box(0, 255, (3,), np.float32)


@pytest.mark.parametrize(
    ("space", "remedy"),
    [
        (Box(0, 1, (2, 2)), "flatten"),
        (Box(0, 1, ()), "flatten"),
        (Discrete(3, start=1), "subtract 1 from the column"),
        (MultiDiscrete([2, 2]), "use a Box of one axis or Discrete"),
        (Dict({}), "use a Box of one axis or Discrete"),
        (Discrete(2**31), "between 1 and"),
    ],
)
def test_other_spaces_are_refused_with_a_remedy(space: Space[Any], remedy: str) -> None:
    with pytest.raises(SpaceError, match=remedy):
        space_to_json(space)


@pytest.mark.parametrize(
    "form",
    [
        3,
        {},
        {"type": "circle"},
        {"type": "discrete"},
        {"type": "discrete", "n": True},
        {"type": "discrete", "n": 0},
        {"type": "discrete", "n": 3, "start": 1},
        {"type": "box", "low": [], "high": []},
        {"type": "box", "low": [0]},
        {"type": "box", "low": [0], "high": [1, 2]},
        {"type": "box", "low": ["a"], "high": [1]},
        {"type": "box", "low": [True], "high": [1]},
        {"type": "box", "low": [2], "high": [1]},
        {"type": "box", "low": [float("nan")], "high": [1]},
    ],
)
def test_json_that_is_no_space_is_refused(form: object) -> None:
    with pytest.raises(SpaceError):
        space_from_json(form)


def test_inference() -> None:
    elements, text = infer_space([np.array([0, 4]), np.array([6, 1])], bounded=False)
    assert elements == Discrete(7)
    assert "Discrete(7)" in text
    inside = np.array([[-1.0, 1.0], [0.5, 0.0]], dtype=np.float32)
    counted = infer_space([np.array([1, 3])], bounded=True)[1]
    assert counted.endswith("those below 1 never occur: list in labels.action what there is")
    assert infer_space([inside], bounded=True)[0] == Box(-1, 1, (2,))
    assert infer_space([inside], bounded=False)[0] == Box(-np.inf, np.inf, (2,))
    assert infer_space([2 * inside], bounded=True)[0] == Box(-np.inf, np.inf, (2,))
