"""The verdict: switch, keep, or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.inference.gain import Gain

Verdict = Literal["switch", "keep", "undecided"]
LARGEST_FACTOR = 1000.0
"""More than this many times the log is no advice to collect more."""


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it rests on.

    Args:
        verdict: What to do; undecided means keep for now.
        chosen: Index of the candidate that the verdict is about.
        confidence: Probability that its net gain is positive.
        reason: One sentence for people.
        more_episodes: About how many further episodes would settle an undecided case, or None.
    """

    verdict: Verdict
    chosen: int
    confidence: float
    reason: str
    more_episodes: int | None = None


def judge(
    gains: Sequence[Gain],
    *,
    confidence: float,
    n_episodes: int,
    trusted: Sequence[bool] | None = None,
) -> Judgement:
    """Switch to the candidate with the best lower bound if that is above zero.

    Keep if no candidate is even expected to be better. In between the evidence does not suffice.

    Args:
        gains: One for each candidate.
        confidence: Probability with which the gain of a switch has to be positive.
        n_episodes: Episodes of the log that the gains come from.
        trusted: Whether all behind each gain went well; if not, that candidate cannot be chosen.
    """
    ok = [True] * len(gains) if trusted is None else list(trusted)
    lows = [
        gain.bound(confidence) if well else -math.inf for gain, well in zip(gains, ok, strict=True)
    ]
    chosen = max(range(len(gains)), key=lambda i: (lows[i], _finite(gains[i].mean)))
    gain = gains[chosen]
    if lows[chosen] > 0:
        return Judgement(
            "switch",
            chosen,
            gain.confidence,
            f"the net gain is at least {lows[chosen]:.4g} with {100 * confidence:g} % confidence",
        )
    usable = [i for i in range(len(gains)) if ok[i] and gains[i].sound]
    if not usable:
        return Judgement("keep", chosen, 0.0, "no candidate could be evaluated")
    hopeful = max(usable, key=lambda i: gains[i].mean)
    gain = gains[hopeful]
    if gain.mean <= 0:
        return Judgement(
            "keep",
            hopeful,
            gain.confidence,
            f"no candidate is expected to gain: the best has {gain.mean:.4g} after the cost",
        )
    more = estimate_more_episodes(gain, confidence, n_episodes)
    if more is None:
        wanted = "more of the same log would hardly settle it"
    else:
        wanted = f"about {more:,} further episodes could settle it"
    return Judgement(
        "undecided",
        hopeful,
        gain.confidence,
        f"a net gain of {gain.mean:.4g} is expected but not proven; {wanted}",
        more,
    )


def estimate_more_episodes(gain: Gain, confidence: float, n_episodes: int) -> int | None:
    """Further episodes after which the lower bound would be above zero, if nothing else changes.

    The spread of resampled critics shrinks with the square root of the number of episodes. Doubt,
    pessimism and the cost's error do not shrink by collecting more of the same.

    Returns:
        None where collecting would not settle it, or only with a log far larger than this one.
    """
    settled = gain.mean - gain.doubt
    hopeless = gain.pessimistic is not None and gain.pessimistic <= gain.cost
    if not gain.sound or hopeless or settled <= 0:
        return None
    room = (settled / gain.quantile(confidence)) ** 2 - gain.cost_error**2
    if room <= 0 or gain.spread**2 > LARGEST_FACTOR * room:
        return None
    return max(1, math.ceil((gain.spread**2 / room - 1.0) * n_episodes))


def _finite(number: float) -> float:
    return number if math.isfinite(number) else -math.inf
