"""Risk of an advice: found where episodes end and act alike, else a reason."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from nacre.advice.risk import describe_risk
from nacre.logs import Log, log_from_arrays
from nacre.policies import TabularPolicy

OLD = TabularPolicy.from_probabilities(np.array([[0.5, 0.5]]))
NEW = TabularPolicy.from_probabilities(np.array([[0.2, 0.8]]))
SURE = TabularPolicy.from_probabilities(np.array([[0.0, 1.0]]))


@pytest.fixture(scope="module")
def log() -> Log:
    """One state, two actions, 800 episodes of one step; the second action pays one more."""
    rng = np.random.default_rng(104)
    actions = rng.integers(0, 2, 800)
    return log_from_arrays(
        {
            "observations": np.zeros(800, int),
            "actions": actions,
            "rewards": actions + rng.normal(size=800),
            "terminals": np.ones(800, bool),
        }
    )


def test_the_better_action_makes_bad_episodes_better(log: Log) -> None:
    risk = describe_risk(log, OLD, NEW, 0.9, 0.95)
    assert "reason" not in risk
    for name in ("quantile", "median", "tail_mean"):
        assert risk["new"][name]["mean"] > risk["old"][name]["mean"]
    rewards = np.asarray(log.rewards)
    assert risk["old"]["median"]["mean"] == pytest.approx(
        np.quantile(rewards, 0.5, method="inverted_cdf")
    )
    sure = describe_risk(log, OLD, SURE, 0.9, 0.95)["new"]["median"]["mean"]
    chosen = rewards[np.asarray(log.actions) == 1]
    assert sure == pytest.approx(np.quantile(chosen, 0.5, method="inverted_cdf"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"terminated": False, "truncated": True}, "episodes are cut off before they end"),
        ({"few": True}, "episodes act like the new policy, 50 are needed"),
    ],
)
def test_where_it_is_not_known_there_is_a_reason(
    log: Log, changes: dict[str, Any], reason: str
) -> None:
    if changes.pop("few", False):
        log = log.select(range(60))
    else:
        ends: dict[str, Any] = {name: np.full(len(log), on) for name, on in changes.items()}
        log = dataclasses.replace(log, **ends)
    assert reason in describe_risk(log, OLD, SURE, 0.9, 0.95)["reason"]
