"""Advice with a cost of whole policies: the paper's two-state world, from logs alone."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import nacre
from nacre.errors import InputError
from nacre.learners.base import LearningProblem
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.policies import TabularPolicy
from nacre.simulators import two_state_cost, two_state_policies, two_state_world

WORLD, POLICIES = two_state_world(), two_state_policies()
OLD = TabularPolicy.from_probabilities(POLICIES["old"])


def as_table(policy: Any) -> np.ndarray:
    return np.asarray(policy(jnp.arange(2)).probabilities, np.float64)


def price(old: Any, new: Any) -> float:
    return two_state_cost(as_table(old), as_table(new))


def sample(start: int) -> nacre.Log:
    return WORLD.starting_at(start).sample_log(POLICIES["old"], 20_000, seed=100, horizon=500)


def test_the_two_state_world_is_solved_at_both_starts() -> None:
    """At s_α n1 nets 75 against 50; at s_β nothing nets more than keeping."""
    alpha, beta = (
        nacre.advise(sample(start), OLD, price, start=np.array([start]), progress=False)
        for start in (0, 1)
    )
    assert alpha.verdict == "switch"
    np.testing.assert_array_equal(as_table(alpha.new_policy), POLICIES["n1"])
    net: Any = alpha.record.net_gain
    assert 20.0 < net.low <= 25.0 <= net.high
    assert alpha.record.cost_model["kind"] == "policies"
    assert beta.verdict != "switch"
    lows: Any = [candidate.net_gain.low for candidate in beta.record.candidates]
    assert max(lows) <= 0.0


def test_learners_that_need_a_gradient_leave_it_out() -> None:
    log = sample(0)
    cost = nacre.PolicyCost(price)
    problem = LearningProblem(log, OLD, cost, np.array([0]), 0.99)
    assert "not written in jax.numpy" in NetActorCritic().applies(problem)


def test_what_is_no_cost_is_refused() -> None:
    with pytest.raises(InputError, match=r"cost = 3: give a nacre.SwitchingCost"):
        nacre.advise(sample(0), OLD, 3, progress=False)  # type: ignore[arg-type]
