"""What the old policy is worth: by its own returns, or as an estimator says for another start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.advice.own_terms import scale_value
from nacre.advice.record import BY_RETURNS, Value
from nacre.advice.setting import Setting
from nacre.diagnostics.log_checks import LogChecks
from nacre.logs import Log
from nacre.logs.acting import find_acting
from nacre.training.returns import ReturnsEstimate, value_from_returns


def value_old_policy(
    setting: Setting, results: Mapping[str, Any]
) -> tuple[Value, ReturnsEstimate | None]:
    """The old policy's value: from its own returns, or as an estimator says for another start.

    Over all episodes of the horizon. The returns themselves, of one episode each, come with it
    where they are what the value was found from.
    """
    found = value_own_episodes(setting, results["log checks"], setting.log)
    if found is None:
        value = _ask_estimators(setting, results)
    else:
        value = Value.of(found.mean, found.low, found.high, method=BY_RETURNS)
    return scale_value(value, setting.cost.terms.episodes), found


def value_own_episodes(setting: Setting, checks: LogChecks, log: Log) -> ReturnsEstimate | None:
    """What the old policy's own episodes of a log say; None where they are no answer.

    They are none where most are not its own, or where the next episode starts elsewhere.
    """
    if setting.given_start or not checks.behaviour.on_policy:
        return None
    own = np.flatnonzero(checks.behaviour.own & (find_acting(log) == 0))
    log = log if len(own) == log.n_episodes else log.select(own)
    config = setting.config
    return value_from_returns(
        log, config.discount, confidence=2 * config.confidence - 1, seed=setting.seed
    )


def _ask_estimators(setting: Setting, results: Mapping[str, Any]) -> Value:
    for estimator in setting.config.estimators:
        estimate = results[f"estimate {estimator.name} 0"]
        facts = {} if estimate is None else estimate.diagnostics
        known = facts.get("old_value", math.nan)
        if math.isfinite(known):
            return Value.of(known, method=estimator.name)
    return Value.of(None, method="not known")
