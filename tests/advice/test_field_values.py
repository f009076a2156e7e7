"""Values of fields: what fits a type, and what is said of a value that does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from nacre.advice.field_values import (
    UNFIT,
    describe_kind,
    list_classes,
    name_class,
    read_hints,
    read_plain,
)
from nacre.learners import LearnerConfig, Plateau, StoppingRule

FITTING: list[tuple[Any, Any, Any]] = [
    (bool, True, True),
    (int, 3, 3),
    (float, 3, 3.0),
    (float, 0.5, 0.5),
    (str, "none", "none"),
    (str | None, "none", None),
    (float | None, None, None),
    (float | None, 1, 1.0),
    (Literal["min", "mean"] | float, "mean", "mean"),
    (Literal["min", "mean"] | float, 0.25, 0.25),
    (tuple[int, ...], [64, 32], (64, 32)),
    (tuple[int, ...], [], ()),
    (tuple[float, str], [1, "a"], (1.0, "a")),
    (list[float], (1, 2), [1.0, 2.0]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (Mapping[str, float], {"a": 1}, {"a": 1.0}),
    (Any, {"a": [1]}, {"a": [1]}),
]
UNFITTING: list[tuple[Any, Any, str]] = [
    (bool, 1, "true or false"),
    (int, True, "a whole number"),
    (int, 3.0, "a whole number"),
    (float, False, "a number"),
    (float, 10**400, "a number"),
    (float | None, "never", 'a number or "none"'),
    (str, 3, "text"),
    (Literal["min", "mean"] | float, "max", "one of min, mean or a number"),
    (Literal[1, 2], True, "one of 1, 2"),
    (tuple[int, ...], [64, 0.5], "a list of whole numbers"),
    (tuple[int, ...], 64, "a list of whole numbers"),
    (tuple[float, str], [1.0], "a list"),
    (dict[str, int], {"a": "b"}, "a table"),
    (Plateau | None, 3, 'a table or "none"'),
    (Path, "here", "left out: no file has a form for it"),
]


@pytest.mark.parametrize(("hint", "value", "expected"), FITTING)
def test_what_fits_is_read_as_the_type_says(hint: Any, value: Any, expected: Any) -> None:
    found = read_plain(hint, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("hint", "value", "words"), UNFITTING)
def test_what_does_not_fit_is_said_in_words(hint: Any, value: Any, words: str) -> None:
    assert read_plain(hint, value) is UNFIT
    assert describe_kind(hint) == words


def test_dataclasses_of_a_field_have_names() -> None:
    hints = read_hints(LearnerConfig)
    assert list_classes(hints["stopping"]) == [StoppingRule, Plateau]
    assert list_classes(hints["epochs"]) == []
    assert [name_class(one) for one in (StoppingRule, Plateau)] == ["stopping_rule", "plateau"]


def test_types_that_cannot_be_found_are_none() -> None:
    @dataclass
    class Local:
        field: Unknown  # type: ignore[name-defined]  # noqa: F821

    assert read_hints(Local) == {}
