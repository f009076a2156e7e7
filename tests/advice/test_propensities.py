"""The one-step estimate knows whether the old policy's probabilities are sure."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.advice.config import AdviceConfig
from nacre.advice.propensities import settle_propensities
from nacre.estimators.one_step import OneStep
from nacre.logs import Log

LOG = Log.from_arrays([[0.0], [1.0]], [0, 1], [0.0, 1.0], [True, True])
LOGGED = dataclasses.replace(LOG, columns={"propensity": np.array([0.5, 0.5])})


@pytest.mark.parametrize(
    ("log", "uncertainty", "expected"),
    [(LOG, 0.0, "known"), (LOGGED, 0.0, "known"), (LOG, 0.1, "estimated"), (LOGGED, 0.1, "logged")],
)
def test_clones_use_the_column_or_are_charged(log: Log, uncertainty: float, expected: str) -> None:
    config = settle_propensities(AdviceConfig(estimators=(OneStep(),)), log, uncertainty)
    (estimator,) = config.estimators
    assert isinstance(estimator, OneStep)
    assert estimator.propensities == expected
    assert estimator.uncertainty == (uncertainty if expected == "estimated" else 0.0)


def test_what_was_chosen_stays() -> None:
    chosen = OneStep(propensities="estimated", uncertainty=0.3)
    config = settle_propensities(AdviceConfig(estimators=(chosen,)), LOGGED, 0.1)
    assert config.estimators == (chosen,)
