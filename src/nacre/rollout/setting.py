"""The setting of a recorded advice again, from its record and the inputs that it had."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from nacre.advice.config import ANY_DISCOUNT, stand_for_one, suggest_config
from nacre.advice.record import DecisionRecord
from nacre.advice.setting import Setting
from nacre.costs import SwitchingCost, describe_cost
from nacre.costs.fit import check_log_fits
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.policy import Policy

KEPT = ("confidence", "learning_share", "discount", "look")
"""Of the configuration: what decides how the log is split and at which level."""


def rebuild_setting(
    record: DecisionRecord,
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    acting: tuple[Policy, ...] = (),
    earlier: int = 0,
) -> Setting:
    """What the advice was about, so that its split is found again.

    Args:
        record: The advice.
        log: Its log; with live logs behind it, if it had some.
        old_policy: Its old policy.
        cost: Its cost.
        acting: Further policies that acted in the log.
        earlier: Episodes of the log without the live ones, where there are some.

    Raises:
        InputError: If the cost is another one, or the log: the candidate may have been learned from
            its test part then.
    """
    known = record.log.get("sha256")
    if known is not None and known != log.fingerprint():
        live = " and --live, with their --plan" if record.log.get("acting") else ""
        raise InputError(
            f"--log: is not the log of this advice; give what nacre advise was given as --log{live}"
        )
    if record.cost_model and record.cost_model != describe_cost(cost):
        raise InputError(
            "--cost: is not the cost of this advice; give the one that nacre advise was given"
        )
    check_log_fits(log, old_policy, "the old policy")
    cost.check(old_policy.observation_space, old_policy.action_space)
    changes: dict[str, Any] = {name: record.config[name] for name in KEPT if name in record.config}
    config = dataclasses.replace(suggest_config(log), **changes)
    start = np.asarray(log.starts)
    undiscounted = config.discount == stand_for_one(log) != ANY_DISCOUNT
    return Setting(
        log,
        old_policy,
        cost,
        start,
        False,
        config,
        0.0,
        record.seed or 0,
        undiscounted,
        acting,
        earlier,
    )
