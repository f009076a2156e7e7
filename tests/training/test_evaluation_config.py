"""Wrong settings of an evaluation are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.errors import InputError
from nacre.training.evaluation_config import EvaluationConfig


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": 0}, "evaluation.epochs = 0: at least 1"),
        ({"steps_per_epoch": 0}, "evaluation.steps_per_epoch = 0: at least 1"),
        ({"n_actions": 0}, "evaluation.n_actions = 0: at least 1"),
        ({"prefit_steps": -1}, "evaluation.prefit_steps = -1: cannot be negative"),
        ({"combine": 1.5}, r"evaluation.combine = 1.5: a quantile lies in \[0, 1\]"),
        ({"combine": 2}, r"evaluation.combine = 2: a quantile lies in \[0, 1\]"),
        ({"combine": "max"}, "evaluation.combine = 'max': known are min, mean, or a quantile"),
        ({"settled_tolerance": -1.0}, "evaluation.settled_tolerance = -1.0: cannot be negative"),
    ],
)
def test_wrong_configurations_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EvaluationConfig(**wrong)
