"""What would settle an open verdict, and what is the cheapest of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nacre.advice.record import DecisionRecord
from nacre.rollout.net_curve import NetCurve
from nacre.rollout.plan_record import CurvePoint, NextStep, Stage


def list_next_steps(
    record: DecisionRecord, stages: Sequence[Stage], curve: Sequence[CurvePoint] = ()
) -> tuple[NextStep, ...]:
    """Possible next steps, the cheapest first; none where nothing is open.

    A part of the switch that the log proves comes before everything else: it is settled.

    Their prices: more episodes of the old policy change nothing and cost nothing; a stage costs
    what it costs to begin, and what it may lose until a loss is found.
    """
    if record.verdict != "undecided":
        return ()
    steps = [_collect(record), *_begin(stages)]
    known = [one for one in steps if one is not None]
    return (*_take_proven(curve), *sorted(known, key=_order))


def _take_proven(curve: Sequence[CurvePoint]) -> list[NextStep]:
    """The largest part of the switch that is proven."""
    proven = NetCurve(tuple(curve)).proven
    if proven is None:
        return []
    low = proven.net_gain.low
    return [
        NextStep(
            name="proven part",
            what=f"switch a part: {proven.name}. Its net gain is at least {low:.4g} by the log",
            price=proven.cost,
            episodes=0,
            proven=True,
        )
    ]


def _collect(record: DecisionRecord) -> NextStep | None:
    if record.forbidden:
        return NextStep(name="new log", what=record.remedy or record.forbidden, price=0.0)
    if record.more_episodes is None:
        return None
    return NextStep(
        name="more of the same",
        what=f"log about {record.more_episodes:,} further episodes of the old policy, and ask for "
        "a new advice with --look 2",
        price=0.0,
        episodes=record.more_episodes,
    )


def _begin(stages: Sequence[Stage]) -> list[NextStep]:
    """The first stage that can show something."""
    for stage in stages:
        if stage.episodes is not None and stage.loss_budget is not None:
            return [
                NextStep(
                    name="first stage",
                    what=f"begin with stage {stage.number}: {stage.policy}",
                    price=stage.cost + stage.loss_budget,
                    episodes=stage.episodes,
                )
            ]
    return []


def _order(step: NextStep) -> tuple[float, float]:
    price = math.inf if step.price is None else step.price
    return price, math.inf if step.episodes is None else step.episodes
