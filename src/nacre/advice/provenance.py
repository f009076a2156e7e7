"""What a record follows from: log, policy, cost, configuration, seed, versions, time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.advice.names import Names
from nacre.advice.setting import Setting
from nacre.costs.description import describe_cost
from nacre.errors import InputError
from nacre.logs.acting import find_acting
from nacre.logs.description import describe_columns
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.versions import find_versions


def _describe_log(setting: Setting) -> dict[str, Any]:
    """Digest and size, and how columns became numbers where they were encoded."""
    log = setting.log
    encoded = {"columns": describe_columns(log)} if log.provenance.get("encoding") else {}
    return {**log.identify(), **encoded, **_describe_acting(setting)}


def _describe_acting(setting: Setting) -> dict[str, Any]:
    """Who else acted in the log, where that was not the old policy alone."""
    if not setting.acting:
        return {}
    counts = np.bincount(find_acting(setting.log), minlength=1 + len(setting.acting))
    return {
        "acting": [
            {**_identify(policy), "episodes": int(count)}
            for policy, count in zip((setting.old_policy, *setting.acting), counts, strict=True)
        ],
        "earlier_episodes": setting.earlier,
    }


def describe_origin(
    setting: Setting, new_policy: Policy, began: float, execution: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of the record.

    Args:
        setting: What every task knew.
        new_policy: The policy that the verdict is about.
        began: When the clock was started.
        execution: Where tasks ran and what they took, if not in this process.
    """
    return {
        "log": _describe_log(setting),
        "policy": {"sha256": fingerprint(setting.old_policy), "uncertainty": setting.uncertainty},
        "new_policy": _identify(new_policy),
        "cost_model": describe_cost(setting.cost),
        "names": Names.of_log(setting.log).as_json(),
        "config": setting.config.as_json(),
        "seed": setting.seed,
        "versions": find_versions(),
        "wall_seconds": time.perf_counter() - began,
        "execution": dict(execution),
        # Asked for without a discount: the configuration has the one that stands for it.
        **({"undiscounted": True} if setting.undiscounted else {}),
    }


def _identify(policy: Policy) -> dict[str, str]:
    """The fingerprint by which the policy's file is known; none where it has no file form."""
    with contextlib.suppress(InputError):
        return {"sha256": fingerprint(policy)}
    return {}
