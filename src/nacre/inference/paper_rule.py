"""The decision w of the paper: compare two point estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.rule import Decision, find_probability

Choice = Literal["switch", "keep"]


def decide(old_value: float, net_value: float, *, trusted: bool = True) -> Choice:
    """w(π_o, π_θ): switch exactly if V(π_o) < V_N(π_θ) (step 4 of the paper).

    Args:
        old_value: Value of the old policy at the start; keeping it costs nothing.
        net_value: Value of the new policy at the start minus the switching cost.
        trusted: Whether everything behind the two numbers went well; if not, keep.
    """
    sound = trusted and math.isfinite(old_value) and math.isfinite(net_value)
    return "switch" if sound and old_value < net_value else "keep"


@dataclass(frozen=True)
class PaperRule:
    """Switch to the finalist with the highest net gain, if that is above zero."""

    name: str = "paper"

    def __call__(self, evidence: Sequence[Evidence], circumstances: Circumstances) -> Decision:
        """By point estimates; bounds are given, but do not decide."""
        level = circumstances.find_level(len(evidence))
        gains = [one.net_gain if math.isfinite(one.net_gain) else -math.inf for one in evidence]
        chosen = max(range(len(evidence)), key=gains.__getitem__)
        best = evidence[chosen]
        return Decision(
            decide(0.0, gains[chosen]),
            chosen,
            best.net_gain,
            *best.bounds(level),
            level,
            find_probability(best, circumstances.confidence, level),
            best.basis,
            f"point estimates: a net gain of {best.net_gain:.4g} after the cost",
        )
