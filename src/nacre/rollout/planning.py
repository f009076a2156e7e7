"""From an advice to a plan: stages with prices, the episodes that each needs, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacre.advice.record import DecisionRecord, Interval
from nacre.errors import InputError
from nacre.rollout.design import Design, UnitKind, choose_design
from nacre.rollout.guardrails import take_over
from nacre.rollout.next_steps import list_next_steps
from nacre.rollout.plan_record import CurvePoint, OldReturns, Plan, Stage
from nacre.rollout.sequences import LEAST_SCORES, Floats, long_run_variance
from nacre.rollout.simulation import Need, simulate_stage
from nacre.rollout.stages import CostCurve
from nacre.rollout.waiting import Worlds, value_plan
from nacre.versions import find_versions

SHARES: dict[UnitKind, tuple[float, ...]] = {
    "episode": (0.1, 0.5, 1.0),
    "block": (0.5, 1.0),
    "site": (0.25, 0.5, 1.0),
}
"""Stages where none are asked for."""
LEAST_EPISODES = 10
KEPT = ("reason", "remedy", "probability", "seed", "look", "policy", "new_policy", "log")
"""Of the advice, in the plan."""


@dataclass(frozen=True)
class PlanOptions:
    """What is asked of a plan.

    Args:
        shares: Of units that run the new policy, stage by stage; those of `SHARES` if empty.
        unit: What is assigned.
        episodes_per_unit: Episodes of a unit.
        gap: First episodes of a unit that are not counted.
        sites: How many there are.
        risk: Probability of a wrong "next stage", and of a wrong "step back", in each stage.
        power: Probability with which the test of fixed size would prove the promised gain.
        guardrails: As people write them; those of the decision are added.
        return_bounds: Between which every return lies, if that is known: bounds are then exact.
        seed: Of the assignment and the simulation.
    """

    shares: tuple[float, ...] = ()
    unit: UnitKind = "episode"
    episodes_per_unit: int = 1
    gap: int = 0
    sites: int | None = None
    risk: float = 0.05
    power: float = 0.8
    guardrails: tuple[str, ...] = ()
    return_bounds: tuple[float, float] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if not 0.0 < self.risk < 0.5:
            problems.append(f"risk = {self.risk:g}: an error probability; give 0.05, say")
        if not 0.0 < self.power < 1.0:
            problems.append(f"power = {self.power:g}: a probability; give 0.8, say")
        if self.episodes_per_unit < 1:
            problems.append(f"block = {self.episodes_per_unit}: a unit has at least one episode")
        if list(self.shares) != sorted(set(self.shares)):
            listed = ", ".join(f"{share:g}" for share in self.shares)
            problems.append(f"stages {listed}: each has to be larger than the one before")
        if self.return_bounds is not None and not self.return_bounds[0] < self.return_bounds[1]:
            problems.append(f"bounds {self.return_bounds}: the first has to be the smaller one")
        if problems:
            raise InputError(problems)


def make_plan(
    record: DecisionRecord,
    returns: Floats,
    options: PlanOptions | None = None,
    *,
    seen_share: float | None = None,
    curve_points: Sequence[CurvePoint] = (),
    worlds: Worlds | None = None,
) -> Plan:
    """A roll-out of the finalist that an advice is about.

    Args:
        record: The decision.
        returns: (E,) discounted returns of the log's episodes, in their order.
        options: What is asked of the plan.
        seen_share: Share of a start's value that falls into an episode as it is logged; found from
            the record if not given.
        curve_points: What the log says of partial switches, if that was asked.
        worlds: What worlds that were fitted to the log say of the gain, likewise.
    """
    options = options or PlanOptions()
    taken_over = take_over(record.chosen_entry.guardrails, options.guardrails)
    numbers = _check_returns(returns, options, record)
    curve = CostCurve.of(record.chosen_entry, record.cost_model)
    seen = find_seen_share(record, numbers) if seen_share is None else seen_share
    promised = _scale(record.net_gain, record.cost.total, seen)
    stages: tuple[Stage, ...] = ()
    if record.verdict != "keep":
        stages = _plan_stages(options, curve, promised, seen, numbers)
    return Plan(
        verdict=record.verdict,
        candidate=record.chosen,
        unit=options.unit,
        episodes_per_unit=options.episodes_per_unit,
        gap=options.gap,
        sites=options.sites,
        seed=options.seed,
        discount=float(record.config.get("discount", 0.99)),
        risk=options.risk,
        power=options.power,
        promised=promised,
        seen_share=seen,
        cost=curve.whole,
        old_returns=_describe_returns(numbers),
        return_bounds=options.return_bounds,
        guardrails=options.guardrails + taken_over,
        stages=stages,
        next_steps=list_next_steps(record, stages, curve_points),
        curve=tuple(curve_points),
        value=value_plan(promised, seen, curve, stages, options.risk, options.seed, worlds),
        notes=_remark(record, curve, seen),
        advice={name: getattr(record, name) for name in KEPT}
        | {"net_gain": record.net_gain.model_dump()},
        versions=find_versions(),
    )


def _describe_returns(returns: Floats) -> OldReturns:
    return OldReturns(
        mean=float(returns.mean()),
        variance=float(returns.var(ddof=1)),
        error=math.sqrt(long_run_variance(returns) / len(returns)),
        episodes=len(returns),
    )


def find_seen_share(record: DecisionRecord, returns: Floats) -> float:
    """Share of the old policy's value that an episode shows before it is cut: return / value.

    One where episodes end by themselves, or the two cannot be compared.
    """
    value = record.old_value.mean
    if value is None or abs(value) < 1e-9:
        return 1.0
    share = float(returns.mean()) / value
    return share if 0.01 < share < 1.0 else 1.0


def _plan_stages(
    options: PlanOptions, curve: CostCurve, promised: Interval, seen: float, returns: Floats
) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    before = 0.0
    for number, share in enumerate(options.shares or SHARES[options.unit], start=1):
        design = choose_design(
            share,
            options.unit,
            sites=options.sites,
            episodes_per_unit=options.episodes_per_unit,
            gap=options.gap,
            seed=options.seed,
            stage=number,
        )
        if stages and design.share <= before:
            raise InputError(
                f"stage {share:g}: rounded to {design.share:.3g}, which is no more than the stage "
                "before; leave one of them out"
            )
        stages.append(_plan_stage(design, curve, promised, seen, returns, options, before))
        before = design.share
    return tuple(stages)


def _plan_stage(
    design: Design,
    curve: CostCurve,
    promised: Interval,
    seen: float,
    returns: Floats,
    options: PlanOptions,
    before: float,
) -> Stage:
    share, gain = design.share, promised.mean
    break_even = curve.break_even(share) * seen
    need: Need | None = None
    if gain is not None and not design.complete:
        need = simulate_stage(
            returns,
            design,
            gain,
            break_even,
            alpha=options.risk,
            power=options.power,
            seed=options.seed,
        )
    return Stage(
        number=design.stage,
        share=share,
        policy=_name_policy(design),
        set_size=design.set_size,
        new_per_set=design.new_per_set,
        cost=curve.at(share),
        step_cost=curve.between(before, share),
        step_back_cost=curve.at(share),
        break_even=break_even,
        best_at=max(LEAST_SCORES, 50 if need is None else need.fixed_sets),
        note=_explain(design, need, gain, break_even),
        **_describe_need(design, need),
    )


def _name_policy(design: Design) -> str:
    if design.complete:
        return "the new policy everywhere"
    units = {"episode": "episodes", "block": "blocks", "site": "sites"}[design.unit]
    return f"the new policy in {design.new_per_set} of {design.set_size} {units}, else the old one"


def _describe_need(design: Design, need: Need | None) -> dict[str, Any]:
    if need is None:
        return {}
    size = design.episodes_per_set
    return {
        "sets": need.mean_sets,
        "episodes": math.ceil(need.mean_sets * size),
        "episodes_late": math.ceil(need.late_sets * size),
        "fixed_size_episodes": need.fixed_sets * size,
        "proven": need.proven,
        "loss_budget": need.loss,
        "score_variance": need.variance,
    }


def _explain(design: Design, need: Need | None, gain: float | None, break_even: float) -> str:
    if design.complete:
        return "nothing is left to compare with: returns are compared with the old log's"
    if need is not None:
        return ""
    if gain is None:
        return "no gain was promised: how long this takes is not known"
    if gain <= break_even:
        return (
            f"the promised gain of {gain:.4g} does not exceed {break_even:.4g}, the gain at which "
            "going on pays: this stage can only show that it is larger than promised"
        )
    return "the gain is too small for the spread of returns: it would take too many episodes"


def _scale(net_gain: Interval, cost: float, seen: float) -> Interval:
    """The gain before the cost, as an episode shows it."""
    ends = (net_gain.mean, net_gain.low, net_gain.high)
    return Interval.of(*(None if end is None else seen * (end + cost) for end in ends))


def _check_horizon(record: DecisionRecord) -> None:
    """Gains of a plan are those of one episode."""
    episodes = record.value.get("episodes", 1.0)
    if episodes != 1.0:
        raise InputError(
            f"this advice counts {episodes:,.0f} episodes, by [value] in its cost.toml; a plan is "
            "made for one: leave episodes_per_day and horizon_days out and ask for the advice again"
        )


def _check_returns(returns: Floats, options: PlanOptions, record: DecisionRecord) -> Floats:
    _check_horizon(record)
    numbers = np.asarray(returns, np.float64)
    if numbers.ndim != 1 or len(numbers) < LEAST_EPISODES or not np.all(np.isfinite(numbers)):
        raise InputError(
            f"returns of {numbers.size} episodes: a plan needs the returns of at least "
            f"{LEAST_EPISODES}; ask for an advice with --out, which keeps them in evidence.npz"
        )
    bounds = options.return_bounds
    if bounds is not None and not (bounds[0] <= numbers.min() and numbers.max() <= bounds[1]):
        raise InputError(
            f"bounds {bounds[0]:g} to {bounds[1]:g}: the log has returns from {numbers.min():.6g} "
            f"to {numbers.max():.6g}; give bounds that hold always, or leave them out"
        )
    return numbers


def _remark(record: DecisionRecord, curve: CostCurve, seen: float) -> tuple[str, ...]:
    notes = []
    if record.verdict == "keep":
        notes.append("the advice is to keep the old policy: there is nothing to roll out")
    if not curve.linear:
        notes.append(
            "this kind of cost has no closed form for a part of a switch: all of it is charged at "
            "the first stage"
        )
    if seen < 0.995:
        notes.append(
            f"episodes of the log show {seen:.0%} of the value that the advice speaks of, the rest "
            "lies behind their cut: gains and break-even are those of an episode as it is logged"
        )
    return tuple(notes)
