"""What a record follows from: log, policy, cost, configuration, seed, versions, time."""

from __future__ import annotations

import time
from typing import Any

from nacre.advice.setting import Setting
from nacre.costs.description import describe_cost
from nacre.policies.files import fingerprint
from nacre.versions import find_versions


def describe_origin(setting: Setting, began: float) -> dict[str, Any]:
    """Fields of the record; `began` is when the clock was started."""
    return {
        "log": setting.log.identify(),
        "policy": {"sha256": fingerprint(setting.old_policy), "uncertainty": setting.uncertainty},
        "cost_model": describe_cost(setting.cost),
        "config": setting.config.as_json(),
        "seed": setting.seed,
        "versions": find_versions(),
        "wall_seconds": time.perf_counter() - began,
    }
