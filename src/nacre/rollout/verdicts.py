"""What to do now: next stage, step back, stop, go on, or keep collecting.

The order of the questions is the rule. A limit that is broken, a proven loss and a controller that
nobody evaluated come first; then whatever makes the live log untrustworthy; then whether going on
is proven to pay, or proven not to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.rollout.live_checks import NEW_ACTS, Check

LiveVerdict = Literal["keep collecting", "go on", "next stage", "stop", "step back"]
EXIT_CODES: dict[LiveVerdict, int] = {
    "keep collecting": 0,
    "go on": 0,
    "next stage": 10,
    "stop": 20,
    "step back": 30,
}
"""What `nacre watch` ends with, for schedulers."""


@dataclass(frozen=True)
class Evidence:
    """What the verdict rests on.

    Args:
        low: Lower bound of the gain of an episode.
        high: Upper bound.
        break_even: The gain above which going on pays.
        complete: Whether every unit runs the new policy already.
        broken: Guardrails that are proven to be broken.
        checks: Of the live log.
    """

    low: float
    high: float
    break_even: float
    complete: bool
    broken: Sequence[str]
    checks: Sequence[Check]


def decide(evidence: Evidence) -> tuple[LiveVerdict, str]:
    """The verdict, and why."""
    if evidence.broken:
        return "step back", f"guardrail broken: {'; '.join(evidence.broken)}"
    failed = {check.name: check.text for check in evidence.checks if check.status == "failed"}
    # Where units did not run what was drawn for them, a difference between arms means nothing.
    if evidence.high < 0 and "assignment" not in failed:
        return "step back", f"a loss is proven: the gain of an episode is below {evidence.high:.4g}"
    if NEW_ACTS in failed and "assignment" not in failed:
        # What runs there is not what was planned, and nobody has looked at it.
        return "step back", failed[NEW_ACTS]
    if failed:
        return "stop", "; ".join(failed.values())
    if evidence.complete:
        return "go on", "the new policy runs everywhere, and no loss is found"
    if evidence.low > evidence.break_even:
        return "next stage", (
            f"the gain of an episode is above {evidence.low:.4g}; going on pays above "
            f"{evidence.break_even:.4g}"
        )
    if evidence.high < evidence.break_even:
        return "stop", (
            f"going on does not pay: the gain of an episode is below {evidence.high:.4g}, it would "
            f"have to exceed {evidence.break_even:.4g}"
        )
    if math.isinf(evidence.low) or math.isinf(evidence.high):
        return "keep collecting", "too few whole sets for bounds of the gain so far"
    return "keep collecting", (
        f"the gain of an episode lies between {evidence.low:.4g} and {evidence.high:.4g}; going on "
        f"pays above {evidence.break_even:.4g}"
    )
