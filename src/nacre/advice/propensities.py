"""Where the one-step estimate takes the old policy's probabilities from."""

from __future__ import annotations

import dataclasses

from nacre.advice.config import AdviceConfig
from nacre.estimators import Estimator
from nacre.estimators.one_step import OneStep
from nacre.logs import Log


def settle_propensities(config: AdviceConfig, log: Log, uncertainty: float) -> AdviceConfig:
    """The same, with the one-step estimate told that the old policy's probabilities are a clone's.

    The log's own column of probabilities is used where there is one; else they are estimates.
    """
    if uncertainty == 0:
        return config

    def settle(one: Estimator) -> Estimator:
        if not isinstance(one, OneStep) or one.propensities != "known":
            return one
        if one.column in log.columns:
            return dataclasses.replace(one, propensities="logged")
        return dataclasses.replace(one, propensities="estimated", uncertainty=uncertainty)

    return dataclasses.replace(config, estimators=tuple(map(settle, config.estimators)))
