"""Is the live log what the plan asked for? Assignment, acting policies, and the world itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from nacre.diagnostics.on_policy import examine_behaviour
from nacre.policies.policy import Policy
from nacre.rollout.design import Design
from nacre.rollout.live_log import LiveUnits
from nacre.rollout.plan_record import OldReturns
from nacre.rollout.sample_ratio import ratio_p_value
from nacre.rollout.scores import Scores
from nacre.rollout.sequences import LEAST_SCORES, find_rho, long_run_variance, two_sided_width

NEW_ACTS = "new policy acts"
"""Name of the check of what acts in new units."""
Status = Literal["ok", "failed", "not checked"]

RATIO_LEVEL = 0.001
"""Error of the test of the sample ratio over all looks: an alarm stops everything."""
DRIFT_LEVEL = 0.01
LARGEST_CROSSED = 0.01
"""Share of units that may run another policy than planned."""
LARGEST_MISSING = 0.05
MOST_ROWS = 50_000
"""Latest rows whose actions are compared with the policy's."""


@dataclass(frozen=True)
class Check:
    """What one check says.

    Args:
        name: What is checked.
        status: Whether it is in order.
        text: One sentence for people, with the remedy where it failed.
        figures: Its numbers.
    """

    name: str
    status: Status
    text: str
    figures: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "status": self.status, "text": self.text, **self.figures}


def check_assignment(live: LiveUnits, design: Design) -> Check:
    """Whether units ran what was drawn for them, and whether as many as planned are there."""
    arm = live.planned if live.arm is None else live.arm
    units, first = np.unique(live.unit, return_index=True)
    new = int(arm[first].sum())
    p_value = ratio_p_value(new, len(units) - new, design.share)
    crossed, missing = live.crossed, live.missing
    figures = {
        "units": len(units),
        "new_units": new,
        "planned_share": design.share,
        "p_value": p_value,
        "crossed_units": len(crossed),
        "missing_units": len(missing),
    }
    problem = ""
    if len(crossed) > LARGEST_CROSSED * len(units):
        problem = (
            f"{len(crossed)} of {len(units)} units ran another policy than planned, the first is "
            f"unit {crossed[0]}: run what nacre plan assign wrote"
        )
    elif p_value < RATIO_LEVEL:
        problem = (
            f"sample-ratio mismatch: {new} of {len(units)} units are new, planned is a share of "
            f"{design.share:.3g} (p = {p_value:.2g}): find out which units are lost or changed"
        )
    elif len(missing) > LARGEST_MISSING * live.n_units:
        problem = (
            f"{len(missing)} of {live.n_units} units are missing, the first is unit {missing[0]}: "
            "complete the log"
        )
    text = problem or f"{new} of {len(units)} units are new, as planned"
    return Check("assignment", "failed" if problem else "ok", text, figures)


def check_policies(live: LiveUnits, policies: Mapping[str, Policy | None]) -> Iterator[Check]:
    """Whether each arm's actions are those of its policy."""
    for name, policy in policies.items():
        check = f"{name} policy acts"
        log = live.select(name == "new")
        if policy is None or log is None:
            why = "no policy was given" if policy is None else "no episode of it yet"
            yield Check(check, "not checked", f"the {name} policy's actions: {why}", {})
            continue
        recent = np.flatnonzero(len(log) - log.offsets[:-1] <= MOST_ROWS)
        found = examine_behaviour(log.select(recent) if len(recent) else log, policy)
        foreign = int((~found.own).sum())
        figures = {"episodes": len(found.own), "foreign_episodes": foreign}
        if found.on_policy and found.share > 1.0 - LARGEST_MISSING:
            yield Check(check, "ok", f"the {name} policy's actions are its own", figures)
            continue
        told = (
            f"{foreign} of {len(found.own)} episodes hold actions that it would not choose"
            if foreign
            else "taken together they are not those that it would choose"
        )
        yield Check(
            check,
            "failed",
            f"actions where the {name} policy should act are not its own: {told}; deploy the "
            "policy of the plan, or plan with the one that acts",
            figures,
        )


def check_drift(scores: Scores, old_returns: OldReturns, best_at: int) -> Check:
    """Whether the old policy earns in its live units what it earned in the log."""
    old = scores.old
    n = len(old)
    if n < LEAST_SCORES or np.isnan(old).any():
        reason = "no unit runs the old policy" if np.isnan(old).any() else f"{n} sets so far"
        return Check("drift", "not checked", f"drift of the old policy's returns: {reason}", {})
    difference = float(old.mean()) - old_returns.mean
    rho = find_rho(DRIFT_LEVEL / 2, max(best_at, LEAST_SCORES))
    live = float(two_sided_width(long_run_variance(old), n, DRIFT_LEVEL / 2, rho))
    width = live + float(ndtri(1.0 - DRIFT_LEVEL / 4)) * old_returns.error
    figures = {"difference": difference, "width": width if math.isfinite(width) else None}
    if abs(difference) <= width:
        return Check("drift", "ok", "the old policy earns what it earned in the log", figures)
    way = "more" if difference > 0 else "less"
    return Check(
        "drift",
        "failed",
        f"the old policy earns {abs(difference):.4g} {way} an episode than in the log: the world "
        "has changed, and the promise was made for the other one; ask for a new advice",
        figures,
    )
