"""Answers from outside, checked, as the parameters that heads read."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.answers import WIDEST_LOG_STD, as_numbers, find_form, find_head, head_outputs
from tests.support.policies import CHOICES, VECTORS


@pytest.mark.parametrize(
    ("names", "form"),
    [
        ({"mean", "std", "action"}, "mean_std"),
        ({"mean", "log_std"}, "mean_std"),
        ({"location", "std"}, "squashed"),
        ({"action", "logits"}, "logits"),
        ({"mean"}, None),
    ],
)
def test_the_form_that_says_most(names: set[str], form: str | None) -> None:
    assert find_form(names) == form


def test_heads_follow_from_form_and_actions() -> None:
    assert find_head("mean_std", VECTORS) == "clipped_gaussian"
    assert find_head("action", VECTORS) == "deterministic"
    assert find_head("q", CHOICES) == "categorical"
    with pytest.raises(InputError, match="it can be one of action, probabilities, logits, q"):
        find_head("mean_std", CHOICES)


def test_parameters_by_hand() -> None:
    gaussian = {"mean": np.array([[0.5]]), "std": np.array([[0.0]])}
    outputs = head_outputs("mean_std", gaussian, VECTORS, 1)
    np.testing.assert_array_equal(outputs, [[0.5, WIDEST_LOG_STD[0]]])
    chosen = head_outputs("q", {"q": np.array([[1.0, 3.0, 2.0]])}, CHOICES, 1)
    np.testing.assert_array_equal(chosen, [[-np.inf, 0.0, -np.inf]])
    wrong = np.array([[0.5, 0.5, 0.0], [0.5, 0.6, 0.0]])
    with pytest.raises(InputError, match="probabilities at observation 1"):
        head_outputs("probabilities", {"probabilities": wrong}, CHOICES, 2)
    with pytest.raises(InputError, match="is not made of numbers"):
        as_numbers("left", "action")
