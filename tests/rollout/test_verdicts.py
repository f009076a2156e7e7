"""The rule of a watch: what comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from nacre.rollout.live_checks import NEW_ACTS, Check
from nacre.rollout.verdicts import EXIT_CODES, Evidence, decide

DRIFT = Check("drift", "failed", "the world has changed", {})
FOREIGN = Check(NEW_ACTS, "failed", "not its own", {})
MIXED_UP = Check("assignment", "failed", "units ran another policy", {})


def ask(
    low: float,
    high: float,
    *,
    complete: bool = False,
    broken: Sequence[str] = (),
    checks: Sequence[Check] = (),
) -> str:
    return decide(Evidence(low, high, 0.5, complete, broken, checks))[0]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.6, 1.0, "next stage"),
        (0.1, 0.4, "stop"),
        (-1.0, -0.1, "step back"),
        (0.1, 1.0, "keep collecting"),
        (-math.inf, math.inf, "keep collecting"),
    ],
)
def test_bounds_decide(low: float, high: float, verdict: str) -> None:
    assert ask(low, high) == verdict
    assert verdict in EXIT_CODES


def test_limits_and_losses_come_before_everything_else() -> None:
    assert ask(0.6, 1.0, broken=["queue <= 2"]) == "step back"
    assert ask(0.6, 1.0, broken=["queue <= 2"], checks=[MIXED_UP]) == "step back"
    assert ask(-1.0, -0.1, checks=[DRIFT]) == "step back"


def test_a_controller_that_nobody_evaluated_leads_back() -> None:
    assert ask(0.6, 1.0, checks=[FOREIGN]) == "step back"
    assert ask(0.6, 1.0, checks=[FOREIGN, MIXED_UP]) == "stop"


def test_a_log_that_is_not_what_it_should_be_stops() -> None:
    assert ask(0.6, 1.0, checks=[DRIFT]) == "stop"
    # Differences between arms mean nothing where units ran something else.
    assert ask(-1.0, -0.1, checks=[MIXED_UP]) == "stop"
    assert ask(0.6, 1.0, checks=[Check("drift", "not checked", "", {})]) == "next stage"


def test_at_the_end_it_goes_on() -> None:
    assert ask(-0.1, 1.0, complete=True) == "go on"
    assert ask(-1.0, -0.1, complete=True) == "step back"
