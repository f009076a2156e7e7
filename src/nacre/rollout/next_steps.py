"""What would settle an open verdict, and what is the cheapest of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nacre.advice.names import Names
from nacre.advice.record import DecisionRecord
from nacre.rollout.net_curve import NetCurve
from nacre.rollout.plan_record import CurvePoint, NextStep, Stage

TRIES = 20
"""Of each case that is tried: an action that was taken so often is known."""
MOST_CASES = 3


def list_next_steps(
    record: DecisionRecord, stages: Sequence[Stage], curve: Sequence[CurvePoint] = ()
) -> tuple[NextStep, ...]:
    """Possible next steps, the cheapest first; none where nothing is open.

    Where nothing is expected to be gained, the advice's own remedy is the only one.

    A part of the switch that the log proves comes before everything else: it is settled.

    Their prices: more episodes of the old policy change nothing and cost nothing; a try of what the
    log does not hold costs at most what the log has ever lost from there on; a stage costs what it
    costs to begin, and what it may lose until a loss is found.
    """
    if record.verdict != "undecided":
        return ()
    steps = [_collect(record), _explore(record), *_begin(stages)]
    known = [one for one in steps if one is not None]
    found = (*_take_proven(curve), *sorted(known, key=_order))
    return found or (NextStep(name="keep", what=record.remedy or record.reason, price=0.0),)


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


def _explore(record: DecisionRecord) -> NextStep | None:
    """Tries of what lies outside of the log, where that alone keeps the verdict open."""
    overlap = record.chosen_entry.overlap
    missing, penalty = overlap.get("missing") or [], overlap.get("penalty")
    low = record.net_gain.low
    if record.forbidden or not missing or not overlap.get("excess", 0.0) > 0.0:
        return None
    if low is not None and penalty is not None and low + penalty <= 0.0:
        return None
    names = Names.of_record(record.names)
    cases = "; ".join(
        f"{names.name_action(case['action'])} at {names.name_state(case['state'])}"
        for case in missing[:MOST_CASES]
    )
    tries = TRIES * len(missing[:MOST_CASES])
    most = tries * max(0.0, overlap["old_value"] - overlap["least"])
    return NextStep(
        name="exploration",
        what=f"try what the log does not hold, {TRIES} times each, in states like these: {cases}. "
        f"It costs at most {most:.4g}: as if each try led to the worst that the log has seen. Then "
        "ask for a new advice with --look 2, with the old policy that explores so",
        price=most,
        episodes=tries,
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
