"""One look at a live log: checks, the gain and the guardrails with their bounds, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from nacre.advice.record import finite
from nacre.costs.fit import check_log_fits
from nacre.logs import Log
from nacre.policies.policy import Policy
from nacre.rollout.betting import betting_bounds
from nacre.rollout.design import Design
from nacre.rollout.guardrails import Guardrail, parse_guardrail, read_outcomes
from nacre.rollout.live_checks import check_assignment, check_drift, check_policies
from nacre.rollout.live_log import LiveUnits, read_units
from nacre.rollout.plan_record import Plan, Stage
from nacre.rollout.scores import Scores, score_sets
from nacre.rollout.sequences import (
    LEAST_SCORES,
    Bounds,
    Floats,
    bound_mean,
    count_needed,
    long_run_variance,
)
from nacre.rollout.verdicts import Evidence, LiveVerdict, decide

DRAWN_POINTS = 120
"""Of the path of the bounds that a look keeps."""


@dataclass(frozen=True)
class Look:
    """What one look at a live log says.

    Args:
        verdict: What to do now.
        reason: Why, in one sentence.
        document: All of it as plain data: what `--json` prints and the page shows.
    """

    verdict: LiveVerdict
    reason: str
    document: dict[str, Any]


def look_at(
    plan: Plan,
    log: Log,
    stage_number: int = 1,
    policies: Mapping[str, Policy | None] | None = None,
    source: str = "live log",
) -> Look:
    """Look at a live log. It may be looked at as often as one likes.

    Args:
        plan: The plan.
        log: The live log so far.
        stage_number: Which stage it is of; a column `stage` chooses its episodes.
        policies: What should act, by "old" and "new"; None where it is not known.
        source: What the log is called in messages.
    """
    stage = plan.find_stage(stage_number)
    design = plan.design(stage)
    for name, policy in (policies or {}).items():
        if policy is not None:
            check_log_fits(log, policy, f"the {name} policy")
    live = read_units(log, design, source)
    returns = live.log.returns(plan.discount)
    scores = score_sets(*live.fill_sets(returns, design), design)
    guarded = [parse_guardrail(text) for text in plan.guardrails]
    # Both sides share the error of a wrong step back: half for the gain, half for all guardrails.
    loss_risk = plan.risk / 2 if guarded else plan.risk
    bounds = bound_gain(plan, stage, design, scores, loss_risk)
    rails = [_check_rail(one, plan, stage, design, live, len(guarded)) for one in guarded]
    checks = [
        check_assignment(live, design),
        *check_policies(live, policies or {"old": None, "new": None}),
        check_drift(scores, plan.old_returns, stage.best_at),
    ]
    low, high = (bounds.low[-1], bounds.high[-1]) if len(bounds.low) else (-math.inf, math.inf)
    broken = [str(rail["text"]) for rail in rails if rail["broken"]]
    verdict, reason = decide(Evidence(low, high, stage.break_even, design.complete, broken, checks))
    document = {
        "format": 1,
        "plan_sha256": plan.fingerprint(),
        "verdict": verdict,
        "reason": reason,
        "stage": stage.number,
        "share": stage.share,
        **_describe_size(live, design, scores),
        "gain": _describe_gain(bounds, low, high),
        "break_even": stage.break_even,
        "promised": plan.promised.model_dump(),
        "promise": compare_promise(plan, low, high),
        "risk": plan.risk,
        "method": "betting" if plan.return_bounds is not None else "asymptotic",
        "prices": _list_prices(plan, stage),
        "more_episodes": _count_more(plan, stage, design, scores, bounds, verdict),
        "guardrails": rails,
        "checks": [check.as_json() for check in checks],
        "notes": list(live.notes),
        "path": _thin(bounds),
    }
    return Look(verdict, reason, document)


def bound_gain(
    plan: Plan, stage: Stage, design: Design, scores: Scores, loss_risk: float
) -> Bounds:
    """Bounds of the gain after each set: the lower one at the risk, the upper at that of a loss.

    Where no unit runs the old policy any more, the old log's mean stands for it; its error is
    added.
    """
    values, spreads, shift, extra = scores.values, scores.spreads, 0.0, 0.0
    if design.complete:
        shift = plan.old_returns.mean
        extra = float(ndtri(1.0 - loss_risk / 2)) * plan.old_returns.error
        values, spreads = _alone(values - shift)
        # A controller that earns nothing at all has no spread; it is no less certain than the old.
        spreads = np.maximum(spreads, plan.old_returns.variance * design.score_factor)
    if not len(values):
        return Bounds(values, values, values)
    found = []
    for risk in (plan.risk, loss_risk):
        if plan.return_bounds is not None:
            least, most = plan.return_bounds
            reach = (
                (least - shift, most - shift) if design.complete else (least - most, most - least)
            )
            found.append(betting_bounds(values, risk, *reach))
        else:
            found.append(bound_mean(values, risk, stage.best_at, spreads))
    return Bounds(found[0].mean, found[0].low - extra, found[1].high + extra)


def _alone(values: Floats) -> tuple[Floats, Floats]:
    """Numbers of one arm, and their spread: neighbours in time may depend on each other.

    Nothing was drawn here that would make them independent.
    """
    return values, np.full((*values.shape, 2), long_run_variance(values))


def compare_promise(plan: Plan, low: float, high: float) -> str:
    """Whether the live bounds leave room for what was promised."""
    promised = plan.promised
    if promised.low is not None and high < promised.low:
        return "less than promised"
    if promised.high is not None and low > promised.high:
        return "more than promised"
    return "as promised so far"


def _check_rail(
    rail: Guardrail, plan: Plan, stage: Stage, design: Design, live: LiveUnits, n_rails: int
) -> dict[str, Any]:
    """One guardrail with its bounds; broken where they prove it."""
    outcomes = read_outcomes(live.log, rail, plan.discount)
    scores = score_sets(*live.fill_sets(outcomes, design), design)
    relative = rail.relative and not design.complete
    values, spreads = (scores.values, scores.spreads) if relative else _alone(scores.new)
    mean, low, high = math.nan, -math.inf, math.inf
    if len(values):
        risk = plan.risk / 2 / n_rails
        bounds = bound_mean(values, risk, stage.best_at, spreads)
        mean, low, high = float(bounds.mean[-1]), float(bounds.low[-1]), float(bounds.high[-1])
        if len(values) >= LEAST_SCORES and np.ptp(values) == 0:
            # What is always the same is known: a limit that is always broken is broken.
            low = high = mean
    broken = low > rail.limit if rail.at_most else high < rail.limit
    bound = low if rail.at_most else high
    side = "least" if rail.at_most else "most"
    known = f", at {side} {bound:.4g}" if math.isfinite(bound) else ""
    text = f"{rail.text} (is {mean:.4g}{known})" if len(values) else rail.text
    return {
        "guardrail": rail.text,
        "broken": bool(broken),
        "mean": finite(mean),
        "low": finite(low),
        "high": finite(high),
        "limit": rail.limit,
        "text": text,
    }


def _describe_size(live: LiveUnits, design: Design, scores: Scores) -> dict[str, Any]:
    return {
        "episodes": live.log.n_episodes,
        "units": live.n_units,
        "sets": len(scores.values),
        "unit": design.unit,
    }


def _describe_gain(bounds: Bounds, low: float, high: float) -> dict[str, float | None]:
    mean = float(bounds.mean[-1]) if len(bounds.mean) else None
    return {"mean": finite(mean), "low": finite(low), "high": finite(high)}


def _list_prices(plan: Plan, stage: Stage) -> dict[str, float | None]:
    """What each way costs from here; what was paid is sunk."""
    later = [one for one in plan.stages if one.number == stage.number + 1]
    return {
        "paid": stage.cost,
        "next_stage": later[0].step_cost if later else None,
        "whole_way": max(0.0, plan.cost - stage.cost),
        "step_back": stage.step_back_cost,
        "stop": 0.0,
    }


def _count_more(
    plan: Plan, stage: Stage, design: Design, scores: Scores, bounds: Bounds, verdict: LiveVerdict
) -> int | None:
    """About how many further episodes would settle it, if the gain is what it seems to be."""
    if verdict != "keep collecting":
        return None
    n = len(scores.values)
    mean = float(bounds.mean[-1]) if n else (plan.promised.mean or 0.0)
    variance = scores.variance if n > 1 else (stage.score_variance or math.inf)
    gap = max(mean - stage.break_even, -mean)
    needed = count_needed(gap, variance, plan.risk, stage.best_at)
    return None if needed is None else max(1, needed - n) * design.episodes_per_set


def _thin(bounds: Bounds) -> dict[str, list[Any]]:
    """Some points of the path, the last among them."""
    n = len(bounds.mean)
    if not n:
        return {"sets": [], "mean": [], "low": [], "high": []}
    rows = np.unique(np.linspace(0, n - 1, min(n, DRAWN_POINTS)).round().astype(int))
    return {"sets": [int(row) + 1 for row in rows]} | {
        name: [finite(value) for value in getattr(bounds, name)[rows]]
        for name in ("mean", "low", "high")
    }
