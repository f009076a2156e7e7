"""What the old policy is worth: by its own returns, or as an estimator says for another start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.advice.record import BY_RETURNS, Value
from nacre.advice.setting import Setting
from nacre.training.returns import ReturnsEstimate, value_from_returns


def value_old_policy(
    setting: Setting, results: Mapping[str, Any]
) -> tuple[Value, ReturnsEstimate | None]:
    """The old policy's value: from its own returns, or as an estimator says for another start.

    The returns themselves come with it where they are what the value was found from.
    """
    config, checks = setting.config, results["log checks"]
    if setting.given_start or not checks.behaviour.on_policy:
        for estimator in config.estimators:
            estimate = results[f"estimate {estimator.name} 0"]
            facts = {} if estimate is None else estimate.diagnostics
            known = facts.get("old_value", math.nan)
            if math.isfinite(known):
                return Value.of(known, method=estimator.name), None
        return Value.of(None, method="not known"), None
    own = np.flatnonzero(checks.behaviour.own)
    log = setting.log if len(own) == setting.log.n_episodes else setting.log.select(own)
    found = value_from_returns(
        log, config.discount, confidence=2 * config.confidence - 1, seed=setting.seed
    )
    return Value.of(found.mean, found.low, found.high, method=BY_RETURNS), found
