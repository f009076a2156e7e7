"""From gains to a verdict: by bounds or by the paper's points, and with an eye on the log."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.inference.gain import Gain
from nacre.inference.paper_rule import decide
from nacre.inference.verdict import Judgement, judge


@dataclass(frozen=True)
class Circumstances:
    """What a verdict depends on besides the candidates.

    Args:
        confidence: Probability with which the gain of a switch has to be positive.
        n_episodes: Episodes of the log.
        old_value: What the critics say of the old policy: what they get wrong of both is no gain.
        rule: "bounds" for the interval of the net gain, "paper" for its point estimates.
        on_policy: Whether the log is the old policy's own.
        behaviour: A clause about whose log it is.
    """

    confidence: float
    n_episodes: int
    old_value: float
    rule: str = "bounds"
    on_policy: bool = True
    behaviour: str = ""


def reach_verdict(
    gains: Sequence[Gain],
    values: Sequence[float],
    trusted: Sequence[bool],
    circumstances: Circumstances,
) -> Judgement:
    """The verdict about all candidates.

    Args:
        gains: Their net gains.
        values: What the critics say of them, before the cost.
        trusted: Whether all behind each gain went well.
        circumstances: The rule and what else matters.
    """
    found = judge(
        gains,
        confidence=circumstances.confidence,
        n_episodes=circumstances.n_episodes,
        trusted=trusted,
    )
    if circumstances.rule == "paper":
        found = _compare_points(gains, values, trusted, circumstances.old_value)
    if circumstances.on_policy:
        return found
    if found.verdict == "switch" and circumstances.rule == "bounds":
        return dataclasses.replace(
            found,
            verdict="undecided",
            reason=f"a gain is expected, but {circumstances.behaviour}",
        )
    return dataclasses.replace(found, reason=f"{found.reason}; and {circumstances.behaviour}")


def _compare_points(
    gains: Sequence[Gain], values: Sequence[float], trusted: Sequence[bool], old_value: float
) -> Judgement:
    best = max(
        range(len(gains)),
        key=lambda i: gains[i].mean if trusted[i] and gains[i].sound else -math.inf,
    )
    net = values[best] - gains[best].cost
    return Judgement(
        decide(old_value, net, trusted=trusted[best]),
        best,
        gains[best].confidence,
        f"point estimates: {net:.4g} after the cost against {old_value:.4g}",
    )
