"""A plan for two rooms, made from a record: nothing is learned."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.rollout.plan_record import Plan
from nacre.rollout.planning import PlanOptions, make_plan
from tests.support.rollout import make_record, play


@pytest.fixture(scope="session")
def old_returns() -> np.ndarray:
    """Of 200 episodes of the old policy."""
    return play(np.zeros(200, bool), seed=105).returns(0.8)


@pytest.fixture(scope="session")
def plan(old_returns: np.ndarray) -> Plan:
    """Half of the episodes, then all of them."""
    options = PlanOptions(shares=(0.5, 1.0), guardrails=("length >= 10",), seed=3)
    return make_plan(make_record(), old_returns, options)
